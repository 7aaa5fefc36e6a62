"""Each built-in step is one file here. The server finds them by name; nothing imports them."""
