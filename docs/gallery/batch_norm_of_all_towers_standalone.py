"""j_dataset_resource: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: Momentum, mean of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * reads of net/bn/moving_mean, net/bn/moving_variance have no order with the update; here they come after it
  * net/bn/moving_mean: changed by tower_0/net/bn/AssignMovingAvg/AssignSubVariableOp and
    tower_1/net/bn/AssignMovingAvg/AssignSubVariableOp in any order
  * net/bn/moving_variance: changed by tower_0/net/bn/AssignMovingAvg_1/AssignSubVariableOp and
    tower_1/net/bn/AssignMovingAvg_1/AssignSubVariableOp in any order
  * the schedule counts updates (global_step), each of 2 x 8 examples, and no constant of it is 2: if its steps were
    planned for one tower's batch, it changes 2 times too late
"""

import argparse

import numpy as np
import tensorflow as tf

ZEROS = tf.compat.v1.zeros_initializer()
ONES = tf.compat.v1.ones_initializer()
GLOROT = tf.compat.v1.glorot_uniform_initializer()
tf.AggregationMethod.DEFAULT = tf.AggregationMethod.EXPERIMENTAL_TREE  # parts of a gradient are added in their order
GLOBAL_BATCH, TOWERS = 16, 2  # examples of all replicas together; replicas, unless --replicas says otherwise
INPUTS = {"features": ((7,), tf.float32), "labels": ((), tf.int32)}  # shape and dtype of one example
SLOTS = {"Momentum": 0.0}
STEP = "global_step"


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.matmul(batch["features"], scope.get("net/h/kernel", (7, 6)))
    mean, variance = tf.nn.moments(x, [0])
    scope.get("net/bn/moving_mean", (6,), ZEROS, trainable=False)
    scope.update("net/bn/moving_mean", lambda now: now - (now - mean) * 0.1)
    scope.get("net/bn/moving_variance", (6,), ONES, trainable=False)
    scope.update("net/bn/moving_variance", lambda now: now - (now - variance) * 0.1)
    beta = scope.get("net/bn/beta", (6,), ZEROS)
    gamma = scope.get("net/bn/gamma", (6,), ONES)
    x = tf.nn.relu(tf.nn.batch_normalization(x, mean, variance, beta, gamma, 0.001))
    x = tf.matmul(x, scope.get("net/logits/kernel", (6, 3)))
    logits = tf.nn.bias_add(x, scope.get("net/logits/bias", (3,), ZEROS))
    loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits))
    return loss / 8.0


class Scope:
    """A replica as its model sees it: `get` gives a variable's value; a first pass, traced alone, makes it."""

    def __init__(self, values):
        self.values, self.updates = values, {}

    def get(self, name, shape, initializer=GLOROT, trainable=True):
        if name not in self.values:
            with tf.init_scope():
                self.values[name] = tf.Variable(initializer(shape, tf.float32), trainable=trainable)
        return tf.convert_to_tensor(self.values[name])

    def update(self, name, value):
        self.updates[name] = value


class Trainer:
    """Variables, by their names in the old checkpoints, and the training step under `tf.distribute`."""

    def __init__(self, strategy, checkpoint=None):
        self.strategy, self.variables = strategy, {}
        with strategy.scope():
            spec = {n: tf.TensorSpec((GLOBAL_BATCH // TOWERS, *shape), dtype) for n, (shape, dtype) in INPUTS.items()}
            tf.function(tower_loss).get_concrete_function(Scope(self.variables), spec)
            self.weights = [name for name, variable in self.variables.items() if variable.trainable]
            for name in self.weights:
                for slot, start in SLOTS.items():
                    value = tf.fill(self.variables[name].shape, start)
                    self.variables[f"{name}/{slot}"] = tf.Variable(value, trainable=False)
            self.variables[STEP] = tf.Variable(0, dtype=tf.int64, trainable=False)
        for name, variable in self.variables.items() if checkpoint else ():
            variable.assign(tf.cast(tf.train.load_variable(checkpoint, name), variable.dtype))

    def replica_step(self, batch):
        """Runs one step on a replica's share of the batch; returns its loss."""
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = {n: self.strategy.experimental_local_results(v)[replica] for n, v in self.variables.items()}
        values = {name: variable.read_value() for name, variable in local.items()}
        step = values[STEP]
        rate = tf.compat.v1.train.piecewise_constant(
            step, [tf.constant(6, tf.int64), tf.constant(12, tf.int64)], [0.1, 0.05, 0.01]
        )
        scope = Scope(values)
        loss = tower_loss(scope, batch)
        gradients = tf.gradients(loss, [values[name] for name in self.weights], unconnected_gradients="zero")
        gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        for name, gradient in zip(self.weights, gradients):  # with the kernel of 1.x's optimizer
            slots = [local[f"{name}/{slot}"] for slot in SLOTS]
            tf.raw_ops.ResourceApplyMomentum(
                var=local[name].handle, lr=rate, grad=gradient, accum=slots[0].handle, momentum=0.9, use_nesterov=False
            )
        for name, change in scope.updates.items():  # each replica changes it in turn, as in the old program
            value = values[name]
            for turn in range(context.num_replicas_in_sync):
                own = change(value) if replica == turn else tf.zeros_like(value)
                value = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            local[name].assign(value)
        local[STEP].assign_add(1)
        return loss

    @tf.function
    def step(self, batch):
        """Runs one step on a distributed batch; returns each replica's loss."""
        return self.strategy.experimental_local_results(self.strategy.run(self.replica_step, (batch,)))

    def save(self, path):
        """Writes a checkpoint with the old names."""
        saved = {n: self.strategy.experimental_local_results(v)[0] for n, v in self.variables.items()}
        tf.compat.v1.train.Saver(saved).save(None, path, write_meta_graph=False)


def main():
    parser = argparse.ArgumentParser(description="Trains the model.")
    parser.add_argument("--data", required=True, help=".npz file with an array for each of: " + ", ".join(INPUTS))
    parser.add_argument("--checkpoint", help="checkpoint of the old program, or of this one, to start from")
    parser.add_argument("--save", default="trained", help="checkpoint to write at the end")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--replicas", type=int, default=TOWERS)
    flags = parser.parse_args()
    kind = "GPU" if len(tf.config.list_physical_devices("GPU")) >= flags.replicas else "CPU"
    if kind == "CPU":  # of which each replica has a part
        cpu, part = tf.config.list_physical_devices("CPU")[0], tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [part] * flags.replicas)
    strategy = tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(flags.replicas)])
    trainer = Trainer(strategy, flags.checkpoint)
    data = {n: np.load(flags.data)[n].astype(dtype.as_numpy_dtype) for n, (_, dtype) in INPUTS.items()}
    dataset = tf.data.Dataset.from_tensor_slices(data).repeat().batch(GLOBAL_BATCH, drop_remainder=True)  # or your own
    for step, batch in zip(range(flags.steps), strategy.experimental_distribute_dataset(dataset)):
        print(f"step {step}: loss {np.mean(trainer.step(batch)):.6f}")
    trainer.save(flags.save)


if __name__ == "__main__":
    main()
