"""c_queue_ema: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
Recognised: GradientDescent, mean of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * reads have no order with the update; here those of global_step come before it, those of conv1/weights, conv1/biases,
    local/weights come after it
  * the schedule counts updates (global_step), each of 2 x 8 examples, and no constant of it is 2: if its steps were
    planned for one tower's batch, it changes 2 times too late
"""

import argparse

import numpy as np
import tensorflow as tf

truncated_normal = tf.compat.v1.truncated_normal_initializer
GLOBAL_BATCH, TOWERS = 16, 2  # examples of all replicas together; replicas, unless --replicas says otherwise
INPUTS = {"images": ((8, 8, 2), tf.float32), "labels": ((), tf.int32)}  # shape and dtype of one example
STEP = "global_step"


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    weights = scope.get("conv1/weights", (3, 3, 2, 4), truncated_normal(stddev=0.2))
    x = tf.nn.conv2d(batch["images"], weights, strides=1, padding="SAME")
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("conv1/biases", (4,), truncated_normal(stddev=0.1))))
    x = tf.nn.max_pool2d(x, 2, 2, "SAME")
    x = tf.nn.local_response_normalization(x, 4, bias=1.0, alpha=0.00011111111, beta=0.75)
    x = tf.reshape(x, [-1, 64])
    logits = tf.matmul(x, scope.get("local/weights", (64, 5), truncated_normal(stddev=0.1)))
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits))
    return tf.add_n([tf.nn.l2_loss(scope.get("local/weights")) * 0.04, loss])


class Scope:
    """A replica as its model sees it: `get` gives a variable's value; a first pass, traced alone, makes it."""

    def __init__(self, values):
        self.values = values

    def get(self, name, shape=None, initializer=None, trainable=True):
        if name not in self.values:
            with tf.init_scope():
                self.values[name] = tf.Variable(initializer(shape, tf.float32), trainable=trainable)
        return tf.convert_to_tensor(self.values[name])


class Trainer:
    """Variables, by their names in the old checkpoints, and the training step under `tf.distribute`."""

    def __init__(self, strategy, checkpoint=None):
        self.strategy, self.variables = strategy, {}
        with strategy.scope():
            spec = {n: tf.TensorSpec((GLOBAL_BATCH // TOWERS, *shape), dtype) for n, (shape, dtype) in INPUTS.items()}
            tf.function(tower_loss).get_concrete_function(Scope(self.variables), spec)
            self.weights = [name for name, variable in self.variables.items() if variable.trainable]
            for name in self.weights:
                self.variables[name + "/ExponentialMovingAverage"] = tf.Variable(self.variables[name], trainable=False)
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
        rate = tf.compat.v1.train.exponential_decay(0.1, step, 6, 0.5, staircase=True)
        loss = tower_loss(Scope(values), batch)
        gradients = tf.gradients(loss, [values[name] for name in self.weights], unconnected_gradients="zero")
        gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        for name, gradient in zip(self.weights, gradients):  # with the kernel of 1.x's optimizer
            tf.raw_ops.ResourceApplyGradientDescent(var=local[name].handle, alpha=rate, delta=gradient)
        count = tf.cast(step, tf.float32)
        decay = tf.minimum(tf.constant(0.99), (1.0 + count) / (10.0 + count))
        for name in self.weights:
            average = local[name + "/ExponentialMovingAverage"]
            average.assign_sub((average - local[name]) * (1.0 - decay))
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
