"""The first layer that differs: the layer in which a difference begins, from the taps of one step.

Both sides took the step from the same state and batch. In the forward pass a fault shows in the first tap that differs.
A fault of the backward pass leaves all of these alone: it shows on the way back, in the last tap whose gradient
differs, or in a layer whose weights' gradients differ although the gradient that reaches it agrees. Where the loss
differs and no tap does, but the gradient to the last tap, it is the loss. What differs only later, such as a moving
statistic, belongs to the layer of its variable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from parity.layers.differing_tensors import DifferingTensors
from parity.layers.row_order import rows_are_reordered
from parity.layers.tap_flow import producer_of, readers_of, withholding_readers
from workloads.program import StepRecord
from workloads.taps import is_input, layer_of_tap, layer_of_variable

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"

#: The place behind the last layer.
LOSS_FUNCTION = "the loss"


@dataclasses.dataclass(frozen=True)
class FirstLayer:
    """The layer in which a difference begins.

    Attributes:
      layer: its name, or `LOSS_FUNCTION`.
      way: in its `FORWARD` pass, its `BACKWARD` pass, or the `UPDATE` of its variables.
      tensor: the tap or variable that shows it.
      step: number of the step.
      replicas: those on which the tensor differs; empty for a variable.
      readers: the layers between which and `layer` it lies, where it is in what one hands to the other.
    """

    layer: str
    way: str
    tensor: str
    step: int
    replicas: tuple[int, ...] = ()
    readers: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Returns the finding as a sentence."""
        place = f"between {self.layer} and {' or '.join(self.readers)}" if self.readers else self.layer
        where = f" on replicas {', '.join(map(str, self.replicas))}" if self.replicas else ""
        reason = {
            FORWARD: f"the forward passes agree up to it, and diverge at {self.tensor}",
            BACKWARD: f"the forward passes agree; on the way back, gradients first differ at {self.tensor}",
            UPDATE: f"activations and gradients agree; {self.tensor} differs",
        }[self.way]
        return f"first layer that differs: {place} (step {self.step}: {reason}{where})"

    def to_json(self) -> dict[str, Any]:
        """Returns the finding for a report."""
        return {**dataclasses.asdict(self), "sentence": self.sentence()}


def find_first_layer(
    differing: DifferingTensors, taps: Sequence[str], left: StepRecord, right: StepRecord
) -> FirstLayer | None:
    """Returns the layer in which a difference begins; None if no layer stands out.

    None stands out where a replica's examples come in another order: then all activations differ.

    Args:
      differing: tensors of a step that both sides took from the same state.
      taps: names of the taps that both sides recorded, in the order of the forward pass.
      left: the reference's record of the step.
      right: the other side's.

    Returns:
      the finding.
    """
    if taps and any(rows_are_reordered(ours[taps[0]], theirs[taps[0]]) for ours, theirs in zip(left.taps, right.taps)):
        return None
    search = _Search(differing, taps, left, right)
    found = search.forward() or search.loss() or search.backward()
    if found is None and differing.loss:
        return FirstLayer(LOSS_FUNCTION, FORWARD, "loss", left.step)
    return found or search.later()


@dataclasses.dataclass(frozen=True)
class _Search:
    """The tensors of one step that differ, its taps, and both sides' records."""

    differing: DifferingTensors
    taps: Sequence[str]
    left: StepRecord
    right: StepRecord

    def forward(self) -> FirstLayer | None:
        """The layer of the first activation that differs."""
        found = self.differing.activations
        name = next((tap for tap in self.taps if tap in found), None)
        if name is None:
            return None
        producer = producer_of(name, self.taps, self.left) or self._tap_before(name) if is_input(name) else None
        return self._found(layer_of_tap(producer or name), FORWARD, name, found[name], [name] if producer else [])

    def loss(self) -> FirstLayer | None:
        """The loss, if it differs and so does its gradient to the last tap; a penalty has no gradient to that tap."""
        hands_back = bool(self.taps) and self.taps[-1] in self.differing.activation_gradients
        return (
            FirstLayer(LOSS_FUNCTION, FORWARD, "loss", self.left.step) if self.differing.loss and hands_back else None
        )

    def backward(self) -> FirstLayer | None:
        """The place where gradients first differ on the way back from the loss."""
        gradients, weights = self.differing.activation_gradients, self.differing.gradients
        owners = {name: self._owner(name) for name in weights}
        for name in reversed(self.taps):
            if name in gradients:
                return self._behind(name, gradients[name])
            own = next((weight for weight, owner in owners.items() if owner == layer_of_tap(name)), None)
            if own is not None:
                return self._found(layer_of_tap(name), BACKWARD, own, weights[own])
        return None

    def later(self) -> FirstLayer | None:
        """The layer of all variables that differ in the first later stage; None if they are of several."""
        for stage, names in self.differing.later.items():
            owners = {self._owner(name) for name in names}
            owner = owners.pop()
            return None if owners or owner is None else self._found(owner, UPDATE, f"{names[0]} ({stage})", ())
        return None

    def _behind(self, name: str, replicas: tuple[int, ...]) -> FirstLayer:
        """The layer that made the gradient of a tap: of an input its own, of an output one that reads it."""
        if is_input(name):
            return self._found(layer_of_tap(name), BACKWARD, name, replicas)
        if self.left.tap_readers:
            known = [reader for reader in self.left.tap_readers.get(name, ()) if reader in self.taps]
            return self._found(layer_of_tap(name), BACKWARD, name, replicas, known)
        readers = withholding_readers(name, readers_of(name, self.taps, self.left), self.right)
        if readers or any(map(is_input, self.taps)):
            return self._found(layer_of_tap(name), BACKWARD, name, replicas, readers)
        behind = self.taps[self.taps.index(name) + 1 :]
        return self._found(layer_of_tap(behind[0]) if behind else LOSS_FUNCTION, BACKWARD, name, replicas)

    def _tap_before(self, name: str) -> str | None:
        position = self.taps.index(name)
        return self.taps[position - 1] if position else None

    def _owner(self, variable: str) -> str | None:
        """The layer of a variable: that of the first tap that is made from it, where that is known."""
        readers = [tap for tap in self.left.tap_readers.get(variable, ()) if tap in self.taps]
        return layer_of_tap(readers[0]) if readers else layer_of_variable(variable, self._layers())

    def _layers(self) -> list[str]:
        return list(dict.fromkeys(map(layer_of_tap, self.taps)))

    def _found(
        self, layer: str, way: str, tensor: str, replicas: tuple[int, ...], readers: Sequence[str] = ()
    ) -> FirstLayer:
        others = dict.fromkeys(map(layer_of_tap, readers))
        others.pop(layer, None)
        return FirstLayer(layer, way, tensor, self.left.step, replicas, tuple(others))
