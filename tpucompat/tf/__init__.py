"""The parts of TensorFlow that are not public, each in one place."""
