"""The room decides who may do what, and how much of it: principals, keys, credentials, rates, permits and budgets."""
