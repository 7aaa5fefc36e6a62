"""Others import from here: a program's side of a call, and names for authors of Thinkers, tools and extensions.

A program places calls with `voice_call`, `talk` and `chat`. An author imports from `thinkers`, `tools`, `steps`,
`extension` and `testing`; these names stay, wherever the server keeps the code behind them.
"""
