"""Precision: the formats, narrower than the run's own, that the values of a stage were rounded to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.comparison import stages
from parity.comparison.fits import flatten_arrays, relative_norm
from parity.diagnosis.candidates.combined_forms import combine_gradients
from parity.diagnosis.evidence import Evidence, measured_once
from workloads.numerics.half_precision import SIGNIFICANDS

if TYPE_CHECKING:
    from parity.diagnosis.steps.compared_step import ComparedStep
    from workloads.program import Arrays, StepRecord

#: Fewer numbers may have few bits by chance.
LEAST_NUMBERS = 8

#: A value is a narrow format's if it is off by no more than so many of that format's roundings.
MOST_ROUNDINGS = 4


class NarrowValues(NamedTuple):
    """Variables of a stage whose values were rounded to a narrower format on the right side.

    Attributes:
      stage: as in `stages.STAGES`.
      names: the variables.
      format: key of `SIGNIFICANDS`.
      before: whether each replica's values were rounded before they were combined, instead of the result.
    """

    stage: str
    names: tuple[str, ...]
    format: str
    before: bool = False


def significant_bits(values: np.ndarray) -> int:
    """Returns the bits of significand, the leading one included, that all the values together need; 0 for zeros.

    >>> significant_bits(np.array([1.0, 0.5, 1.25], np.float32)), significant_bits(np.array([0.1], np.float32))
    (3, 24)
    """
    flat = np.asarray(values, np.float64).ravel()
    flat = flat[np.isfinite(flat) & (flat != 0)]
    if not flat.size:
        return 0
    mantissas = np.ldexp(np.frexp(flat)[0], 53).astype(np.int64)
    together = int(np.bitwise_or.reduce(np.abs(mantissas)))
    return 53 - ((together & -together).bit_length() - 1)


def round_to_format(values: np.ndarray, name: str) -> np.ndarray:
    """Returns the values rounded to the significand of a format of `SIGNIFICANDS`, float64."""
    mantissa, exponent = np.frexp(np.asarray(values, np.float64))
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, SIGNIFICANDS[name])), exponent - SIGNIFICANDS[name]))


@measured_once
def find_narrow_values(evidence: Evidence) -> list[NarrowValues]:
    """Returns the stages and variables that are rounded to a narrower format on the right and not on the left."""
    found: list[NarrowValues] = []
    for stage, read in _READERS.items():
        found.extend(_narrow_in_stage(evidence.steps, stage, read))
    combined = _narrow_reduction(evidence)
    return found if combined is None else [*found, combined]


def _gradient_arrays(record: StepRecord) -> list[Arrays]:
    return record.gradients


_READERS: dict[str, Callable[[StepRecord], Sequence[Arrays]]] = {
    stages.GRADIENTS: _gradient_arrays,
    stages.COMBINED: lambda record: [record.combined],
    stages.WEIGHTS: lambda record: [record.state.weights],
    stages.SLOTS: lambda record: [{name: v for name, v in record.state.slots.items() if "/" in name}],
    stages.STATISTICS: lambda record: [record.state.statistics],
    stages.AVERAGES: lambda record: [record.state.averages],
}


def _narrow_in_stage(
    steps: Sequence[ComparedStep], stage: str, read: Callable[[StepRecord], Sequence[Arrays]]
) -> list[NarrowValues]:
    rights = [arrays for step in steps for arrays in read(step.right)]
    lefts = [arrays for step in steps for arrays in read(step.left)]
    names: dict[str, list[str]] = {}
    for name in rights[0] if rights and lefts else ():
        right = [np.ravel(arrays[name]) for arrays in rights if name in arrays]
        left = [np.ravel(arrays[name]) for arrays in lefts if name in arrays]
        kind = _narrow_format(np.concatenate(right), np.concatenate(left)) if right and left else None
        if kind is not None:
            names.setdefault(kind, []).append(name)
    return [NarrowValues(stage, tuple(members), kind) for kind, members in names.items()]


def _narrow_format(right: np.ndarray, left: np.ndarray) -> str | None:
    """The narrowest format that holds all the right's values and not the left's, or None.

    What is left over where numbers of the left's size cancel has few bits, too: it is a small multiple of their last.
    """
    if np.unique(right).size < LEAST_NUMBERS:
        return None
    bits, others = significant_bits(right), significant_bits(left)
    size, others_size = (float(np.max(np.abs(side), initial=0.0)) for side in (right, left))
    for name, most in SIGNIFICANDS.items():
        if bits <= most and others > most + MOST_ROUNDINGS:
            return name if size > 2.0**most * others_size * _eps(left) else None
    return None


def _eps(values: np.ndarray) -> float:
    return float(np.finfo(values.dtype if values.dtype.kind == "f" else np.float32).eps)


def _narrow_reduction(evidence: Evidence) -> NarrowValues | None:
    """Recognizes gradients that each replica rounds before they are combined."""
    left, right = evidence.combined_fits
    if left is None or left.first is None or right is None or right.first is not None or right.borrowed:
        return None
    for name in SIGNIFICANDS:
        gaps = []
        for step in evidence.steps:
            gradients, combined = step.right.gradients, step.right.combined
            names = sorted(set(combined) & set(gradients[0])) if gradients and combined else []
            rounded = [{n: round_to_format(gradient[n], name) for n in names} for gradient in gradients]
            if names and left.first.where is None:
                made = flatten_arrays(combine_gradients(rounded, left.first), names)
                gaps.append(relative_norm(flatten_arrays(combined, names) - made, made))
        if gaps and max(gaps) <= evidence.clean_residual:
            return NarrowValues(stages.COMBINED, tuple(sorted(evidence.steps[0].right.combined)), name, before=True)
    return None
