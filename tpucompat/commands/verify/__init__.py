"""``tpucompat verify``: whether a migrated script computes what the old one computed.

Both run in processes of their own (:mod:`.runs`), where functions of TensorFlow and Keras are watched
(:mod:`.child`, :mod:`.graph_watcher`, :mod:`.eager_watcher`, :mod:`.model_watcher`) and what passes is written
down (:mod:`.recorder`). The old run's initial values go into the new one (:mod:`.matching`). Then the two
recordings are compared rung by rung (:mod:`.ladder`), and the verdicts shown (:mod:`.report`).
"""
