"""How many natural questions the local Responder answers rightly without any model."""
