"""The demonstration: a small dialogue made of plain rules. It says what it is."""
