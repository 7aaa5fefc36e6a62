"""Several processes, on one machine or many, that together are one server.

A call lives in one process, with its audio. Everything else that is asked of it may be asked of any process: where it
is, what was said, its events, and to end it. They find each other through the Redis they share:

`fleet:{node}` (that a process lives, and how busy it is), `fleet:{node}:inbox` (questions to it),
`session:{id}:card` (where a session is, and whose), `session:{id}:events` (what it tells the page).
"""
