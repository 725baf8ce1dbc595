"""How a script of the time reached its TPU."""
