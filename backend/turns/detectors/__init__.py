"""Detectors judge how likely a caller who pauses has finished. Each is one module of this package.

A detector is a module with one function, `log_odds(context: PauseContext) -> float`: the natural logarithm of the odds
that the turn is complete, as far as this detector knows; 0 where it knows nothing. `patience` finds the modules of this
package by itself and adds up what they return, each bounded to ±4, so another detector is one new file. Modules whose
name begins with an underscore are none. A detector is pure and quick (a millisecond): it runs at pauses, beside calls.
"""
