"""A program's side of a call: `responder-thinker talk` and `chat`, the tests and the benchmarks place calls with it."""
