"""Counterparts of ``tf.contrib`` packages that need code of ours."""
