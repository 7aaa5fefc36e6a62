"""The demonstration's ears (pocketsphinx, in a process of its own) and voice (espeak-ng)."""
