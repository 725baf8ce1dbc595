"""Checkpoints of all generations: read, matched, and written in another generation's format."""
