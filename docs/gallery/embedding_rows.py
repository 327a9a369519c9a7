"""g_embedding_adagrad: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 4 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * optimizer: SparseApplyAdagrad of 'lm/embedding' has no class here
  * combining: gradients of 'lm/embedding': concat, in truediv:0 (RealDiv)
  * gradients: rows of 'lm/embedding' reach the optimizer, and a workload's gradients are dense
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.
"""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from workloads import initializers
from workloads.steps.workload import StepWorkload, gather
from workloads.workload import InputSpec

ZEROS = initializers.Constant(0.0)
WEIGHTS = ["lm/embedding", "lm/out/kernel", "lm/out/bias"]
SLOTS = [(WEIGHTS, {"Adagrad": 0.1})]


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.nn.embedding_lookup(scope.get("lm/embedding", (20, 4)), batch["words"])
    x = tf.reshape(x, [-1, 12])
    x = tf.matmul(x, scope.get("lm/out/kernel", (12, 1)))
    x = tf.square(tf.squeeze(tf.nn.bias_add(x, scope.get("lm/out/bias", (1,), ZEROS)), 1) - batch["score"])
    return tf.reduce_mean(x)


def train_step(scope, batch, variables, context):
    """Runs a replica's part of Adagrad; returns its loss."""
    loss = tower_loss(scope, batch)
    gradients = scope.gradients(loss, WEIGHTS)
    rows = ["lm/embedding"]
    pairs = zip(WEIGHTS, gradients)
    gradients = [g if name in rows else tf.convert_to_tensor(g) for name, g in pairs]
    gradients = dict(zip(WEIGHTS, gradients))
    for name in rows:  # those of all replicas, one after another
        slices = gather(context, gradients[name])
        joined = tf.concat([one.values for one in slices], axis=0) * (1.0 / len(slices))
        gradients[name] = tf.IndexedSlices(joined, tf.concat([one.indices for one in slices], axis=0))
    dense = [name for name in WEIGHTS if name not in rows]
    reduced = context.all_reduce(tf.distribute.ReduceOp.MEAN, [gradients[name] for name in dense])
    gradients.update(zip(dense, reduced))
    for name in WEIGHTS[1:]:
        tf.raw_ops.ResourceApplyAdagrad(
            var=variables[name].handle, accum=variables[name + "/Adagrad"].handle, lr=0.5, grad=gradients[name]
        )
    indices, positions = tf.unique(gradients["lm/embedding"].indices)
    gradient = tf.math.unsorted_segment_sum(gradients["lm/embedding"].values, positions, tf.shape(indices)[0])
    tf.raw_ops.ResourceSparseApplyAdagrad(
        var=variables["lm/embedding"].handle,
        accum=variables["lm/embedding/Adagrad"].handle,
        lr=0.5,
        grad=gradient,
        indices=indices,
    )
    return loss


@dataclasses.dataclass(frozen=True)
class GEmbeddingAdagrad(StepWorkload):
    """The old program's model and its whole training step."""

    name: str = "g_embedding_adagrad"
    global_batch: int = 24

    def inputs(self):
        return {"words": InputSpec((3,), "int", classes=20), "score": InputSpec(())}

    def losses(self):
        return [tower_loss]

    def train_ops(self):
        return [train_step]

    def slots(self):
        return SLOTS


PORT = GEmbeddingAdagrad()
