"""The proof: compares programs step by step and tensor by tensor, and measures their speed side by side.

Numbers (`compare`, `stages`, `tolerance`, `verification`), speed (`timing`, `speed`), reports (`report`) and
the main modules `verify`, `benchmark` and `__main__`. It imports everything below it; nothing imports it.
"""

import os
import sys

__version__ = "0.1.0"

# Imported before the user's own folder is searched, which may hold packages of the same names.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
try:
    import legacy  # noqa: F401
    import modern  # noqa: F401
    import workloads  # noqa: F401
finally:
    del sys.path[0]

# `python -m parity.faults` and its like keep working: the commands in `qualification/` are found here too.
__path__.append(os.path.join(__path__[0], "qualification"))
