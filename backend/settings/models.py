"""Settings of the text models, of the prompts they get, and of embeddings."""

from pathlib import Path

from pydantic import Field

from backend.settings.network import Names
from backend.settings.plugin import PluginSettings


class ModelSettings(PluginSettings):
    """The text models that Thinkers ask, and how long they may take."""

    thinker_model: str = Field("gpt-5.4-mini", description="The Thinkers' everyday model.")
    thinker_model_advanced: str = Field("gpt-5.4", description="The Thinkers' model for hard domains.")
    model_attempts: int = Field(3, ge=1, le=10, description="How often a request to a text model is tried.")
    model_connect_s: float = Field(5, gt=0, description="Seconds a connection to a text model may take.")
    model_silence_s: float = Field(
        20, gt=0, description="Seconds a text model may say nothing, before its answer and within it."
    )
    modes_file: Path | None = Field(None, description="TOML with your own modes; unset: backend/users/modes.toml.")
    models_without_tools: Names = Field(
        [], description="Models without native tool calls, comma-separated; tools are described to them in the prompt."
    )
    embedding_base_url: str | None = Field(
        None, description="Address of the embeddings API, if not OPENAI_BASE_URL; a local server needs no key."
    )
    embedding_model: str = Field("text-embedding-3-small", description="The model of POST /embedding.")
