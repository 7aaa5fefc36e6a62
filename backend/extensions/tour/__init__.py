"""`responder-thinker tour`: one conversation through every Thinker, by text and by voice, on this machine alone.

The server is a process of its own, as `responder-thinker serve` starts it, with the local Responder and local stand-ins
for the services that tools ask. The output says so.
"""
