"""`Optimizer`, the description that all readers of an optimizer share, and the records that it consists of."""

from __future__ import annotations

import abc
import dataclasses
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Tuple

import numpy as np

from workloads.optimizers.observed_update import ObservedUpdate
from workloads.optimizers.update_forms import EpsilonPlace, UpdateForm, UpdateFormula

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Tf1Class(NamedTuple):
    """The optimizer in TensorFlow 1.x: `tf.compat.v1.train.<name>(learning_rate, **arguments)`.

    Its slots have the names of `Optimizer.slots`.

    Attributes:
      name: of the class.
      arguments: {constructor argument: value}, besides the learning rate.
      accumulators: name of the method that returns the accumulators' variables, in the order of
        `Optimizer.accumulators`; "" without accumulators.
    """

    name: str
    arguments: Dict[str, Any]
    accumulators: str = ""


class Kernel(NamedTuple):
    """The op that 1.x's optimizer runs for one weight, in both eras: `tf.raw_ops.<op>(var=weight, ...)`.

    Attributes:
      op: name of the raw op.
      slots: {slot: the op's argument for it}.
      powers: {accumulator: the op's argument for its value}.
      constants: {argument: value}, handed over as float32 constants cast to the weight's dtype, as 1.x does.
      attributes: {argument: value}, handed over as Python values.
      learning_rate, gradient: names of the op's arguments for these.
    """

    op: str
    slots: Dict[str, str] = {}
    powers: Dict[str, str] = {}
    constants: Dict[str, float] = {}
    attributes: Dict[str, Any] = {}
    learning_rate: str = "lr"
    gradient: str = "grad"


class KerasClass(NamedTuple):
    """The optimizer in Keras 3: `keras.optimizers.<name>(**arguments)`, with the constants that agree with 1.x.

    Attributes:
      name: of the class.
      arguments: {constructor argument: value}: epsilons and initial slots are not Keras's defaults.
      slots: {slot: attribute of the Keras optimizer that holds its list of variables}.
      powers: {accumulator: attribute that holds its base}; Keras raises it to the number of the step.
      rate_inside: slots that hold `-learning rate` times what 1.x's slot holds. Such an optimizer cannot agree with
        1.x where the learning rate changes.
      update_units: units in the last place that Keras's formula for the weights needs beyond the usual; 0 if none.
    """

    name: str
    arguments: Dict[str, Any]
    slots: Dict[str, str] = {}
    powers: Dict[str, str] = {}
    rate_inside: Tuple[str, ...] = ()
    update_units: float = 0.0


class SlotRule(NamedTuple):
    """The value of a slot after a step: `keep * old + gain * term(step)`.

    Attributes:
      keep: part of itself that the slot keeps.
      gain: factor of the term.
      term: function of an `ObservedUpdate`; a vector, such as the gradient or its square.
      constant: name of the field that decides `keep`, for messages.
      rescaled: whether other libraries hold the slot in other units, so that only `keep` can be compared with theirs.
      checked: whether the formula is close enough to judge single elements by it.
    """

    keep: float
    gain: float
    term: Callable[[ObservedUpdate], np.ndarray]
    constant: str
    rescaled: bool = False
    checked: bool = True


class ChangeSlot(NamedTuple):
    """A slot that holds the change of the weights after each step, as `-change` or as `-change / learning rate`.

    Such a slot shows the change to its own rounding, however large the weight is that the change is added to.

    >>> ChangeSlot("momentum").change_of(0.5, 0.25), ChangeSlot("momentum", per_rate=True).change_of(0.5, 0.25)
    (-0.5, -0.125)

    Attributes:
      slot: its name.
      per_rate: whether the slot holds the change divided by the learning rate.
    """

    slot: str
    per_rate: bool = False

    def change_of(self, value: Any, learning_rate: Any) -> Any:
        """Returns the change that a value of the slot stands for: arrays, or tensors."""
        return -value * (learning_rate if self.per_rate else 1.0)

    def value_of(self, change: Any, learning_rate: Any) -> Any:
        """Returns the slot's value for a change of the weights: arrays, or tensors."""
        return -change / (learning_rate if self.per_rate else 1.0)


