"""Beside the server: the scripted peer of the tests, stand-ins of web services, and a tour.

The server never imports this package; with OFFLINE_SCRIPT it starts `python -m demo.offline` as a child process.
"""
