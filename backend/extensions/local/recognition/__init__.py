"""Speech recognition: one interface (`base.py`), two engines (`moonshine.py`, `sphinx.py`), and their processes."""
