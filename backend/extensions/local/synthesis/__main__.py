"""`python -m backend.extensions.local.synthesis WORDS` speaks words on standard output, as 24 kHz mono PCM16."""

import sys

from backend.extensions.local.synthesis.voice import speak

if __name__ == "__main__":
    sys.stdout.buffer.write(speak(" ".join(sys.argv[1:])))
