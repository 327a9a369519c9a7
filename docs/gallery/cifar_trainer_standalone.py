"""c_queue_ema: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, told apart by device /gpu:k.
Recognised: GradientDescent, mean of the towers' gradients, no clipping.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * global_step: ExponentialMovingAverage/num_updates may use it before or after GradientDescent; taken before
  * conv1/weights: ExponentialMovingAverage/AssignMovingAvg/sub_1 may use it before or after
    GradientDescent/update_conv1/weights/ApplyGradientDescent; taken after
  * conv1/biases: ExponentialMovingAverage/AssignMovingAvg_1/sub_1 may use it before or after
    GradientDescent/update_conv1/biases/ApplyGradientDescent; taken after
  * local/weights: ExponentialMovingAverage/AssignMovingAvg_2/sub_1 may use it before or after
    GradientDescent/update_local/weights/ApplyGradientDescent; taken after
  * the schedule counts updates (global_step), each of 2 x 8 examples, and no constant of it is 2: if its steps were
    planned for one tower's batch, it decays 2 times too late
"""

import argparse

import numpy as np
import tensorflow as tf

truncated_normal = tf.compat.v1.truncated_normal_initializer
GLOBAL_BATCH = 16  # of all replicas together, unless --batch says otherwise
TOWERS = 2  # replicas, unless --replicas says otherwise
INPUTS = {
    "images": ((8, 8, 2), tf.float32, 1),
    "labels": ((), tf.int32, 5),
}
STEP = "global_step"


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    weights = scope.get("local/weights", (64, 5), truncated_normal(stddev=0.1))
    x = tf.nn.conv2d(
        batch["images"],
        scope.get("conv1/weights", (3, 3, 2, 4), truncated_normal(stddev=0.2)),
        strides=1,
        padding="SAME",
    )
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("conv1/biases", (4,), truncated_normal(stddev=0.1))))
    x = tf.nn.max_pool2d(x, 2, 2, "SAME")
    x = tf.nn.local_response_normalization(x, 4, bias=1.0, alpha=0.00011111111, beta=0.75)
    x = tf.reshape(x, [-1, 64])
    logits = tf.matmul(x, weights)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits))
    return tf.add_n([tf.nn.l2_loss(weights) * 0.04, loss])


def learning_rate(step):
    """Returns the learning rate of a step, which is an int64 scalar."""
    return tf.compat.v1.train.exponential_decay(0.1, step, 6, 0.5, staircase=True)


class Scope:
    """What the model sees of its replica: variables by name, random numbers, and where statistics' new values go."""

    def __init__(self, values, step=0, replica=0, make=None):
        self.values, self.step, self.replica, self.make, self.updates = values, step, replica, make, {}

    def get(self, name, shape, initializer=None, trainable=True):
        if name not in self.values:
            self.values[name] = self.make(name, shape, initializer, trainable)
        return self.values[name]

    def update(self, name, value):
        self.updates[name] = value


class Trainer:
    """The training step under `tf.distribute.MirroredStrategy`; variables have the names of the old checkpoints."""

    def __init__(self, strategy):
        self.strategy, self.variables, self.weights = strategy, {}, []
        with strategy.scope():
            rows = GLOBAL_BATCH // TOWERS
            example = {name: tf.zeros((rows, *shape), dtype) for name, (shape, dtype, _) in INPUTS.items()}
            tower_loss(Scope({}, make=self._make), example)
            for name in self.weights:
                self._add(name + "/ExponentialMovingAverage", self.variables[name].read_value())
            self._add(STEP, tf.constant(0, tf.int64))

    def _add(self, name, value):
        self.variables[name] = tf.Variable(value, name=name.replace(":", "_"))
        return value

    def _make(self, name, shape, initializer, trainable):
        self.weights += [name] if trainable else []
        return self._add(name, (initializer or tf.compat.v1.glorot_uniform_initializer())(shape, tf.float32))

    def replica_step(self, batch):
        """Runs one step on a replica's share of the batch; returns its loss."""
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        copies = self.strategy.experimental_local_results
        local = {name: copies(variable)[replica] for name, variable in self.variables.items()}
        step = local[STEP].read_value()
        rate = learning_rate(step)
        values = {name: variable.read_value() for name, variable in local.items()}
        scope = Scope(values, step, replica)
        loss = tower_loss(scope, batch)
        weights = [values[name] for name in self.weights]
        gradients = tf.gradients(loss, weights, unconnected_gradients="zero")
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        for name, gradient in zip(self.weights, gradients):  # with the kernel of 1.x's optimizer
            weight = local[name]
            tf.raw_ops.ResourceApplyGradientDescent(var=weight.handle, alpha=rate, delta=gradient)
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

    def restore(self, path):
        """Takes the values of a checkpoint of the old program, or of this one."""
        reader = tf.train.load_checkpoint(path)
        for name, variable in self.variables.items():
            if name != STEP or reader.has_tensor(STEP):
                variable.assign(tf.cast(reader.get_tensor(name), variable.dtype))

    def save(self, path):
        """Writes a checkpoint with the old names."""
        first = {n: self.strategy.experimental_local_results(v)[0] for n, v in self.variables.items()}
        tf.compat.v1.train.Saver(first).save(None, path, write_meta_graph=False)


def dataset(path, batch):
    """Returns a `tf.data.Dataset` of global batches, {input: tensor}: from an .npz file, or made up. Put yours here."""
    if path:
        arrays = dict(np.load(path))
    else:
        rng, arrays = np.random.RandomState(0), {}
        for name, (shape, dtype, below) in INPUTS.items():
            drawn = rng.random_sample((8 * batch, *shape)) * below
            arrays[name] = drawn.astype(dtype.as_numpy_dtype)
    return tf.data.Dataset.from_tensor_slices(arrays).repeat().batch(batch, drop_remainder=True)


def devices(replicas):
    """Returns a device for each replica: GPUs where there are enough, else parts of the CPU."""
    if len(tf.config.list_physical_devices("GPU")) >= replicas:
        return [f"GPU:{number}" for number in range(replicas)]
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
    return [f"CPU:{number}" for number in range(replicas)]


def main():
    parser = argparse.ArgumentParser(description="Trains the model.")
    parser.add_argument("--data", help=".npz file with an array for each of: " + ", ".join(INPUTS))
    parser.add_argument("--checkpoint", help="checkpoint of the old program, or of this one, to start from")
    parser.add_argument("--save", help="checkpoint to write at the end")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--replicas", type=int, default=TOWERS)
    parser.add_argument("--batch", type=int, default=GLOBAL_BATCH)
    flags = parser.parse_args()
    strategy = tf.distribute.MirroredStrategy(devices(flags.replicas))
    trainer = Trainer(strategy)
    if flags.checkpoint:
        trainer.restore(flags.checkpoint)
    batches = iter(strategy.experimental_distribute_dataset(dataset(flags.data, flags.batch)))
    for step in range(flags.steps):
        losses = trainer.step(next(batches))
        if step % 10 == 0 or step == flags.steps - 1:
            print(f"step {step}: loss {np.mean([loss.numpy() for loss in losses]):.6f}")
    if flags.save:
        trainer.save(flags.save)


if __name__ == "__main__":
    main()
