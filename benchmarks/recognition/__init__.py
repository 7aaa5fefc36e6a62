"""How well and how fast speech is recognized: `python -m benchmarks.recognition`."""
