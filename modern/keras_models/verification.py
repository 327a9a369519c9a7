"""Verification of an exported Keras model: its predictions, and one further step with the program's gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np

from modern.keras_models.transfer import Transfer, in_keras_terms
from workloads.program import Arrays, StepRecord
from workloads.support.errors import InputError, require

#: What a prediction may differ by, relative to the largest entry: other kernels, through all layers.
PREDICTION = 1e-5
#: What a step's change of a weight, or a slot, may differ by, relative to the largest change: other formulas.
CHANGE = 1e-5
#: Roundings of a weight by the step itself.
ROUNDINGS = 2.0


class Verified(NamedTuple):
    """Largest differences.

    Attributes:
      step: of the weights after one further step, relative to the largest change of the tensor.
      prediction: of the predictions, relative to the largest entry; None where there is nothing to compare with.
      output: the prediction that the model's output was compared with.
    """

    step: float
    prediction: float | None = None
    output: str = ""

    def sentence(self) -> str:
        """Returns what was verified."""
        step = f"one further step within {max(self.step, 0.0):.1e} of the program's"
        if self.prediction is None:
            return f"{step}; predictions not compared, as the workload defines none"
        return f"{step}; predictions within {self.prediction:.1e} of {self.output}"


def verify_step(model: keras.Model, transfer: Transfer, record: StepRecord, weights: Sequence[str]) -> float:
    """Takes one step of a model's optimizer with the program's gradient, and compares weights and slots.

    Args:
      model: the exported model; it is changed.
      transfer: the state that it was given.
      record: of the program's next step.
      weights: the job's names of the model's trainable variables, in their order.

    Returns:
      the largest difference of a weight, relative to the largest change of its tensor.

    Raises:
      InputError: the step differs, or the program's gradient is not dense.
    """
    described = transfer.keras_class()
    for name, variable in zip(weights, model.trainable_variables):
        gradient = record.combined.get(name)
        is_dense = gradient is not None and np.shape(gradient) == tuple(variable.shape)
        require(is_dense, "--export_keras", name, "its gradient is sparse, or there is none")
    model.optimizer.apply([keras.ops.convert_to_tensor(record.combined[name]) for name in weights])
    part, worst = CHANGE + described.update_units * float(np.finfo(np.float32).eps), 0.0
    for name, variable in zip(weights, model.trainable_variables):
        before, after = transfer.values[name], record.state.weights[name]
        worst = max(worst, _compared(name, keras.ops.convert_to_numpy(variable), after, before, part))
    slots = transfer.optimizer.slots
    for slot, attribute in described.slots.items():
        for name, variable in zip(weights, getattr(model.optimizer, attribute)):
            key = _slot_name(record, name, slot, slots[name][slot])
            if key is not None:
                after = in_keras_terms(described, slot, record.state.slots[key], transfer.rate)
                before = transfer.slot(slot, name)
                _compared(f"{name}/{slot}", keras.ops.convert_to_numpy(variable), after, before, part)
    return worst


def _slot_name(record: StepRecord, weight: str, slot: str, value: np.ndarray) -> str | None:
    """Returns the name of a slot in the program's states; None in a lift's, whose slots have names of their own."""
    name = f"{weight}/{slot}"
    return name if name in record.state.slots and np.shape(record.state.slots[name]) == np.shape(value) else None


def _compared(name: str, found: np.ndarray, after: np.ndarray, before: np.ndarray, part: float) -> float:
    """Returns the difference relative to the largest change; raises `InputError` beyond what is allowed."""
    change = float(np.max(np.abs(np.subtract(after, before, dtype=np.float64)), initial=0.0))
    gap = float(np.max(np.abs(np.subtract(found, after, dtype=np.float64)), initial=0.0))
    rounding = ROUNDINGS * float(np.finfo(after.dtype).eps) * float(np.max(np.abs(after), initial=0.0))
    if not gap <= part * change + rounding:
        raise InputError(
            f"--export_keras: one further step of the model differs in {name!r} by {gap:.2e}, where the program's "
            f"change is {change:.2e}"
        )
    return gap / change if change else 0.0


def verify_predictions(model: keras.Model, inputs: Arrays, expected: Arrays) -> Verified:
    """Compares a model's output with the workload's predictions.

    Args:
      model: the exported model.
      inputs: {input: array} that the predictions read.
      expected: {output: array}: the program's predictions.

    Returns:
      the comparison, without a step.

    Raises:
      InputError: the output is none of the predictions.
    """
    given = (
        next(iter(inputs.values()))
        if len(inputs) == 1 and not isinstance(getattr(model, "input", None), dict)
        else dict(inputs)
    )
    made = model(given, training=False)
    outputs = dict(made) if isinstance(made, dict) else {"": made}
    gaps: list[tuple[float, str]] = []
    for name, output in outputs.items():
        value = keras.ops.convert_to_numpy(output)
        fitting = [other for other in expected if other == name or not name]
        found = [(_gap(value, expected[o]), o) for o in fitting if np.shape(expected[o]) == value.shape]
        gaps += [min(found)] if found else []
    shapes = ", ".join(f"{name} {list(np.shape(value))}" for name, value in expected.items())
    require(gaps, "--export_keras", "outputs", f"the model must return one of the workload's predictions: {shapes}")
    worst, output = max(gaps)
    require(
        worst <= PREDICTION,
        "--export_keras",
        f"a difference of {worst:.1e}",
        f"the model must predict {output}",
    )
    return Verified(0.0, worst, output)


def _gap(found: np.ndarray, expected: np.ndarray) -> float:
    gap = float(np.max(np.abs(np.subtract(found, expected, dtype=np.float64)), initial=0.0))
    return gap / max(float(np.max(np.abs(expected), initial=0.0)), float(np.finfo(np.float32).tiny))
