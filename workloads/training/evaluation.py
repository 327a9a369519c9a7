"""`Evaluation`: the metrics of a workload, over examples of their own, from any state of its training.

The same code evaluates both sides: equal states have equal metrics. A batch is cut for the devices; the examples that
fill up the last one are left out of the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from workloads import sources
from workloads.scope import Frame, Scope, Tensors
from workloads.support import user_code
from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from workloads.data.batches import Batches
    from workloads.job import Job
    from workloads.program import Arrays, State

v1 = tf.compat.v1

#: Data with more examples are taken for endless.
MOST_EXAMPLES = 10**8


class Evaluated(NamedTuple):
    """The result of an evaluation.

    Attributes:
      means: {metric: mean over all examples}, summed in float64 in the order of the examples.
      examples: their number.
    """

    means: Dict[str, float]
    examples: int


class Evaluation:
    """Evaluates states of a job.

    Args:
      job: the `Job`, of a workload that defines `metrics`.
      batches: of the examples, in their order and of the job's global batch.
      devices: each evaluates its part of a batch, as "CPU:0".
    """

    def __init__(self, job: Job, batches: Batches, devices: Sequence[str]) -> None:
        self._job, self._batches = job, batches
        self._devices = list(devices) if job.global_batch % len(devices) == 0 else [devices[0]]
        self._session: Optional[tf.compat.v1.Session] = None

    def evaluate(self, state: State) -> Evaluated:
        """Returns the metrics with the weights and statistics of a state.

        Raises:
          InputError: the data or the metrics cannot be used.
          UserError: the workload's metrics raised an exception.
        """
        values = {**state.weights, **state.statistics}
        if self._session is None:
            self._build(values)
        assert self._session is not None  # `_build` has made it
        self._session.run(self._assign, {holder: values[name] for name, holder in self._holders.items()})
        what, metrics = f"{self._job.workload.name}.metrics", self._job.workload.metrics
        parts: Dict[str, List[np.ndarray]] = {name: [] for name in self._metrics[0]}
        size, step = self._job.global_batch, 0
        while True:
            require(step * size < MOST_EXAMPLES, "--eval_data", f"over {MOST_EXAMPLES} examples", "they must end")
            batch = self._batches.batch(step)
            left = size if self._batches.count is None else self._batches.count - step * size
            if left > 0:
                with user_code.running(what, metrics, self._session.graph):
                    seen = self._session.run(self._metrics, self._feed(batch))
                for name, kept in parts.items():
                    kept.append(np.concatenate([part[name] for part in seen])[:left])
            if self._batches.count is not None and left <= size:
                break
            step += 1
        joined = {name: np.concatenate(kept) for name, kept in parts.items()}
        count = len(next(iter(joined.values())))
        return Evaluated({name: float(values.sum() / count) for name, values in joined.items()}, count)

    def close(self) -> None:
        """Frees the session."""
        if self._session is not None:
            self._session.close()

    def _feed(self, batch: Arrays) -> Dict[tf.Tensor, np.ndarray]:
        arrays = sources.in_run_dtype(self._job, batch)
        shards = sources.shard(arrays, len(self._devices))
        return {holder: shard[name] for part, shard in zip(self._inputs, shards) for name, holder in part.items()}

    def _build(self, values: Arrays) -> None:
        """Builds the metrics of each device's part of a batch, from variables that a state is loaded into."""
        graph, rows = tf.Graph(), self._job.global_batch // len(self._devices)
        inputs = self._job.workload.inputs()
        with graph.as_default():
            self._holders = {name: v1.placeholder(value.dtype, value.shape) for name, value in values.items()}
            variables = {
                name: v1.Variable(holder, trainable=False, use_resource=True) for name, holder in self._holders.items()
            }
            self._assign = [variable.initializer for variable in variables.values()]
            self._inputs, self._metrics = [], []
            for replica, device in enumerate(self._devices):
                with tf.device("/device:" + device):
                    batch = {
                        name: v1.placeholder(spec.dtype(self._job.dtype), (rows, *spec.shape))
                        for name, spec in inputs.items()
                    }
                    reads = {name: variable.read_value() for name, variable in variables.items()}
                    self._inputs.append(batch)
                    self._metrics.append(_metrics_of_part(self._job, EvaluationFrame(self._job, replica, reads), batch))
        cpus = 1 + max(int(device.rpartition(":")[2]) for device in self._devices)
        config = v1.ConfigProto(device_count={"CPU": cpus}, allow_soft_placement=True)
        self._session = v1.Session(graph=graph, config=config)


class EvaluationFrame(Frame):
    """Answers a model with the values of a state; proposals, penalties and masks lead nowhere."""

    training = False

    def __init__(self, job: Job, replica: int, values: Tensors) -> None:
        super().__init__(job.dtype, job.seed, tf.constant(0, tf.int64), replica)
        self._values = values

    def variable(self, name: str, shape: tuple[int, ...], initializer: Any, trainable: bool) -> tf.Tensor:
        if name not in self._values:
            raise InputError(f"scope.get: {name!r} is asked for by the metrics and not by the loss")
        return self._values[name]


def _metrics_of_part(job: Job, frame: Frame, batch: Tensors) -> Dict[str, tf.Tensor]:
    """Returns {metric: float64 tensor [examples]} of one device's part of a batch."""
    workload, rows = job.workload, int(next(iter(batch.values())).shape[0])
    what, allowed = f"{workload.name}.metrics", f"{{metric: a number for each example, [{rows}]}}"
    with user_code.calling(what, workload.metrics, allowed):
        metrics = workload.metrics(Scope(frame), batch)
    what = user_code.named(what, workload.metrics)
    require(isinstance(metrics, Mapping) and metrics, what, metrics, f"must be {allowed}")
    for name, value in metrics.items():
        told = f"{name!r} must be a number for each example, [{rows}]"
        require(isinstance(value, tf.Tensor), what, value, told)
        numbers = value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool
        require(numbers and value.shape.as_list() == [rows], what, f"{value.dtype.name} {value.shape}", told)
    return {name: tf.cast(value, tf.float64) for name, value in sorted(metrics.items())}
