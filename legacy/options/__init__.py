"""The choices that tower programs made differently: one frozen record, below everything in `legacy` that reads it.

Here: the record and the values its fields may have. Not here: command-line flags (`legacy.flags`).
Start with `legacy_options.py`; import from this folder: `from legacy.options import LegacyOptions`.
"""

from legacy.options.legacy_options import AVERAGES, INPUTS, UPDATES, VARIABLES, LegacyOptions

__all__ = ["AVERAGES", "INPUTS", "UPDATES", "VARIABLES", "LegacyOptions"]
