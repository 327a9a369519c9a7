"""Names of slots and moving averages as text that is made of their weights' names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten

if TYPE_CHECKING:
    from workloads.lifted.plan import Plan


class NamedAfter(NamedTuple):
    """A name that contains a weight's: `scope` + the weight's + `ending`, such as "train/" and "/Adam"."""

    scope: str
    ending: str

    @property
    def text(self) -> str:
        """The name as Python text that is made of `name`, the weight's."""
        if not self.scope:
            return f"name + {literal_text(self.ending)}"
        return f'f"{self.scope}{{name}}{self.ending}"'


def split_name(name: str, weight: str) -> NamedAfter | None:
    """Splits the name of a slot or an average at that of its weight; None if it is not named after the weight.

    >>> split_name("train/net/w/Adam", "net/w")
    NamedAfter(scope='train/', ending='/Adam')
    """
    start = f"/{name}".rfind(f"/{weight}/")
    return NamedAfter(name[:start], name[start + len(weight) :]) if start >= 0 else None


def named_after(name: str, weight: str) -> NamedAfter:
    """Returns `split_name`.

    Raises:
      Unwritten: it is not named after the weight.
    """
    found = split_name(name, weight)
    if found is None:
        raise Unwritten(f"variables: {name!r} is not named after its weight, {weight!r}")
    return found


def name_of_averages(plan: Plan) -> NamedAfter:
    """Returns how each weight's moving average is named after it.

    Raises:
      Unwritten: one is not named after its weight, or they are not named alike.
    """
    names = {named_after(v.name, v.of) for v in plan.variables if v.role == "average" and v.of}
    if len(names) != 1:
        raise Unwritten(f"moving average: {len(names)} ways in which averages are named after their weights")
    return names.pop()
