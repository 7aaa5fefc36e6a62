"""The programs' side of a call: what `responder-thinker talk`, the tests and the benchmarks place calls with."""
