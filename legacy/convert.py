"""`python -m legacy.convert CHECKPOINT --out=ckpt2`: convert a checkpoint of TensorFlow 1.x for 2.x, or back.

A checkpoint of 1.x's Saver, which knows variables by name, becomes one of `tf.train.Checkpoint`, which knows them by
object: `tf.train.Checkpoint(values={name: variable}).read(path)` restores it. One of those becomes one that the
original script's Saver restores. A lift's folder is taken in place of its checkpoint. Every value is kept, bit for bit:
weights, slots, moving averages, counters.
"""

from __future__ import annotations

import os

from absl import flags

from workloads.lifted import VALUES, is_lift_folder
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.files import input_files, json_file
from workloads.support.machine import environment
from workloads.support.processes import isolation
from workloads.support.wording import counted

flags.DEFINE_string("out", None, "Checkpoint to write, as a prefix: model.ckpt-1000.")

FLAGS = flags.FLAGS


def main(checkpoint_path: str) -> int:
    """Converts the checkpoint or lift at `checkpoint_path`."""
    require(FLAGS.out, "--out", FLAGS.out, "name the checkpoint to write")
    source = os.path.join(checkpoint_path, VALUES) if is_lift_folder(checkpoint_path) else checkpoint_path
    for ending in (".index", ".data-00000-of-00001"):
        json_file.require_replaceable(FLAGS.out + ending, "--out")
    limits = isolation.limits_of_files(values=input_files.checkpoint_size(source))
    return command.isolated(lambda: _convert(source), f"checkpoint: {source!r}", limits)


def _convert(source: str) -> int:
    """Converts; runs in a child process, since a damaged checkpoint can crash TensorFlow."""
    environment.prepare(exact=False)
    from workloads.lifted import checkpoint

    count, how = checkpoint.convert_checkpoint(source, FLAGS.out)
    reader = "TensorFlow 1.x" if how == "by name" else "tf.train.Checkpoint"
    print(f"{FLAGS.out}: {counted(count, 'variable')}, {how} (for {reader})")
    return 0


console = command.entry(main, __doc__, "CHECKPOINT")

if __name__ == "__main__":
    console()
