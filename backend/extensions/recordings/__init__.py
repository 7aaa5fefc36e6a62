"""Recordings: calls of callers who agreed, kept as sound and words until they expire.

    recorder.py ─► ActiveRecording ─► RecordingWriter (in threads) ─► files ─► RecordingStore ─► routes

A call puts its frames, with their place on the recording's clock, into a bounded queue; a thread encodes and writes
them, and no call waits for it. `RecordingStore` lists, reads, expires and erases.
"""
