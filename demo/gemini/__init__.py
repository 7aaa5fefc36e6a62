"""A peer that plays Gemini's Live API: it follows a script, and refuses what the documented schema lacks."""
