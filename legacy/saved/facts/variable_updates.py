"""Updates of statistics, averages and carried state: the towers that each comes from, and its decay."""

from __future__ import annotations

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
