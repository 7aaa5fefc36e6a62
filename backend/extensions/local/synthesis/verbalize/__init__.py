"""This package turns written text into spoken words: numbers, prices, times, abbreviations, links."""
