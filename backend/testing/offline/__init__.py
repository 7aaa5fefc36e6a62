"""The scripted peer: a server of the Realtime API with answers, delays and failures as a script says, for tests.

`__main__` starts it; `app` adds scripts and `/debug` to the routes; `script/` is what a script may say, and the handler
that follows it; `record` keeps what went over the wire; `unscripted` is what extensions add. See docs/offline.md.
"""
