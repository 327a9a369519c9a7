"""Copies of weights that each tower of the old program had, in the checkpoints that a standalone program writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from legacy.source.basics.rendering import literal_text
from legacy.source.replica_step.tables import table_lines
from legacy.source.standalone.saved_names import SAVE, with_constants

_COMMENT = "other towers' variables in checkpoints, or their scopes: the first tower's"
#: The lines that give copies the trained values; a copy is named by its scope, or by its whole name.
_COPY = """\
        for copy, first in COPIES.items():
            own = [name for name in self.variables if {condition}]
            saved.update((copy + name[len(first) :], tf.Variable(saved[name])) for name in own)
"""
_IN_SCOPE, _IS_NAMED = 'f"{name}/".startswith(f"{first}/")', "name == first"


def with_tower_copies(text: str, copies: Mapping[str, str], variables: Collection[str]) -> str:
    """Returns a program that writes copies with the values of the variables that stand for them.

    Args:
      text: of the program.
      copies: {name of a copy in a checkpoint: the program's variable}.
      variables: of the program.

    Returns:
      The text; the same without copies.
    """
    if not copies:
        return text
    scopes = dict(_scopes(copy, first) for copy, first in copies.items())
    is_exact = expanded(scopes, variables) == copies
    table = {copy: literal_text(first) for copy, first in sorted((scopes if is_exact else copies).items())}
    text = with_constants(text, table_lines("COPIES", table, _COMMENT))
    return text.replace(SAVE, _COPY.format(condition=_IN_SCOPE if is_exact else _IS_NAMED) + SAVE)


def expanded(scopes: Mapping[str, str], variables: Collection[str]) -> dict[str, str]:
    """Returns {copy: variable} of all variables in scopes.

    >>> expanded({"v1": "v0", "power_1": "power"}, ["v0/w", "v0/b", "power", "powers"])
    {'v1/w': 'v0/w', 'v1/b': 'v0/b', 'power_1': 'power'}

    Args:
      scopes: {scope or name of copies: that of the variables}.
      variables: of the program.
    """
    return {
        copy + name[len(first) :]: name
        for copy, first in scopes.items()
        for name in variables
        if f"{name}/".startswith(f"{first}/")
    }


def _scopes(copy: str, first: str) -> tuple[str, str]:
    """Returns the shortest scopes in which a copy has the name of its variable.

    >>> _scopes("tower_1/cell/w", "tower_0/cell/w")
    ('tower_1', 'tower_0')
    """
    while "/" in copy and "/" in first and copy.rpartition("/")[2] == first.rpartition("/")[2]:
        copy, first = copy.rpartition("/")[0], first.rpartition("/")[0]
    return copy, first
