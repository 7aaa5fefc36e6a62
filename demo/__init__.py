"""The demonstration beside the server: an offline Responder, stand-ins of web services, and a tour.

The server never imports this package; it starts `python -m demo.offline` as a child process where no key is set.
"""
