"""Exception of a rewriting to float64."""

from __future__ import annotations

from workloads.support.errors import InputError


class NotInDouble(InputError):
    """A graph cannot be rewritten to float64. The message is one line that names the op and the node."""
