"""``tf.contrib.learn``, as far as programs for TPUs used it: what drove an Estimator, and what read its words.

Experiment and learn_runner with their configuration, export strategies and monitors, and the preprocessing of
text and categories. Its own Estimators and heads belonged to an older design, and are gone.
"""
