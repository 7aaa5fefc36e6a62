"""The blocks of code of the design documents, and our changes to them."""

from pathlib import Path

BLOCKS = Path(__file__).parent / "blocks"


def block(name: str) -> str:
    """Return a block as its document has it; `name` is that of `blocks.toml`."""
    return (BLOCKS / f"{name}.txt").read_text()


def adapted(name: str) -> str:
    """Return a block with the changes that it needs here."""
    return (BLOCKS / f"{name}.ours.txt").read_text()
