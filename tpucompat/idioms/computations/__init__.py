"""``batch_parallel``, ``shard``, ``replicate``, ``rewrite`` and what goes with them."""
