"""Counterparts of what Python and the libraries around TensorFlow have removed since 2018."""
