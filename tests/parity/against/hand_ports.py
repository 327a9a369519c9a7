"""Programs of `tests/legacy/programs` as workloads, as a person would write them today."""

import dataclasses

import tensorflow as tf

from workloads import initializers, optimizers, schedules
from workloads.numerics import normalization
from workloads.workload import Clip, InputSpec, MovingAverage, Workload

ZEROS = initializers.Constant(0.0)


def dense(scope, x, units):
    """`x @ kernel + bias`, the variables of `tf.layers.dense`."""
    return tf.nn.bias_add(tf.matmul(x, scope.get("kernel", (int(x.shape[-1]), units))), scope.get("bias", (units,)))


@dataclasses.dataclass(frozen=True)
class SplitSgd(Workload):
    """Two dense layers."""

    name: str = "a_port"
    global_batch: int = 32
    optimizer: optimizers.Optimizer = optimizers.GradientDescent()
    learning_rate: schedules.Schedule = schedules.Fixed(0.1)

    def inputs(self):
        return {"images": InputSpec((12,)), "labels": InputSpec((), "int", 4)}

    def loss(self, scope, batch):
        net = scope.child("net")
        h = tf.nn.relu(tf.matmul(batch["images"], net.get("w1", (12, 8))) + net.get("b1", (8,)))
        logits = tf.matmul(h, net.get("w2", (8, 4))) + net.get("b2", (4,), ZEROS)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits))


@dataclasses.dataclass(frozen=True)
class AdamClip(Workload):
    """Adam; each tower clips by the global norm."""

    name: str = "b_port"
    global_batch: int = 16
    optimizer: optimizers.Optimizer = optimizers.Adam()
    learning_rate: schedules.Schedule = schedules.Fixed(0.01)
    clip: Clip = Clip(0.5, "tower")

    def inputs(self):
        return {"model/x0": InputSpec((6,)), "model/y0": InputSpec(())}

    def loss(self, scope, batch):
        model = scope.child("model")
        h = tf.tanh(dense(model.child("hidden"), batch["model/x0"], 10))
        out = dense(model.child("out"), h, 1)
        return tf.reduce_mean(tf.math.squared_difference(out[:, 0], batch["model/y0"]))


@dataclasses.dataclass(frozen=True)
class QueueAverages(Workload):
    """A convolution with a staircase decay, weight decay and moving averages."""

    name: str = "c_port"
    global_batch: int = 16
    optimizer: optimizers.Optimizer = optimizers.GradientDescent()
    learning_rate: schedules.Schedule = schedules.ExponentialDecay(0.1, 6, 0.5, staircase=True)
    moving_average: MovingAverage = MovingAverage(0.99)

    def inputs(self):
        return {"images": InputSpec((8, 8, 2)), "labels": InputSpec((), "int", 5)}

    def loss(self, scope, batch):
        conv, local = scope.child("conv1"), scope.child("local")
        x = tf.nn.conv2d(batch["images"], conv.get("weights", (3, 3, 2, 4)), [1, 1, 1, 1], "SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, conv.get("biases", (4,))))
        x = tf.nn.max_pool2d(x, 2, 2, "SAME")
        x = tf.nn.local_response_normalization(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
        x = tf.reshape(x, [x.shape[0], -1])
        weights = local.get("weights", (64, 5))
        penalty = tf.multiply(tf.nn.l2_loss(weights), 0.04)
        logits = tf.matmul(x, weights)
        xent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits)
        return tf.add_n([penalty, tf.reduce_mean(xent)])


@dataclasses.dataclass(frozen=True)
class BatchNorm(Workload):
    """A residual net whose first tower updates the statistics, and has the regularizer."""

    name: str = "d_port"
    global_batch: int = 16
    optimizer: optimizers.Optimizer = optimizers.Momentum(momentum=0.9, nesterov=True)
    learning_rate: schedules.Schedule = schedules.Fixed(0.05)

    def inputs(self):
        return {"x": InputSpec((6, 6, 2)), "y": InputSpec((), "int", 3)}

    def loss(self, scope, batch):
        x = tf.nn.conv2d(batch["x"], scope.child("conv0").get("kernel", (3, 3, 2, 4)), 1, "SAME")
        x = tf.nn.relu(self._batch_norm(scope.child("bn0"), x, fused=True))
        y = tf.nn.conv2d(x, scope.child("conv1").get("kernel", (3, 3, 4, 4)), 1, "SAME")
        y = self._batch_norm(scope.child("bn1"), y, fused=False)
        x = tf.reduce_mean(tf.nn.relu(x + y), [1, 2])
        logits = dense(scope.child("fc"), x, 3)
        xent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["y"], logits=logits)
        loss = tf.reduce_mean(xent)
        if scope.replica == 0:
            loss += 0.01 * tf.nn.l2_loss(scope.child("fc").get("kernel", (4, 3)))
        return loss

    def _batch_norm(self, scope, x, fused):
        gamma, beta = scope.get("gamma", (4,), initializers.Constant(1.0)), scope.get("beta", (4,), ZEROS)
        mean = scope.get("moving_mean", (4,), ZEROS, trainable=False)
        variance = scope.get("moving_variance", (4,), initializers.Constant(1.0), trainable=False)
        if fused:
            values, batch_mean, batch_variance = normalization.batch_normalize(x, gamma, beta, 0.001)
            rate = 1.0 - tf.constant(0.99)  # the old layer subtracts at run time where `training` is a placeholder
        else:
            batch_mean, batch_variance = tf.nn.moments(x, [0, 1, 2])
            values = tf.nn.batch_normalization(x, batch_mean, batch_variance, beta, gamma, 0.001)
            rate = 1 - 0.99
        scope.update("moving_mean", mean - (mean - batch_mean) * rate)
        scope.update("moving_variance", variance - (variance - batch_variance) * rate)
        return values


