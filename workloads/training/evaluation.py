"""`Evaluation`: the metrics of a workload, over examples of their own, from any state of its training.

The same code evaluates both sides: equal states have equal metrics. A batch is cut for the devices; the examples that
fill up the last one are left out of the sums.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from workloads import sources
from workloads.frame import Frame
from workloads.scope import Scope, Tensors
from workloads.support.errors import InputError, require
from workloads.support.user import user_code

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
    """Evaluates states of a job in a session.

    Args:
      job: the `Job`, of a workload that defines `metrics`.
      batches: of the examples, in their order and of the job's global batch.
      devices: each evaluates its part of a batch, as "CPU:0".
      exact: whether Grappler is off, which fuses kernels differently in a session and in a function.
    """

    def __init__(self, job: Job, batches: Batches, devices: Sequence[str], exact: bool = False) -> None:
        self._job, self._batches, self._exact = job, batches, exact
        self._devices = list(devices) if job.global_batch % len(devices) == 0 else [devices[0]]
        self._session: Optional[tf.compat.v1.Session] = None

    def evaluate(self, state: State) -> Evaluated:
        """Returns the metrics with the weights and statistics of a state.

        Raises:
          InputError: the data or the metrics cannot be used.
          UserError: the workload's metrics raised an exception.
        """
        return means_of(self.measure(state))

    def measure(self, state: State) -> dict[str, np.ndarray]:
        """Returns {metric: float64 array [examples]} with the weights and statistics of a state.

        Raises:
          InputError: the data or the metrics cannot be used.
          UserError: the workload's metrics raised an exception.
        """
        self._load({**state.weights, **state.statistics})
        parts: Dict[str, List[np.ndarray]] = collections.defaultdict(list)
        size, step = self._job.global_batch, 0
        while True:
            require(step * size < MOST_EXAMPLES, "--eval_data", f"over {MOST_EXAMPLES} examples", "they must end")
            batch = self._batches.batch(step)
            left = size if self._batches.count is None else self._batches.count - step * size
            if left > 0:
                seen = self._run(sources.shard(sources.in_run_dtype(self._job, batch), len(self._devices)))
                for name in seen[0]:
                    parts[name].append(np.concatenate([part[name] for part in seen])[:left])
            if self._batches.count is not None and left <= size:
                break
            step += 1
        return {name: np.concatenate(kept) for name, kept in parts.items()}

    def close(self) -> None:
        """Frees the session."""
        if self._session is not None:
            self._session.close()

    def _load(self, values: Arrays) -> None:
        """Gives the model's variables their values, which are made first if they are not yet."""
        if self._session is None:
            self._session = self._build(values)
        self._session.run(self._assign, {holder: values[name] for name, holder in self._holders.items()})

    def _run(self, shards: Sequence[Arrays]) -> List[Arrays]:
        """Returns {metric: array} of each device's part of a batch."""
        assert self._session is not None  # `_load` has made it
        what, metrics = f"{self._job.workload.name}.metrics", self._job.workload.metrics
        feed = {holder: shard[name] for part, shard in zip(self._inputs, shards) for name, holder in part.items()}
        with user_code.running(what, metrics, self._session.graph):
            found: List[Arrays] = self._session.run(self._metrics, feed)
        return found

    def _build(self, values: Arrays) -> tf.compat.v1.Session:
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
                    self._metrics.append(metrics_of_part(self._job, EvaluationFrame(self._job, replica, reads), batch))
        cpus = 1 + max(int(device.rpartition(":")[2]) for device in self._devices)
        config = v1.ConfigProto(device_count={"CPU": cpus}, allow_soft_placement=True)
        config.graph_options.rewrite_options.disable_meta_optimizer = self._exact
        return v1.Session(graph=graph, config=config)


def means_of(values: Mapping[str, np.ndarray]) -> Evaluated:
    """Returns the means of {metric: float64 array [examples]}."""
    count = len(next(iter(values.values())))
    return Evaluated({name: float(array.sum() / count) for name, array in values.items()}, count)


class EvaluationFrame(Frame):
    """Answers a model with the values of a state; proposals, penalties and masks lead nowhere."""

    training = False

    def __init__(self, job: Job, replica: int, values: Tensors) -> None:
        super().__init__(job.dtype, job.seed, tf.constant(0, tf.int64), replica, replicas=job.replicas)
        self._values = values

    def variable(self, name: str, shape: tuple[int, ...], initializer: Any, trainable: bool) -> tf.Tensor:
        if name not in self._values:
            raise InputError(f"scope.get: {name!r} is asked for by the metrics and not by the loss")
        return self._values[name]


def metrics_of_part(job: Job, frame: Frame, batch: Tensors) -> dict[str, tf.Tensor]:
    """Builds the metrics of one device's part of a batch.

    Args:
      job: the `Job`.
      frame: answers the model.
      batch: {input: tensor [examples, ...]}.

    Returns:
      {metric: float64 tensor [examples]}.

    Raises:
      InputError: the metrics cannot be used.
      UserError: the workload's metrics raised an exception.
    """
    workload, rows = job.workload, int(next(iter(batch.values())).shape[0])
    what, allowed = f"{workload.name}.metrics", f"{{metric: a number for each example, [{rows}]}}"
    with user_code.calling(what, workload.metrics, allowed):
        metrics = workload.metrics(Scope(frame), batch)
    what = user_code.named(what, workload.metrics)
    require(isinstance(metrics, Mapping) and metrics, what, metrics, f"must be {allowed}")
    for name, value in metrics.items():
        expected = f"{name!r} must be a number for each example, [{rows}]"
        require(isinstance(value, tf.Tensor), what, value, expected)
        numbers = value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool
        require(numbers and value.shape.as_list() == [rows], what, f"{value.dtype.name} {value.shape}", expected)
    return {name: tf.cast(value, tf.float64) for name, value in sorted(metrics.items())}