class GradientDifference(NamedTuple):
    """The gradient of one weight as `(new - old) / share`, of values before and after one step."""

    new: np.ndarray
    old: np.ndarray
    share: float


def gradient(update: ObservedUpdate) -> np.ndarray:
    """Returns the gradient: the term of slots that add up gradients."""
    return update.gradient


def squared_gradient(update: ObservedUpdate) -> np.ndarray:
    """Returns the gradient's elementwise square: the term of slots that add up second moments."""
    return update.gradient**2


@dataclasses.dataclass(frozen=True)
class Optimizer(abc.ABC):
    """An optimizer: a frozen record of its constants that describes itself to all who build, run or diagnose it.

    In formulas `w` is a weight, `g` its combined gradient, `r` the learning rate. Every field has a default: 1.x's.
    The `repr` is stored in recordings, so class and field names stay.
    """

    def slots(self) -> dict[str, float]:
        """Returns {slot name: initial value} of the arrays that are kept for every weight, in 1.x's names."""
        return {}

    def accumulators(self) -> dict[str, float]:
        """Returns {name: initial value} of the float32 scalars kept once.

        Each starts as a constant and is multiplied by that constant after every step: the constant's powers.
        """
        return {}

    @abc.abstractmethod
    def tf1_class(self) -> Tf1Class:
        """Returns the class of `tf.compat.v1.train`."""

    @abc.abstractmethod
    def kernel(self) -> Kernel:
        """Returns the raw op that updates one weight."""

    def keras_class(self) -> KerasClass | None:
        """Returns the Keras 3 class; None where there is none that agrees with 1.x."""
        return None

    def update_forms(self) -> dict[UpdateForm, UpdateFormula]:
        """Returns the formulas of the update in 1.x (the first, `OWN`), in Keras and in common mistakes.

        They read the slots *after* the step, so that a wrong slot does not also make a wrong update. An optimizer
        without formulas runs, but its updates cannot be diagnosed.
        """
        return {}

    def epsilon_places(self) -> tuple[EpsilonPlace, ...]:
        """Returns the places that libraries give the epsilon, 1.x's first; none for an optimizer without one."""
        return ()

    def change_slot(self, form: UpdateForm) -> ChangeSlot | None:
        """Returns the slot that holds the change of the weights in a form of the update; None if no slot does."""
        return None

    def slot_rules(self) -> dict[str, SlotRule]:
        """Returns {slot: its rule}, of the slots whose values can be diagnosed."""
        return {}

    def gradient_difference(
        self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], learning_rate: float | None
    ) -> GradientDifference | None:
        """Recovers one weight's gradient from its values around a step, where a record does not show it.

        Args:
          before, after: {"weight" or slot: float64 array} of one weight, before and after the step.
          learning_rate: the step's, or None if not known.

        Returns:
          the difference; None if the values do not determine the gradient's sign.

        Raises:
          KeyError: `before` or `after` lacks a slot.
        """
        return None


def known_optimizers() -> list[type[Optimizer]]:
    """Returns every optimizer class that has been defined, wherever it was, in the order of definition."""
    return [kind for kind in _subclasses(Optimizer) if not inspect.isabstract(kind)]


def known_keras_classes() -> dict[str, KerasClass]:
    """Returns {name of a Keras class: its description}; several optimizers' descriptions of one class are joined."""
    found: dict[str, KerasClass] = {}
    for kind in known_optimizers():
        made = kind().keras_class()
        if made is not None:
            other = found.get(made.name, made)
            found[made.name] = made._replace(
                slots={**other.slots, **made.slots}, powers={**other.powers, **made.powers}
            )
    return found


def _subclasses(kind: type) -> Iterator[type[Optimizer]]:
    children: list[Any] = kind.__subclasses__()
    for child in children:
        yield child
        yield from _subclasses(child)
