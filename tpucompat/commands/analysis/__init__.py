"""What ``scan`` and ``migrate`` share: reading source, finding old names in it, what became of them."""
