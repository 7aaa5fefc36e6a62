"""`python -m local_responder.synthesis WORDS`: the demonstration's voice on standard output, 24 kHz mono PCM16."""

from __future__ import annotations

import sys

from local_responder.synthesis.voice import the_voice

if __name__ == "__main__":
    sys.stdout.buffer.write(the_voice().speak(" ".join(sys.argv[1:])))
