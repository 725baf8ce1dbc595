"""TPUEstimator, TensorFlow's own source, on cores of ours.

* ``estimator``: the classes that a script sees;
* ``source``: TensorFlow's source, with what connects to a TPU and runs its programs replaced by ``device``;
* ``replica``: one replica, in the script's own graph and Session;
* ``replicas``, ``placement``, ``workers``: several, in this process or on several machines;
* ``context``, ``forks``: what cores there are, asked by TPUEstimator or a program's own copy of it;
* ``checkpoints``, ``stopping``, ``progress``, ``errors``: where it starts, how it ends, what it says;
* ``watched``: what it does while somebody only looks at its computations.
"""
