"""The choices of a caller for their calls apply as soon as possible."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from backend.call.prompts import CallerBackground, brief
from backend.errors import BadRequest
from backend.responders.base import Briefing, PastMessage
from backend.responders.codec import RealtimeCodec, Voice
from backend.responders.failover import Provider, Providers, ResponderInfo
from backend.responders.openai_models import capabilities_of
from backend.testing.memory import FakeMemory
from backend.testing.responder import ScriptedResponder
from backend.turns.call_options import CallOptions
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from backend.users.profile import UserProfile
from backend.users.profile_updates import DropPreference, SetPreference, update_profile
from tests.call.world import PlacedCall, placed_call, thinkers
from tests.support.waiting import until

CAN = capabilities_of("gpt-realtime-2")
PATIENT = SetPreference("turn_patience", "patient")


def provider(name: str, dialled: list[tuple[str, Briefing]]) -> Provider:
    async def connect(briefing: Briefing, history: Sequence[PastMessage]) -> ScriptedResponder:
        dialled.append((name, briefing))
        return ScriptedResponder()

    async def probe() -> None:
        """Succeed always."""

    return Provider(name, ResponderInfo(name, name, offline=False), connect, probe, CAN)


def style_of(call: PlacedCall) -> EndpointingStyle:
    return call.live.parts.caller.limits.style


def briefed(*chosen: SetPreference, options: CallOptions | None = None) -> Briefing:
    profile = UserProfile()
    for each in chosen:
        profile = each.apply(profile)
    return brief(thinkers().registry, CallerBackground(profile), endpointing="local", options=options)


def audio_output(briefing: Briefing, model: str = "gpt-realtime-2") -> dict[str, Any]:
    codec = RealtimeCodec(Voice(model, "shimmer", "", speed=1.1))
    output: dict[str, Any] = codec._audio(briefing)["output"]
    return output


async def test_the_chosen_end_of_turn_wait_applies_also_when_it_changes_during_a_call() -> None:
    memory = FakeMemory()
    await update_profile(memory, "ada", PATIENT)
    async with placed_call(remembering=memory) as call:
        assert style_of(call) is EndpointingStyle.PATIENT
        await update_profile(memory, "ada", SetPreference("turn_patience", "balanced"))
        await until(lambda: style_of(call) is EndpointingStyle.BALANCED)
        await update_profile(memory, "ada", DropPreference("turn_patience"))
        await until(lambda: style_of(call) is EndpointingStyle.EAGER)  # the server's default


async def test_another_user_does_not_get_the_choices_of_the_owner() -> None:
    memory = FakeMemory()
    await update_profile(memory, "ada", PATIENT)
    async with placed_call(remembering=memory, user="eve") as call:
        assert style_of(call) is EndpointingStyle.EAGER


async def test_the_chosen_responder_serves_the_call_unless_it_was_removed() -> None:
    for chosen, expected in (("second", "second"), ("gone", "first"), ("", "first")):
        memory, dialled = FakeMemory(), list[tuple[str, Briefing]]()
        if chosen:
            await update_profile(memory, "ada", SetPreference("responder", chosen), SetPreference("voice", "cedar"))
        providers = Providers([provider("first", dialled), provider("second", dialled)])
        async with placed_call(remembering=memory, providers=providers) as call:
            assert [name for name, _ in dialled] == [expected]
            assert call.events_of("session_started")[0]["responder"] == expected
            assert dialled[0][1].voice == ("cedar" if chosen else "")
        assert [each.name for each in providers.all] == ["first", "second"], (
            "the choice changed the order of the providers"
        )


def test_voice_and_speed_reach_only_a_provider_that_has_them() -> None:
    briefing = briefed(SetPreference("voice", "cedar"), SetPreference("speech_speed", "1.25"))
    assert audio_output(briefing) | {"format": None} == {"format": None, "voice": "cedar", "speed": 1.25}
    assert audio_output(briefed(SetPreference("voice", "Kore")))["voice"] == "shimmer"
    assert audio_output(briefed())["speed"] == 1.1
    assert audio_output(briefing, "somebody-elses")["voice"] == "shimmer"
    assert audio_output(briefing, "somebody-elses")["speed"] == 1.1
    assert replace(CAN, speeds=(0.5, 1.2)).speed_of(1.5, 1.0) == 1.2


def test_the_language_is_in_the_instructions_unless_a_program_gives_its_own() -> None:
    assert '"German" as the language of the conversation' in briefed(SetPreference("language", "German")).instructions
    program = briefed(SetPreference("language", "German"), SetPreference("voice", "cedar"), options=CallOptions())
    assert "language of the conversation" not in program.instructions
    assert program.voice == ""


def test_choices_for_calls_are_not_in_the_instructions_of_the_model() -> None:
    briefing = briefed(SetPreference("voice", "cedar"), SetPreference("name", "Ada"), PATIENT)
    assert "Ada" in briefing.instructions
    assert "cedar" not in briefing.instructions and "patien" not in briefing.instructions
    assert PATIENT.apply(UserProfile()).shown() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("turn_patience", "endless"), ("speech_speed", "3"), ("speech_speed", "nan"), ("voice", "<b>"), ("responder", "")],
)
def test_an_invalid_choice_is_refused(name: Any, value: str) -> None:
    with pytest.raises(BadRequest):
        SetPreference(name, value)


def test_an_unknown_choice_of_a_newer_version_is_ignored() -> None:
    assert TurnLimits().style is EndpointingStyle.BALANCED
    assert UserProfile.read({"preferences": {"speech_speed": "fast"}}).preferences.speed == 0.0
