"""The parts of the turn machine, one concept a file: what each event does to the state. See `turns.turn`."""
