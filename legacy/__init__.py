"""Tower programs of TensorFlow 1.x: one graph, a loop over devices, shared variables, averaged gradients, a session.

Written as tower programs were written from 2016 to 2019, in `tf.compat.v1` names that TensorFlow 1.15 and
current TensorFlow both have. It imports `workloads` and nothing of `modern` or `parity`.
"""

import os
import sys

# Imported before the user's own folder is searched, which may hold a package of the same name.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
try:
    import workloads  # noqa: F401
finally:
    del sys.path[0]
