"""Principals, keys, credentials, rates, permits and budgets decide who may do what, and how much."""
