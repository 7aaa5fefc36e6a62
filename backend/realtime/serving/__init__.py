"""A conversation of the Realtime API, from the side that answers: client events in, server events and orders out."""
