"""A partial order of update ops and racing reads, to which control dependencies are added one by one."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.order.step_flow import StepFlow


class ChosenOrder:
    """The order that the graph and the control dependencies chosen so far demand of update ops and of what races.

    It is kept between the update ops and the nodes in `StepFlow.racing` alone: no other node is asked for.

    Args:
      flow: paths of the graph.
    """

    def __init__(self, flow: StepFlow) -> None:
        self._names = [*flow.effects, *flow.racing]
        self._bit = {name: 1 << i for i, name in enumerate(self._names)}
        self._before, self._behind = dict(flow.before), dict(flow.behind)

    def is_before(self, first: str, second: str) -> bool:
        """Returns whether one node runs before another one."""
        return bool(self._before[second] & self._bit[first])

    def sorted(self, updates: list[str]) -> list[str]:
        """Returns update ops in an order that is demanded, otherwise in the given one."""
        left, found = list(updates), []
        while left:
            free = [name for name in left if not any(self.is_before(other, name) for other in left if other != name)]
            found.append((free or left)[0])
            left.remove(found[-1])
        return found

    def add(self, before: str, after: str) -> None:
        """Adds a control dependency."""
        if not self.is_before(before, after):
            earlier = self._before[before] | self._bit[before]
            later = self._behind[after] | self._bit[after]
            for name in self._named(later):
                self._before[name] |= earlier
            for name in self._named(earlier):
                self._behind[name] |= later

    def _named(self, bits: int) -> Iterator[str]:
        """Yields the names of the nodes in a bit set."""
        digits = f"{bits:b}"[::-1]  # to take bits off a number of thousands is slow
        number = digits.find("1")
        while number >= 0:
            yield self._names[number]
            number = digits.find("1", number + 1)