@dataclasses.dataclass(frozen=True)
class SlimDropout(Workload):
    """Dropout, RMSProp; each tower divides its loss by the number of towers, and the first one has the regularizers."""

    name: str = "e_port"
    global_batch: int = 16
    optimizer: optimizers.Optimizer = optimizers.RMSProp(decay=0.9, momentum=0.9, epsilon=1.0)
    learning_rate: schedules.Schedule = schedules.Fixed(0.01)
    combine: str = "sum"
    keep_prob: float = 0.75

    def inputs(self):
        return {"images": InputSpec((6, 6, 1)), "one_hot": InputSpec((4,))}

    def loss(self, scope, batch):
        conv, fc1, last = (scope.child(name) for name in ("conv1", "fc1", "logits"))
        kernels = [conv.get("weights", (3, 3, 1, 4)), fc1.get("weights", (36, 8)), last.get("weights", (8, 4))]
        x = tf.nn.conv2d(batch["images"], kernels[0], 1, "SAME")
        x = tf.nn.relu(tf.nn.bias_add(x, conv.get("biases", (4,))))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.reshape(x, [x.shape[0], -1])
        x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, kernels[1]), fc1.get("biases", (8,))))
        keep = scope.keep("dropout1/dropout", x.shape, 1 - self.keep_prob)
        x = x * (1 / self.keep_prob) * tf.cast(keep, x.dtype)
        logits = tf.nn.bias_add(tf.matmul(x, kernels[2]), last.get("biases", (4,)))
        labels = batch["one_hot"] * (1 - 0.1) + 0.1 / 4
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        if scope.replica == 0:
            loss += tf.add_n([0.004 * tf.nn.l2_loss(kernel) for kernel in kernels])
        return loss / 2


@dataclasses.dataclass(frozen=True)
class Embedding(Workload):
    """An embedding whose sparse gradients Adagrad gets."""

    name: str = "g_port"
    global_batch: int = 24
    optimizer: optimizers.Optimizer = optimizers.Adagrad()
    learning_rate: schedules.Schedule = schedules.Fixed(0.5)

    def inputs(self):
        return {"words": InputSpec((3,), "int", 20), "score": InputSpec(())}

    def loss(self, scope, batch):
        lm = scope.child("lm")
        e = tf.nn.embedding_lookup(lm.get("embedding", (20, 4)), batch["words"])
        out = dense(lm.child("out"), tf.reshape(e, [-1, 12]), 1)
        return tf.reduce_mean(tf.square(tf.squeeze(out, 1) - batch["score"]))


A, B, C, D, E, G = SplitSgd(), AdamClip(), QueueAverages(), BatchNorm(), SlimDropout(), Embedding()
