"""The providers of a Responder that RESPONDERS may name: one module each, with `open_provider`."""
