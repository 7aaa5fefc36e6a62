"""The demonstration: a small mind made of plain rules. It says what it is."""
