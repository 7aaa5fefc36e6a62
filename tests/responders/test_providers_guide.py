"""The table of docs/howto/providers.md says what the records say."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from backend.responders.base import Capabilities
from backend.responders.gemini_codec import CAPABILITIES as GEMINI
from backend.responders.gpt_live_codec import CAPABILITIES as GPT_LIVE
from backend.responders.openai_models import capabilities_of
from backend.responders.qwen import CAPABILITIES as QWEN
from backend.responders.self_hosted import LOCALAI, SPEECH_TO_SPEECH, VLLM_OMNI
from backend.responders.xai import CAPABILITIES as XAI

OTHERS = {"xai": XAI, "qwen": QWEN, "gemini": GEMINI, "gpt_live": GPT_LIVE} | {
    "speech_to_speech": SPEECH_TO_SPEECH,
    "localai": LOCALAI,
    "vllm_omni": VLLM_OMNI,
}
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "providers.md"


def column(can: Capabilities) -> list[str]:
    """The rows of one provider."""
    flags = (
        can.cancels,
        can.truncates,
        can.restores,
        can.delegates,
        can.several_messages,
        can.parallel_calls,
        can.images,
        can.reasons,
    )
    rates = f"{can.input_rate_hz // 1000} kHz, {can.output_rate_hz // 1000} kHz"
    lasts = f"{can.session_s / 60:.0f} min" if isfinite(can.session_s) else "no end"
    voices = str(len(can.voices) or "not known")
    speeds = "{} to {}".format(*can.speeds) if can.speeds else "none"
    endpointers = ", ".join(sorted(can.endpointers))
    return [endpointers, *("yes" if flag else "no" for flag in flags), rates, lasts, voices, speeds]


def test_the_table_of_providers_is_that_of_their_records() -> None:
    lines = [line.strip("|").split("|") for line in GUIDE.read_text().splitlines() if line.startswith("|")]
    header, _, *rest = ([cell.strip() for cell in line] for line in lines)
    models = [name.strip("`") for name in header[1:]]
    assert models
    for number, model in enumerate(models, 1):
        rows = column(OTHERS.get(model) or capabilities_of(model))
        assert [row[number] for row in rest[: len(rows)]] == rows
