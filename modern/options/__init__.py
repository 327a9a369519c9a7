"""The choices that a `tf.distribute` port has: one frozen record, below everything in `modern` that reads it.

Here: the record and the values its fields may have. Not here: command-line flags (`modern.flags`).
Start with `modern_options.py`; import from this folder: `from modern.options import ModernOptions`.
"""

from modern.options.all_reduces import ALL_REDUCES, STRATEGYS_OWN, AllReduce
from modern.options.modern_options import ALL_REDUCE, AUTODIFF, UPDATE_RULES, VARIABLES, ModernOptions

__all__ = [
    "ALL_REDUCE",
    "ALL_REDUCES",
    "AUTODIFF",
    "STRATEGYS_OWN",
    "UPDATE_RULES",
    "VARIABLES",
    "AllReduce",
    "ModernOptions",
]
