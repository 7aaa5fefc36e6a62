"""From text as it is written to the words that are spoken: numbers, prices, times, abbreviations, links."""
