"""How a computation is run: on one replica in a Session, on several under a strategy."""
