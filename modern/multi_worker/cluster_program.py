"""`ClusterProgram`: a job on several workers that this process starts on its machine, as one `Program`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from modern.multi_worker import cluster_config
from modern.options import ModernOptions
from workloads.job import Job
from workloads.program import STATES, Program, State, StepRecord
from workloads.sources import Source
from workloads.support.errors import InputError
from workloads.support.processes import addresses, child_processes
from workloads.support.user import user_code

if TYPE_CHECKING:
    from workloads.variable_spec import VariableSpec


class ClusterProgram(Program):
    """Runs `job` under `MultiWorkerMirroredStrategy`, each worker a process; its records show all workers' replicas.

    Every worker carries out the same commands at the same time as the others; the training itself, and all that
    workers exchange, is TensorFlow's.

    Args:
      job: the `Job`; its replicas are those of all workers.
      make_source: picklable function from the job to its `Source`.
      options: see `ModernOptions`.
      workers: how many.
      devices: device of each replica of one worker.
    """

    side = "modern"

    def __init__(
        self,
        job: Job,
        make_source: Callable[[Job], Source],
        options: ModernOptions,
        workers: int,
        devices: Sequence[str],
    ) -> None:
        check_picklable(job)
        places = addresses.free_addresses(workers)
        self._children: list[child_processes.Child] = []
        try:
            for index in range(workers):
                variables = {"TF_CONFIG": cluster_config.tf_config_text(places, index), **own_gpus(index, devices)}
                self._children.append(
                    child_processes.Child(
                        f"worker {index}",
                        serve_worker,
                        (job, make_source, options, devices),
                        exact=options.exact,
                        variables=variables,
                        quiet=True,
                    )
                )
            self._specs, self._about = child_processes.receive_from_all(self._children)[0]
        except BaseException:
            self.close()
            raise

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        about = dict(self._about)
        about["devices"] = "{} workers, each {}".format(len(self._children), about["devices"])
        return about

    def load(self, state: State) -> None:
        self._call_all("load", state)

    def state(self) -> State:
        return self._call_all("state")[0]

    def step(self) -> StepRecord:
        return merge_records(self._call_all("step"))

    def run(self, steps: int) -> list[np.ndarray]:
        return self._call_all("run", steps)[0]

    def close(self) -> None:
        """Ends the workers."""
        child_processes.stop_all(self._children)

    def _call_all(self, name: str, *arguments: Any) -> list[Any]:
        """Every worker's answer; if one is lost, the others are ended too: they would wait for it."""
        try:
            for child in self._children:
                child.send((name, arguments))
            return child_processes.receive_from_all(self._children)
        except BaseException:
            self.close()
            raise


def check_picklable(job: Job) -> None:
    """Raises `InputError` if a job cannot be handed to another process."""
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        kind = type(job.workload)
        what = user_code.named(f"class {kind.__name__}", kind)
        allowed = "with several workers, it and its fields' values must be defined at the top level of a module"
        raise InputError(f"{what}: got {user_code.error_line(error)}, {allowed}") from error


def serve_worker(
    speaker: Any,
    job: Job,
    make_source: Callable[[Job], Source],
    options: ModernOptions,
    devices: Sequence[str],
) -> None:
    """Runs a worker: makes its share of the program, and calls the methods that the parent names.

    Args:
      speaker: connection to the parent.
      job: the `Job` of all workers.
      make_source: makes its `Source`.
      options: see `ModernOptions`.
      devices: device of each replica of this worker.
    """
    from modern.collectives import strategy
    from modern.mirrored.program import ModernProgram

    worker = cluster_config.worker_from_environment()
    strategy.share_cpu(devices, len(devices) * worker.on_machine, options.exact)
    program = ModernProgram(job, make_source(job), options, devices, worker)
    speaker.say((program.variables(), program.describe()))
    while True:
        message = speaker.listen()
        if message is None:
            return
        name, arguments = message
        speaker.say(getattr(program, name)(*arguments))


def merge_records(records: Sequence[StepRecord]) -> StepRecord:
    """Merges the workers' records of a step: their replicas in a row, and the values that all workers must share.

    A tensor of the combined gradients or of the state whose bits are not every worker's is listed in `drift`.
    """
    first = records[0]
    drift = {name for record in records for name in record.drift}
    for record in records[1:]:
        corresponding = [(first.combined, record.combined)]
        corresponding += [(getattr(first.state, kind), getattr(record.state, kind)) for kind in STATES]
        drift.update(name for mine, other in corresponding for name in mine if not _same_bits(mine[name], other[name]))
    by_replica: dict[str, Any] = {
        name: [value for record in records for value in getattr(record, name)]
        for name in ("digests", "losses", "gradients", "examples", "masks", "proposals")
    }
    return StepRecord(
        step=first.step,
        combined=first.combined,
        learning_rate=first.learning_rate,
        state=first.state,
        drift=sorted(drift),
        **by_replica,
    )


def _same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    return np.asarray(left).tobytes() == np.asarray(right).tobytes()


def own_gpus(index: int, devices: Sequence[str]) -> dict[str, str]:
    """Environment variables that show worker `index` its own GPUs only, where workers use this machine's GPUs.

    >>> own_gpus(1, ["GPU:0", "GPU:1"])
    {'CUDA_VISIBLE_DEVICES': '2,3'}
    """
    if not devices[0].startswith("GPU"):
        return {}
    first = index * len(devices)
    return {"CUDA_VISIBLE_DEVICES": ",".join(str(first + i) for i in range(len(devices)))}
