"""What every floor may use; the standard library and packaging alone."""
