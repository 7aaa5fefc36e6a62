#!/usr/bin/env bash
# Speaks the server's own words (CLIP_WORDS in backend/conversation/commands.py) into backend/call/clips/.
# Needs Debian's `flite`; its voice slt may be used freely. Run it again after changing the words.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python - <<'PY' | while IFS=$'\t' read -r name words; do flite -voice slt -t "$words" -o "backend/call/clips/$name.wav"; done
from backend.conversation.commands import CLIP_WORDS
for clip, words in CLIP_WORDS.items():
    print(clip.value, words, sep="\t")
PY
ls -l backend/call/clips/
