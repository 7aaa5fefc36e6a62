"""Scripts: a file that makes the offline server deterministic (see docs/offline.md)."""
