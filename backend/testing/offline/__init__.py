"""The scripted peer: the local Responder's protocol with answers, delays and failures as a script says, for tests.

`__main__` starts it; `app` adds scripts and `/debug` to the routes of `backend.extensions.local`; `script/` is what a
script may say, and the handler that follows it; `record` keeps what went over the wire. docs/offline.md describes it.
"""
