"""`python -m demo.offline.speech WORDS`: the demonstration's voice on standard output, 24 kHz mono PCM16."""

from __future__ import annotations

import sys

from demo.offline.speech.voice import the_voice

if __name__ == "__main__":
    sys.stdout.buffer.write(the_voice().speak(" ".join(sys.argv[1:])))
