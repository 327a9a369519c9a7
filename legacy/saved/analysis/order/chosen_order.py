"""A partial order of update ops and racing reads, to which control dependencies are added one by one."""

from __future__ import annotations

import numpy as np

from legacy.saved.analysis.order.step_flow import StepFlow


class ChosenOrder:
    """The order that the graph and the control dependencies chosen so far demand of update ops and of what races.

    It is kept between the update ops and the nodes in `StepFlow.racing` alone: no other node is asked for. A thousand
    reads are ordered against a thousand updates, so the order is a matrix of bits, of which NumPy changes many rows in
    one call: row i has a bit for each node that runs before node i.

    Args:
      flow: paths of the graph.
    """

    def __init__(self, flow: StepFlow) -> None:
        self._number = {name: i for i, name in enumerate(flow.before)}
        width = (len(self._number) + 7) // 8
        rows = bytearray().join(bits.to_bytes(width, "little") for bits in flow.before.values())
        self._before = np.frombuffer(rows, np.uint8).reshape(len(self._number), width)

    def is_before(self, first: str, second: str) -> bool:
        """Returns whether one node runs before another one."""
        byte, bit = divmod(self._number[first], 8)
        return bool(self._before[self._number[second], byte] >> bit & 1)

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
            byte, bit = divmod(self._number[before], 8)
            earlier = self._before[self._number[before]].copy()
            earlier[byte] |= 1 << bit
            byte, bit = divmod(self._number[after], 8)
            is_later = self._before[:, byte] >> bit & 1
            is_later[self._number[after]] = 1
            self._before[np.flatnonzero(is_later)] |= earlier
