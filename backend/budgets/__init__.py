"""What callers may use up: counts of each day, limits at once, and who pays."""
