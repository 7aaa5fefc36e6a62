"""An OpenAI-compatible server of our own, in a process of its own: the demonstration, and the test peer.

`__main__` starts it; `app` is its HTTP surface; `realtime/` the Realtime protocol, pure core and thin shell;
`script/` and `demonstration/` the two brains behind it; `speech/` ears and voice; `chat/` chat completions.
docs/offline.md says what it can and cannot do.
"""
