"""What others import: a program's side of a call, and the names for authors of Thinkers, tools, steps and extensions.

A program places calls with `voice_call`, `talk` and `chat`. An author imports from `thinkers`, `tools`, `steps`,
`extension` and `testing`; these names stay, wherever the server keeps the code behind them.
"""
