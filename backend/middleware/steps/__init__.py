"""One file for each built-in step. Found by name; nothing imports them."""
