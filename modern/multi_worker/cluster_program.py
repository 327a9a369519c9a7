"""`ClusterProgram`: a job on several workers that this process starts on its machine, as one `Program`."""

from __future__ import annotations

import numpy as np

from modern.multi_worker import cluster_config
from workloads.program import STATES, Program, StepRecord
from workloads.support import addresses, child_processes


class ClusterProgram(Program):
    """Runs `job` under `MultiWorkerMirroredStrategy`, each worker a process, and shows what all of them saw.

    Every worker does what it is told, at the same time as the others; the work itself, and all that workers say to
    each other, is TensorFlow's.

    Args:
      job: the `Job`; its replicas are those of all workers.
      make_source: picklable function from the job to its `Source`.
      options: `ModernOptions`.
      workers: how many.
      devices: device of each replica of one worker.
    """

    side = "modern"

    def __init__(self, job, make_source, options, workers, devices):
        places = addresses.free(workers)
        self._children = []
        try:
            for index in range(workers):
                self._children.append(
                    child_processes.Child(
                        f"worker {index}",
                        serve,
                        (job, make_source, options, devices),
                        exact=options.exact,
                        variables={"TF_CONFIG": cluster_config.config(places, index), **_own_gpus(index, devices)},
                    )
                )
            self._specs, self._about = child_processes.receive_from_all(self._children)[0]
        except BaseException:
            self.close()
            raise

    def variables(self):
        return self._specs

    def describe(self):
        about = dict(self._about)
        about["devices"] = "{} workers, each {}".format(len(self._children), about["devices"])
        return about

    def load(self, state):
        self._all("load", state)

    def state(self):
        return self._all("state")[0]

    def step(self):
        return merge(self._all("step"))

    def run(self, steps):
        return self._all("run", steps)[0]

    def close(self):
        """Ends the workers."""
        child_processes.stop_all(self._children)

    def _all(self, name, *arguments):
        """Every worker's answer; if one is lost, the others are ended too: they would wait for it."""
        try:
            for child in self._children:
                child.send((name, arguments))
            return child_processes.receive_from_all(self._children)
        except BaseException:
            self.close()
            raise


def serve(speaker, job, make_source, options, devices):
    """A worker: makes its share of the program that `TF_CONFIG` says, and then does what it is told."""
    from modern.collectives import strategy
    from modern.mirrored.program import ModernProgram

    if devices[0].startswith("CPU"):
        strategy.divide_cpu(len(devices))
    program = ModernProgram(job, make_source(job), options, devices, cluster_config.from_environment())
    speaker.say((program.variables(), program.describe()))
    while True:
        message = speaker.listen()
        if message is None:
            return
        name, arguments = message
        speaker.say(getattr(program, name)(*arguments))


def merge(records):
    """One `StepRecord` of the workers' records of a step: their replicas in a row, and what they must have in common.

    A tensor of the combined gradients or of the state whose bits are not every worker's is listed in `drift`.
    """
    first = records[0]
    drift = {name for record in records for name in record.drift}
    for record in records[1:]:
        pairs = [(first.combined, record.combined)]
        pairs += [(getattr(first.state, kind), getattr(record.state, kind)) for kind in STATES]
        drift.update(name for mine, other in pairs for name in mine if not _same(mine[name], other[name]))
    return StepRecord(
        step=first.step,
        combined=first.combined,
        learning_rate=first.learning_rate,
        state=first.state,
        drift=sorted(drift),
        **{
            name: [value for record in records for value in getattr(record, name)]
            for name in ("digests", "losses", "gradients", "examples", "masks", "proposals")
        },
    )


def _same(left, right):
    return np.asarray(left).tobytes() == np.asarray(right).tobytes()


def _own_gpus(index, devices):
    """Where workers of one machine use its GPUs, each sees only its own."""
    if not devices[0].startswith("GPU"):
        return {}
    first = index * len(devices)
    return {"CUDA_VISIBLE_DEVICES": ",".join(str(first + i) for i in range(len(devices)))}
