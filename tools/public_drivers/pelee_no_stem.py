"""Calls koshian2/PeleeNet-Keras' cifar10.py by its own arguments: small pictures, and no stem block for them.

Its main program makes pictures of 224 x 224 pixels, 512 a step: more memory than most machines have.
"""

import cifar10

cifar10.train(True, False)
