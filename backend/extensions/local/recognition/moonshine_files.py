"""The model's files in the package moonshine-cpp, which is not imported: it would load libraries of its own."""

from importlib import metadata
from pathlib import Path

from backend.errors import MissingLibrary

PACKAGE = "moonshine-cpp"
_FOLDER = "moonshine_cpp/models/base-en/"
ENCODER, DECODER, TOKENS = "encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin"


def find() -> dict[str, Path]:
    """Return the model's files by name. Raises `MissingLibrary` if the package, or a file of it, is missing."""
    try:
        distribution = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        raise MissingLibrary("The package moonshine-cpp is not installed.", hint="pip install moonshine-cpp") from None
    found = {name: Path(str(distribution.locate_file(_FOLDER + name))) for name in (ENCODER, DECODER, TOKENS)}
    if missing := [str(path) for path in found.values() if not path.is_file()]:
        raise MissingLibrary(f"The speech recognition model is incomplete: {', '.join(missing)} is missing.")
    return found
