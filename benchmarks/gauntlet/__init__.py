"""Every provider driven through every kind of failure, judged by the caller's ear."""
