"""Speech synthesis: text in, 24 kHz mono PCM16 out, without a network."""
