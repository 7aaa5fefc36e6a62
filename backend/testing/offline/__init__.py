"""The scripted peer: a server of the Realtime API for tests, with the answers, delays and failures of a script.

`__main__` starts it; `app` adds scripts and `/debug` to the routes; `script/` has the form of scripts and the handler
that follows one; `record` keeps the messages of each connection; `unscripted` has the parts of extensions. See
docs/offline.md.
"""
