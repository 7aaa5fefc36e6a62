"""How well the server senses turns, judged from outside: `python -m benchmarks.turn_sense` (see `__main__`)."""
