"""The command `responder-thinker tour`: one conversation with every Thinker, by text and by voice, without a network.

The server runs as a separate process, like `responder-thinker serve`, with the local Responder and local stand-ins for
the services that tools ask. The output says so.
"""
