"""The modern implementation, `tf.distribute`: replicas, all-reduce, update rules, programs, and the commands to run it.

It needs current TensorFlow and imports `workloads`, and nothing of `legacy` or `parity`.
Keras is imported only where it is asked for: by `mirrored/state/keras_rules.py`, `keras_models/` and the recorder of
Keras models. Start with `factory.py` (a job's program).
"""

import os
import sys

# Imported before the user's own folder is searched, which may hold a package of the same name.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
try:
    import workloads  # noqa: F401
finally:
    del sys.path[0]
