"""The proof: compares a tower program with its port step by step, names the cause of a difference, and times both.

Here: the commands, one file each, and what they share. Not here: their libraries, which are the folders below.
Start with `verify.py` (the command) and `comparison/runs/verification.py` (the comparison). `parity.verify(...)`,
`parity.diagnose(...)` and `parity.assert_parity(...)` are the commands as functions, see `library/`.

`parity` imports `workloads`, `legacy` and `modern`; none of those imports it.
"""

import os
import sys
from typing import Any

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

#: Functions of `parity.library`; the first two have the names of the commands that they run.
LIBRARY = ("verify", "diagnose", "assert_parity")


def __getattr__(name: str) -> Any:
    if name in LIBRARY:
        from parity.library import calls

        return getattr(calls, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
