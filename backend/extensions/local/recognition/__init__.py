"""Speech recognition: two engines (`moonshine.py`, `sphinx.py`), and their processes."""
