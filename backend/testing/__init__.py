"""Test aids for authors of Thinkers, tools and steps, without a key: see `responder_thinker.testing` and
docs/howto/testing.md. The server's own tests and benchmarks share them and others here.
"""
