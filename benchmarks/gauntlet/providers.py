"""The providers that run the gauntlet, each with the peer that plays it. A provider needs one line of `PROVIDERS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backend.testing.peer import OfflinePeer

Settings = Callable[[OfflinePeer], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class GauntletProvider:
    """A provider, with a server's settings for the peer that plays it."""

    name: str
    wire: str
    """The schema that its peer enforces: a name of `python -m backend.testing.offline --strict`."""
    settings: Settings


def openai(model: str) -> Settings:
    """OpenAI, with that model."""
    return lambda peer: {"RESPONDERS": "openai", "REALTIME_MODEL": model, "OPENAI_BASE_URL": peer.base_url}


def azure(peer: OfflinePeer) -> Mapping[str, str]:
    """Azure OpenAI."""
    names = {"ENDPOINT": peer.url, "DEPLOYMENT": "gpt-realtime-2", "API_KEY": "k"}
    return {"RESPONDERS": "azure", **{f"AZURE_OPENAI__{name}": value for name, value in names.items()}}


def xai(peer: OfflinePeer) -> Mapping[str, str]:
    """xAI."""
    return {"RESPONDERS": "xai", "XAI__API_KEY": "k", "XAI__BASE_URL": peer.base_url}


def qwen(peer: OfflinePeer) -> Mapping[str, str]:
    """Qwen-Omni."""
    return {"RESPONDERS": "qwen", "QWEN__API_KEY": "k", "QWEN__BASE_URL": peer.base_url}


def gemini(peer: OfflinePeer) -> Mapping[str, str]:
    """Gemini Live."""
    return {"RESPONDERS": "gemini", "GEMINI__API_KEY": "k", "GEMINI__URL": peer.realtime_url}


def gpt_live(peer: OfflinePeer) -> Mapping[str, str]:
    """OpenAI's GPT-Live."""
    return {"RESPONDERS": "gpt_live", "GPT_LIVE__URL": peer.realtime_url, "OPENAI_BASE_URL": peer.base_url}


def local(peer: OfflinePeer) -> Mapping[str, str]:
    """The local Responder's protocol, at a server that runs already."""
    return {"RESPONDERS": "local", "OFFLINE_URL": peer.url}


def self_hosted(server: str) -> Settings:
    """A self-hosted server of the Realtime protocol."""
    return lambda peer: {
        "RESPONDERS": "self_hosted",
        "SELF_HOSTED__SERVER": server,
        "SELF_HOSTED__BASE_URL": peer.base_url,
    }


PROVIDERS = (
    GauntletProvider("gpt-realtime-2", "openai", openai("gpt-realtime-2")),
    GauntletProvider("gpt-realtime-1.5", "openai", openai("gpt-realtime-1.5")),
    GauntletProvider("azure", "openai", azure),
    GauntletProvider("xai", "xai", xai),
    GauntletProvider("qwen", "qwen", qwen),
    GauntletProvider("gemini", "gemini", gemini),
    GauntletProvider("gpt_live", "gpt_live", gpt_live),
    GauntletProvider("local", "openai", local),
    *(GauntletProvider(each, each, self_hosted(each)) for each in ("speech_to_speech", "localai", "vllm_omni")),
)
SHORT = ("gpt-realtime-2", "xai", "qwen", "gemini", "gpt_live", "speech_to_speech", "localai", "vllm_omni")
"""One of each protocol, for the short form."""
