"""Speech synthesis turns text into 24 kHz mono PCM16, without a network."""
