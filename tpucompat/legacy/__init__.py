"""The old ``tensorflow`` as a script sees it."""
