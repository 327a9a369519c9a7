"""`python -m legacy.convert model.ckpt-1000 --out=ckpt2`: a checkpoint of TensorFlow 1.x for 2.x, and back.

A checkpoint that 1.x's Saver wrote, which knows variables by name, becomes one of `tf.train.Checkpoint`, which knows
them by object: `tf.train.Checkpoint(values={name: variable}).read(path)` restores it. One of those becomes one that
the old program's Saver restores. A lift's folder stands for its checkpoint. Everything is kept, bit for bit: weights,
slots, moving averages, counters.
"""

from __future__ import annotations

import os

from absl import flags

from workloads.support import command, environment
from workloads.support.errors import require

flags.DEFINE_string("out", None, "The checkpoint to write, as a prefix: model.ckpt-1000.")

FLAGS = flags.FLAGS


def main(checkpoint_path):
    require(FLAGS.out, "--out", FLAGS.out, "name the checkpoint to write")
    environment.prepare(exact=False)
    from workloads.lifted import checkpoint, is_lifted, workload

    source = os.path.join(checkpoint_path, workload.VALUES) if is_lifted(checkpoint_path) else checkpoint_path
    folder = os.path.dirname(os.path.abspath(FLAGS.out))
    require(os.path.isdir(folder), "--out", FLAGS.out, "must be in a folder that exists")
    count, how = checkpoint.convert(source, FLAGS.out)
    print(
        "{}: {} variables, {} ({})".format(
            FLAGS.out, count, how, "for TensorFlow 1.x" if how == "by name" else "for tf.train.Checkpoint"
        )
    )


console = command.entry(main, __doc__, "CHECKPOINT")

if __name__ == "__main__":
    console()
