"""``tpucompat verify``: whether a migrated script computes what the old one computed.

Both run in processes of their own (:mod:`.runs`), where doors in TensorFlow and Keras are watched
(:mod:`.child`, :mod:`.graph_doors`, :mod:`.eager_doors`, :mod:`.model_doors`) and what passes is written
down (:mod:`.recorder`). The old run's initial values go into the new one (:mod:`.matching`). Then the two
recordings are compared rung by rung (:mod:`.ladder`), and the verdicts shown (:mod:`.report`).
"""
