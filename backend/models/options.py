"""The options of requests to a text model, under the names that the server behind it knows."""

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from backend.errors import SettingsError
from backend.runtime.json_objects import Json

OPENAI_HOSTS = (".openai.com", ".azure.com")
"""The hosts with models that refuse `max_tokens`. Other servers may not know `max_completion_tokens`."""
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Count = Annotated[int, Meta(gt=0)]


class ModelOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a request. None leaves the choice to the model."""

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    max_completion_tokens: Count | None = None
    max_tokens: Count | None = None
    """The older name of `max_completion_tokens`."""
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    reasoning_effort: str | None = None
    stream: bool | None = None
    """Changes nothing: every answer is streamed, and its reader may wait for the whole."""

    def fields(self, base_url: str) -> Json:
        """Return the fields of a request to the chat completions API at `base_url`."""
        given = {name: value for name in OPTION_NAMES if (value := getattr(self, name)) is not None}
        given.pop("stream", None)
        older, newer = given.pop("max_tokens", None), given.pop("max_completion_tokens", None)
        if limit := newer or older:
            is_openai = (urlsplit(base_url).hostname or "").endswith(OPENAI_HOSTS)
            given["max_completion_tokens" if is_openai else "max_tokens"] = limit
        return given


OPTION_NAMES = ModelOptions.__struct_fields__
USUAL = ModelOptions()


def read_options(owner: str, given: Mapping[str, object]) -> ModelOptions:
    """Return the options. Raises `SettingsError`, which names `owner` and an option that is unknown or wrong."""
    try:
        return msgspec.convert(given, ModelOptions)
    except msgspec.ValidationError as error:
        hint = f"The options of a model are: {', '.join(OPTION_NAMES)}."
        raise SettingsError(f"{owner} has a wrong option for its model: {error}.", hint=hint) from None
