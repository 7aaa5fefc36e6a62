"""The room decides who may do what, and how much: principals, keys, credentials, rates, concurrency and budgets."""
