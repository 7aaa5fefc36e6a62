"""Where settings come from, what they refuse, and that every refusal has advice."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from backend.app.extensions import installed
from backend.errors import SettingsError
from backend.settings.settings import Settings, load_settings
from backend.settings.unknown import FORMER, unknown_settings
from scripts import settings_table


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unset all variables of ours, and work in a folder without .env."""
    ours = {each.name.lower() for each in settings_table.variables()}
    for name in list(os.environ):
        if name.lower() in ours:
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def refusal(**variables: str) -> str:
    """Return the refusal that the operator reads with these environment variables."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        with pytest.raises(SettingsError) as caught:
            load_settings()
    assert caught.value.hint
    return str(caught.value)


def settings(**variables: str) -> Settings:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return load_settings()


def test_an_empty_variable_counts_as_unset() -> None:
    assert settings(OPENAI_API_KEY="", REDIS_URL="", RTC_PORT_RANGE="").provider.names == []


def test_with_a_key_the_provider_converses_unless_another_responder_is_chosen() -> None:
    assert settings(OPENAI_API_KEY="sk-something").provider.names == ["openai"]
    assert settings(OPENAI_API_KEY="sk-something", RESPONDERS="local").provider.names == ["local"]
    assert settings(RESPONDERS="local").provider.names == ["local"]


def test_the_provider_cannot_converse_without_a_key() -> None:
    with pytest.raises(SettingsError, match="RESPONDERS=openai needs OPENAI_API_KEY"):
        settings(RESPONDERS="openai")


@pytest.mark.document("001", "local VAD")
def test_hearing_is_set_by_nested_variables() -> None:
    vad = settings(VAD__THRESHOLD="0.5", VAD__HANGOVER_FRAMES="20", VAD__ENABLED="false").vad
    assert (vad.threshold, vad.hangover_frames, vad.enabled) == (0.5, 20, False)
    assert settings().vad.pre_roll_ms == 300
    assert settings(VAD__VAD_FRAME_MS="32", VAD__VAD_SAMPLE_RATE="16000").vad.vad_frame_ms == 32


def test_the_environment_wins_over_the_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "REALTIME_VOICE=alloy\nTHINKER_MODEL=from-file\nUNKNOWN_THING=1\nVAD__PRE_ROLL_MS=60\n"
    )
    both = settings(REALTIME_VOICE="verse")
    assert both.realtime.voice == "verse"
    assert both.models.thinker_model == "from-file"
    assert both.vad.pre_roll_ms == 60


def test_lists_and_ranges_are_read_from_plain_text() -> None:
    full = settings(
        RTC_PORT_RANGE=" 10000 - 10100 ",
        ALLOWED_ORIGINS="https://a.example/, http://localhost:5173",
        ICE_SERVERS='[{"urls": "turn:turn.example:3478", "username": "u", "credential": "c"}]',
    )
    assert full.rtc.rtc_port_range == (10000, 10100)
    assert full.access.allowed_origins == ["https://a.example", "http://localhost:5173"]
    assert full.rtc.ice_servers[0].username == "u"
    assert settings(WAKE_NAME=" Ada ").turns.wake_name == "Ada"


@pytest.mark.parametrize(
    ("variables", "advice"),
    [
        ({"OPENAI_BASE_URL": "us.api.openai.com"}, "OPENAI_BASE_URL: must start with http:// or https://"),
        ({"REDIS_URL": "localhost:6379"}, "REDIS_URL: must start with redis://, rediss:// or unix://"),
        ({"RTC_PORT_RANGE": "10100-10000"}, "RTC_PORT_RANGE: must be LOW-HIGH within 1024-65535"),
        ({"RTC_PORT_RANGE": "80"}, "e.g. 10000-10100"),
        ({"ICE_SERVERS": "turn:turn.example"}, 'ICE_SERVERS: must be a JSON list, e.g. [{"urls"'),
        ({"ICE_SERVERS": '{"urls": "turn:turn.example"}'}, "ICE_SERVERS: must be a JSON list"),
        ({"ICE_SERVERS": "[{}]"}, "ICE_SERVERS__0__URLS: Field required"),
        ({"ALLOWED_ORIGINS": "voice.example.com"}, "write scheme and host, e.g. https://voice.example.com"),
        ({"IDLE_NUDGE_S": "60"}, "IDLE_NUDGE_S must be less than IDLE_DISCONNECT_S"),
        ({"SESSION_CAP": "many"}, "SESSION_CAP: Input should be a valid integer"),
        ({"VAD__VAD_FRAME_MS": "20"}, "VAD__VAD_FRAME_MS: Input should be greater than or equal to 32"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_value_is_refused_with_advice(variables: dict[str, str], advice: str) -> None:
    assert advice in refusal(**variables)


def test_one_refusal_names_every_wrong_variable() -> None:
    message = refusal(REDIS_URL="nonsense", SESSION_CAP="-1")
    assert "REDIS_URL" in message
    assert "SESSION_CAP" in message


SECRETS: dict[str, Any] = {
    "OPENAI_API_KEY": "sk-very-secret",
    "SECRET_KEY": "very-secret-signing-key",
    "FINNHUB_API_KEY": "fh-very-secret",
    "NEWSAPI_API_KEY": "na-very-secret",
}


def test_secrets_are_not_in_the_repr() -> None:
    full = settings(**SECRETS)
    assert "very-secret" not in f"{full!r} {full}"
    assert full.provider.openai_api_key is not None
    assert full.provider.openai_api_key.get_secret_value() == "sk-very-secret"


def test_passwords_inside_addresses_and_turn_servers_are_not_in_the_repr() -> None:
    full = settings(
        REDIS_URL="redis://user:very-secret@redis:6379/0",
        ICE_SERVERS='[{"urls": "turn:turn.example", "username": "u", "credential": "very-secret"}]',
    )
    assert "very-secret" not in f"{full!r} {full}"
    assert full.rtc.ice_servers[0].credential == "very-secret"


def test_a_refusal_does_not_quote_secrets() -> None:
    assert "very-secret" not in refusal(**SECRETS, SESSION_CAP="-1")


def test_every_setting_has_a_description() -> None:
    unexplained = [each.name for each in settings_table.variables() if len(each.description) < 10]
    assert unexplained == []


def test_the_generated_pages_of_settings_are_up_to_date() -> None:
    assert list(settings_table.outdated()) == []


def test_the_uncommented_example_file_equals_the_defaults(tmp_path: Path) -> None:
    lines = settings_table.env_example().splitlines()
    assignments = [line[1:] for line in lines if line.startswith("#") and not line.startswith("# ")]
    names = [line.partition("=")[0] for line in assignments]
    of_extensions = [name for name in settings_table.OFTEN_SET if name.startswith("LOCAL_")]
    assert [name for name in settings_table.OFTEN_SET if name not in of_extensions or name in names] == names
    untouched = load_settings()
    (tmp_path / ".env").write_text("\n".join(assignments))
    assert load_settings() == untouched


def test_the_settings_page_has_a_table_for_each_section() -> None:
    page = settings_table.markdown_page()
    sections = re.findall(r"^## (.+)$", page, re.M)
    assert len(sections) == len(set(sections)) > 10
    speech = page.split("## Speech detection\n")[1].split("\n## ")[0]
    assert "| `VAD__THRESHOLD` | `0.7` |" in speech and "SESSION_CAP" not in speech


def test_a_generated_list_replaces_only_what_is_between_its_marks() -> None:
    text = "before\n      # settings:begin\nancient\n      # settings:end\nafter\n"
    updated = settings_table.between(settings_table.COMPOSE_MARKS, settings_table.compose_list(), text)
    assert updated.startswith("before\n") and updated.endswith("\nafter\n")
    assert "ancient" not in updated and "      - VAD__THRESHOLD\n" in updated


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="settings:begin"):
        settings_table.between(settings_table.COMPOSE_MARKS, "table", "no marks")


def test_a_container_without_a_provider_starts_only_with_an_explicit_setting() -> None:
    assert "RESPONDER" in refusal(REQUIRE_PROVIDER="true")
    for given in ({"OPENAI_API_KEY": "sk-something"}, {"RESPONDERS": "local"}):
        assert settings(REQUIRE_PROVIDER="true", **given).provider.require_provider


def test_servers_that_share_sessions_must_share_a_key() -> None:
    shared = {"SHARE_SESSIONS": "true", "REDIS_URL": "redis://localhost"}
    assert "SECRET_KEY" in refusal(**shared)
    assert settings(**shared, SECRET_KEY="k" * 32).server.share_sessions


def test_an_unknown_setting_is_named_with_the_most_similar_one(tmp_path: Path) -> None:
    environment = {"SESION_CAP": "3", "PATH": "/bin", "VAD__ENABLD": "true", "SESSION_CAP": "3", "OPENAI_ORG_ID": "o"}
    assert unknown_settings(environment | {"PIPELINE__OPTIONS__X": "1"}, tmp_path / ".env") == [
        "SESION_CAP is not a setting. Did you mean SESSION_CAP?",
        "VAD__ENABLD is not a setting. Did you mean VAD__ENABLED?",
    ]
    (tmp_path / ".env").write_text("OPENAI_KEY=x\nHTTP_PORT=80\nredis_ulr=y\nUNHEARD_OF=z\n")
    assert unknown_settings({"UNHEARD_OF_TOO": ""}, tmp_path / ".env") == [
        "OPENAI_KEY is not a setting. Did you mean OPENAI_API_KEY?",
        "REDIS_ULR is not a setting. Did you mean REDIS_URL?",
        "UNHEARD_OF is not a setting.",
    ]
    (tmp_path / ".env").write_text("VDA__ENABLED=true\nOPENAI__API_KEY=x\n")
    assert unknown_settings({"VAD": "a program's own", "MCP": "1"}, tmp_path / ".env") == [
        "OPENAI__API_KEY is not a setting. Did you mean OPENAI_API_KEY?",
        "VDA__ENABLED is not a setting. Did you mean VAD__ENABLED?",
    ]
    every = {each.name: "" for each in settings_table.variables()}
    assert unknown_settings(every, tmp_path / "none", installed().settings) == []


def test_a_former_setting_is_answered_with_its_successor(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PROMPTS_FOLDER=x\nMETRICS_PORT=9100\n")
    assert unknown_settings({}, tmp_path / ".env") == [
        "METRICS_PORT is no longer a setting. Set METRICS_TOKEN instead.",
        "PROMPTS_FOLDER is no longer a setting. Remove it.",
    ]
    assert unknown_settings({"VAD__ENABLED": "true"}, tmp_path / "none", (), {"VAD__ENABLED": "Remove it."}) == []


def test_each_former_setting_leads_to_one_that_is_there() -> None:
    names = {each.name for each in settings_table.variables()}
    former = dict(FORMER)
    for each in installed().extensions:
        assert not former.keys() & each.former.keys()
        former |= each.former
    assert not names & former.keys()
    assert names >= {advice for advice in former.values() if not advice.startswith("Remove it")}
