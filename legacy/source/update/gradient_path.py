"""`GradientPath`: what happens to a train op's gradients between the towers and the update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Name
    from legacy.source.step.further_gradients import FurtherGradients
    from workloads.numerics.clip_rule import Clip


class GradientPath(NamedTuple):
    """The way of a train op's gradients from the towers to the update.

    Attributes:
      weights: names of those that have gradients, in order.
      rows: those of which the update gets rows, with their indices.
      combine: "mean" or "sum" of the gradients that are no rows; "" where the update gets the gradients of all towers.
      clip: what each tower does to its gradients, or None.
      clip_after: what is done to the combined gradients, or None.
      scales: factor on each of a tower's losses before it is differentiated; empty if all are one.
      tensors: {tensor of the old graph: expression} of what the update is given.
      losses: for each of `weights`, the numbers of the losses that its gradient is of; these rise.
      further: gradients that some of `weights` have besides.
      reciprocal: whether a mean of those that are no rows is a sum times one over the number of towers.
      rows_scaled: text of what is done to the rows of all towers, `slices`, where `combine` is not "".
      multipliers: {weight: factor} on the reduced gradients, of those whose factor is not one.
      joined: those of `weights` of which all towers' rows follow each other, if they are not `rows`.
      is_changed: whether each tower changes its own gradients before they are combined.
      own_lines: of the text that do so.
    """

    weights: List[str]
    rows: List[str]
    combine: str
    clip: Optional[Clip]
    clip_after: Optional[Clip]
    scales: Sequence[float]
    tensors: Dict[str, Name]
    losses: Sequence[Tuple[int, ...]] = ()
    further: Sequence[FurtherGradients] = ()
    rows_scaled: str = ""
    reciprocal: bool = False
    multipliers: Mapping[str, float] = {}
    joined: Optional[Sequence[str]] = None
    is_changed: bool = False
    own_lines: Sequence[str] = ()

    @property
    def joined_rows(self) -> Sequence[str]:
        """Weights of which all towers' rows follow each other."""
        return self.rows if self.joined is None else self.joined

    def weights_of_losses(self) -> Dict[Tuple[int, ...], List[str]]:
        """Returns {numbers of losses: weights whose gradients are of these}."""
        found: Dict[Tuple[int, ...], List[str]] = {}
        for name, numbers in zip(self.weights, self.losses or [(0,)] * len(self.weights)):
            found.setdefault(numbers, []).append(name)
        return found
