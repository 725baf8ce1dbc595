"""``keras_to_tpu_model``: the model, its inputs, its replicas, its strategy."""
