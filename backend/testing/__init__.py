"""What the author of a Thinker, a tool or a step needs to test it without a key, under the names of
`responder_thinker.testing` (docs/howto/testing.md), and what our own tests and benchmarks share.
"""
