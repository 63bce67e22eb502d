"""Commands that make a new file of a private one: synthetic rows, models."""
