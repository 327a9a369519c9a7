"""`python -m parity.ports`: plain Keras 3 ports of three workloads, recorded and diagnosed against legacy.

Each is trained under MirroredStrategy from legacy's first weights on legacy's batches; the recordings are then
compared as `parity.diagnose` compares any two. Exit status 0: every known difference was named; 1: not.
"""

from __future__ import annotations

import importlib
import os
import tempfile

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from workloads.support import command, environment

NAMES = ("sigmoid_stack", "stacked_lstm", "resnet18")

flags.DEFINE_list("ports", list(NAMES), "Which ports.")
flags.DEFINE_integer("port_steps", 8, "Steps to record.", lower_bound=1)

FLAGS = flags.FLAGS


class Data:
    """Legacy's batches, for a port."""

    def __init__(self, job, source):
        self.global_batch, self._job, self._source = job.global_batch, job, source

    def shards(self, step):
        """The batches of the replicas in that step: [{input: array}]."""
        return self._source.shards(step)

    def dataset(self, choose):
        """A `tf.data.Dataset` of global batches, each as `choose({input: array})` has it."""
        import tensorflow as tf

        first = choose(self._source.batch(0))
        signature = tuple(tf.TensorSpec(array.shape, array.dtype) for array in first)

        def batches():
            step = 0
            while True:
                yield choose(self._source.batch(step))
                step += 1

        return tf.data.Dataset.from_generator(batches, output_signature=signature)


def diagnose_port(name, replicas, steps, folder):
    """(port's module, recognized causes, evidence) of one port, recorded in `folder`."""
    from legacy.options import LegacyOptions
    from modern.collectives import strategy
    from modern.options import ModernOptions
    from parity.causes import catalogue
    from parity.comparison.setup import Setup
    from parity.diagnosis import collect
    from workloads import sources
    from workloads.job import Job
    from workloads.records.reader import Recording, record_program

    port = importlib.import_module("parity.ports." + name)
    job = Job(port.WORKLOAD, replicas)
    setup = Setup(job, sources.Synthetic, LegacyOptions(exact=True), ModernOptions(exact=True), FLAGS.device)
    paths = [os.path.join(folder, f"{name}_{side}.npz") for side in ("legacy", "port")]
    with setup.legacy_program() as program:
        initial = program.state()
        record_program(program, job, steps, paths[0])
    mirrored = strategy.mirrored_strategy(setup.devices(), ModernOptions(all_reduce="auto"))
    port.train(paths[1], mirrored, Data(job, sources.Synthetic(job)), initial, steps)
    with Recording(paths[0]) as left, Recording(paths[1]) as right:
        evidence = collect.evidence_of_recordings(left, right)
    return port, catalogue.recognize_causes(evidence), evidence


def main():
    command.require_each(FLAGS.ports, NAMES, "--ports")
    environment.prepare(exact=True)
    from parity.reports import causes
    from parity.reports.formatting import make_console

    console, results = make_console(), []
    with tempfile.TemporaryDirectory() as folder:
        for name in FLAGS.ports:
            port, recognized, evidence = diagnose_port(name, FLAGS.replicas or 2, FLAGS.port_steps, folder)
            found = [entry.id for entry in recognized]
            missed = [cause for cause in port.EXPECTED if cause not in found]
            console.print("{}: {}".format(name, "missed " + ", ".join(missed) if missed else "all named"), style="bold")
            for line in causes.cause_lines(recognized, evidence):
                console.print(line, highlight=False, markup=False)
            results.append({"port": name, "expected": port.EXPECTED, "named": found, "missed": missed})
            results[-1].update(causes.causes_json(recognized, evidence))
    command.write_json({"ports": results})
    return 1 if any(result["missed"] for result in results) else 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
