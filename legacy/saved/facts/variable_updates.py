"""Updates of statistics, averages and carried state: the towers that each comes from, and its decay."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import NamedTuple, Optional, Tuple

from legacy.saved.facts.basics.rows import Row

#: {kind of combining: the words before the towers}.
_COMBINED = {"mean": "mean of ", "sum": "sum of ", "concat": "all rows of "}


class VariableUpdate(NamedTuple):
    """One op that changes a variable that no optimizer trains.

    Attributes:
      variable: name of the variable.
      weight: the weight that an average belongs to; "" for others.
      towers: the towers whose data it is computed from, perhaps read back from what the tower has just changed; empty
        if from none.
      decay: the decay of a moving average, in words.
      op: type of the op.
      node: its name.
      is_conditional: whether it runs in some steps only.
      among: the tower whose op this is, of several towers' that change the variable without their data; else None.
      combine: how the towers' results are combined for it, as `Combine.kind` has it; "" where that is not known.
      train_op: the train op that runs it, where a step has several in turn; else "".
    """

    variable: str
    weight: str
    towers: Tuple[int, ...]
    decay: str
    op: str
    node: str = ""
    is_conditional: bool = False
    among: Optional[int] = None
    combine: str = ""
    train_op: str = ""

    def row(self) -> Row:
        """Returns the update as a row of the page."""
        makers = _COMBINED.get(self.combine, "") + ", ".join(f"tower {tower}" for tower in self.towers)
        if not makers and self.among is not None:
            makers = f"tower {self.among}, of no data"
        if self.is_conditional:
            makers = (makers or "once, for all towers") + ", under a condition"
        return {
            "variable": self.variable,
            "of": self.weight or "-",
            "changed by": makers or "once, for all towers",
            "decay": self.decay,
            "op": self.op,
        }


def update_rows(updates: Sequence[VariableUpdate]) -> list[Row]:
    """Returns a row for each variable, with all ops that change it; what they have in common is told once.

    Args:
      updates: of some variables, in any order.
    """
    by_variable: dict[tuple[str, str], list[VariableUpdate]] = collections.OrderedDict()
    for update in updates:
        by_variable.setdefault((update.variable, update.weight), []).append(update)
    return [own[0].row() if len(own) == 1 else _joined(own) for own in by_variable.values()]


def _joined(updates: Sequence[VariableUpdate]) -> Row:
    """The row of a variable that several ops change, as those of several towers or train ops do."""
    rows = [update.row() for update in updates]
    runs = {update.train_op for update in updates}
    makers = [
        f"{row['changed by']} in {update.train_op}" if len(runs) > 1 else str(row["changed by"])
        for update, row in zip(updates, rows)
    ]
    return {
        **rows[0],
        "changed by": f"{len(updates)} ops: {_each(makers)}",
        **{column: " / ".join(dict.fromkeys(str(row[column]) for row in rows)) for column in ("decay", "op")},
    }


def _each(texts: Sequence[str]) -> str:
    """Texts, of which equal ones are counted.

    >>> _each(["tower 0", "tower 1", "tower 0"])
    'tower 0 (2) / tower 1'
    """
    counts = collections.Counter(texts)
    return " / ".join(text if count == 1 else f"{text} ({count})" for text, count in counts.items())
