"""References: programs beside the two that are compared, which take each of their steps from the left side's state.

They answer three questions about a step. Do both sides compute the same mathematics? Both take it once more in float64,
where rounding is ten orders of magnitude below any change of the mathematics. How far from that is float32? The left
side's own distance is the noise floor. And how far may rounding carry a tensor at all? `sensitivity` changes the
weights by less than their last bit and measures the response.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from parity.comparison import stages
from workloads.numerics import half_precision, random_keys
from workloads.program import Program, RecordRewriter, State, StepRecord

#: The precisions of a run, each with the other one.
OTHER = {"float32": "float64", "float64": "float32"}

#: Times that a step is repeated from weights changed by rounding. An activation within rounding of a kink changes sides
#: in about half of the repetitions, so that eight of them miss it once in 256 times.
SAMPLES = 8

#: {(stage, tensor name): largest absolute change}.
Response = dict[tuple[str, str], float]


class ReferenceRecords(NamedTuple):
    """The records of one step.

    Attributes:
      again: of the left program, repeated.
      truth: of the left program in the other precision; None if it has only one.
      port: of the right program in float64; None if the run is in float64 itself, or has only one precision.
    """

    again: StepRecord
    truth: StepRecord | None
    port: StepRecord | None


class References:
    """The programs that accompany a comparison.

    Args:
      dtype: of the run.
      again: a second program like the left one.
      truth: the left program in the other precision, or None.
      port: the right program in float64, or None.
      single_only: why there are none in float64 although they were asked for; "" otherwise.
      own_constants: whether the right program was written anew, with constants that may be rounded to float32 at other
        places than the left one's.
      weight_ulps: last bits by which `sensitivity` changes the weights: more than one where the left side ran with the
        kernels of another TensorFlow.
    """

    def __init__(
        self,
        dtype: str,
        again: Program,
        truth: Program | None = None,
        port: Program | None = None,
        single_only: str = "",
        own_constants: bool = False,
        weight_ulps: int = 1,
    ) -> None:
        self.dtype = dtype
        self.single_only = single_only
        self.own_constants = own_constants
        self.weight_ulps = weight_ulps
        self._again, self._truth, self._port = again, truth, port
        self._state: State | None = None
        self._records: ReferenceRecords | None = None

    def load(self, state: State) -> None:
        """Makes `state` the one that the next step starts from."""
        self._state = state
        self._again.load(state)
        if self._truth is not None:
            self._truth.load(state.cast(OTHER[self.dtype]))
        if self._port is not None:
            self._port.load(state.cast("float64"))

    def step(self) -> ReferenceRecords:
        """Takes the step and returns its records."""
        self._records = ReferenceRecords(
            self._again.step(),
            None if self._truth is None else self._truth.step(),
            None if self._port is None else self._port.step(),
        )
        return self._records

    @property
    def records(self) -> ReferenceRecords:
        """The records of the step that was taken last."""
        assert self._records is not None, "no step was taken yet"
        return self._records

    @property
    def half_precision(self) -> str:
        """The 16-bit type that the left side's steps compute in, at least in parts; "" for none."""
        return self._again.half_precision()

    @property
    def judges_in_double(self) -> bool:
        """Whether the mathematics of a run in float32 is judged in float64."""
        return self._port is not None

    def shared_with(self, view: Callable[[Program], RecordRewriter], port: Program | None = None) -> SharedReferences:
        """Returns references for another right program, which reuse this object's steps of the left side.

        Args:
          view: wraps a program of the left side; see `SharedReferences`.
          port: the other right program in float64; None for this one's.

        Returns:
          the references.
        """
        again, truth = view(self._again), None if self._truth is None else view(self._truth)
        return SharedReferences(self, again, truth, port)

    def sensitivity(self, dtype: str) -> Response:
        """Returns each tensor's largest change when the weights change by their last bit, or by `weight_ulps` of them.

        The step that was taken last is repeated `SAMPLES` times, in float64 where there is such a program: rounding
        inside the step then plays no part, and the response is the mathematics' own.

        Args:
          dtype: the precision whose last bit is meant: float32, float64, or a format of `half_precision`.
        """
        assert self._state is not None and self._records is not None, "no step was taken yet"
        program, record, state = self._again, self._records.again, self._state
        if self._truth is not None and self._records.truth is not None and self.dtype == "float32":
            program, record, state = self._truth, self._records.truth, state.cast("float64")
        response: Response = {}
        for sample in range(SAMPLES):
            program.load(rounded_differently(state, dtype, sample, self.weight_ulps))
            _widen(response, record, program.step())
        return response

    def close(self) -> None:
        """Ends all programs."""
        with contextlib.ExitStack() as stack:
            for program in (self._again, self._truth, self._port):
                if program is not None:
                    stack.callback(program.close)


class SharedReferences(References):
    """References of a second right program: they reuse the left side's steps that another `References` object takes.

    Args:
      owner: takes each step first.
      again, truth: its programs of the left side, each in a wrapper that rewrites the records.
      port: the further right program in float64; None for the owner's.
    """

    def __init__(
        self, owner: References, again: RecordRewriter, truth: RecordRewriter | None, port: Program | None
    ) -> None:
        super().__init__(owner.dtype, again, truth, port, owner.single_only, owner.own_constants, owner.weight_ulps)
        self._owner, self._views = owner, (again, truth)

    def load(self, state: State) -> None:
        self._state = state
        if self._port is not None:
            self._port.load(state.cast("float64"))

    def step(self) -> ReferenceRecords:
        """Returns the owner's records of this step as the wrappers show them, and the port's own."""
        again, truth = self._views
        records = self._owner.records
        self._records = ReferenceRecords(
            again.rewrite(records.again),
            truth.rewrite(records.truth) if truth is not None and records.truth is not None else None,
            records.port if self._port is None else self._port.step(),
        )
        return self._records

    def close(self) -> None:
        """Ends the port, if it is not the owner's."""
        if self._port is not None:
            self._port.close()


def rounded_differently(state: State, dtype: str, sample: int, ulps: int = 1) -> State:
    """Returns a state whose weights differ by at most some roundings of `dtype`, relative to each weight.

    Args:
      state: any state.
      dtype: the precision of the rounding.
      sample: number that names the draw.
      ulps: number of roundings.

    Returns:
      a new state; its slots, statistics and averages are those of `state`.
    """
    generator = random_keys.generator("rounding", sample)
    unit = half_precision.epsilon(dtype) if dtype in half_precision.SIGNIFICANDS else float(np.finfo(dtype).eps)
    weights = {}
    for name in sorted(state.weights):
        value = np.asarray(state.weights[name])
        # One last bit at least: a smaller change would be rounded away where the weights have this precision.
        factors = 1 + ulps * unit * generator.choice([-1.0, 0.0, 1.0], size=value.shape)
        weights[name] = np.asarray(value * factors, value.dtype) if value.dtype.kind == "f" else value
    return State(state.step, weights, state.slots, state.statistics, state.averages)


def _widen(response: Response, record: StepRecord, other: StepRecord) -> None:
    """Raises each tensor's entry to its largest finite difference between two records of one step."""
    for (stage, name, value), (_, _, changed) in zip(*stages.aligned_tensors(record, other)):
        if value.dtype.kind == "f" and value.size:
            with np.errstate(invalid="ignore", over="ignore"):
                gap = float(np.max(np.abs(np.asarray(changed, np.float64) - value)))
            if np.isfinite(gap):
                response[stage, name] = max(response.get((stage, name), 0.0), gap)
