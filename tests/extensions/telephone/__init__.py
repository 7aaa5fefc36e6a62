"""Calls by telephone, from the webhook or the INVITE to the last word."""
