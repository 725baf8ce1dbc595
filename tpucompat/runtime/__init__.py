"""Shows the old namespace to a script, and runs it."""
