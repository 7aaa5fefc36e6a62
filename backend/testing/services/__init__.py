"""Local stand-ins of the services that tools ask: small servers on loopback that speak their documented JSON.

Tests and the tour use them, and say so. Nothing that serves callers imports them.
"""
