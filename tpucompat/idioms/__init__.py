"""The three idioms of TPU programs of TensorFlow 1.x."""
