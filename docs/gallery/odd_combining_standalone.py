"""i_odd_combine: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 3 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * combining: gradients of 'm/dense_1/bias': kept as written, in Select_3:0 (Select)
For 3 replicas only: the update uses the results of each tower.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * combining not recognised, kept as written: m/dense_1/bias, m/dense_1/kernel, m/dense/bias, m/dense/kernel
"""

import argparse

import numpy as np
import tensorflow as tf

ZEROS = tf.compat.v1.zeros_initializer()
GLOROT = tf.compat.v1.glorot_uniform_initializer()
GLOBAL_BATCH, TOWERS = 24, 3  # examples of all replicas, any number fits; replicas
INPUTS = {  # shape and dtype of one example
    "replica0/m/Placeholder": ((4,), tf.float32),
    "replica0/m/Placeholder_1": ((1,), tf.float32),
}
WEIGHTS = ["m/dense/kernel", "m/dense/bias", "m/dense_1/kernel", "m/dense_1/bias"]
OTHERS = {"step": ((), 0, tf.int64)}  # shape, first value and dtype of the update's variables
STEP = "step"


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    x = tf.matmul(batch["replica0/m/Placeholder"], scope.get("m/dense/kernel", (4, 6)))
    x = tf.nn.softplus(tf.nn.bias_add(x, scope.get("m/dense/bias", (6,), ZEROS)))
    x = tf.matmul(x, scope.get("m/dense_1/kernel", (6, 1)))
    x = tf.abs(tf.nn.bias_add(x, scope.get("m/dense_1/bias", (1,), ZEROS)) - batch["replica0/m/Placeholder_1"])
    return tf.reduce_mean(x)


def train_step(scope, batch, variables, context):
    """Runs a replica's part of GradientDescent; returns its loss."""
    values = scope.values
    loss = tower_loss(scope, batch)
    gradients = tf.gradients(loss, [values[name] for name in WEIGHTS], unconnected_gradients="zero")
    gradients = {n: gather(context, gradient) for n, gradient in zip(WEIGHTS, gradients)}
    losses = gather(context, loss)
    softmax = tf.nn.softmax(-tf.stack(losses))
    for name in WEIGHTS:
        x = tf.stack(gradients[name])
        y = tf.reduce_sum(x, axis=0) - tf.reduce_min(x, axis=0) - tf.reduce_max(x, axis=0)
        x = tf.tensordot(softmax, x, 1)
        gradient = tf.where(tf.abs(y) < tf.abs(x), y, x)
        tf.raw_ops.ResourceApplyGradientDescent(var=variables[name].handle, alpha=0.05, delta=gradient)
    return loss


def gather(context, value):
    """Returns the values of all replicas, in their order."""
    return context.merge_call(lambda strategy, values: list(strategy.experimental_local_results(values)), (value,))


TRAIN_OPS = [train_step]


class Scope:
    """A replica as its model sees it: `get` gives a variable's value; a first pass, traced alone, makes it."""

    def __init__(self, values):
        self.values = values

    def get(self, name, shape, initializer=GLOROT, trainable=True):
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
            for name, (shape, start, dtype) in OTHERS.items():
                self.variables[name] = tf.Variable(tf.fill(shape, tf.constant(start, dtype)), trainable=False)
            tf.function(tower_loss).get_concrete_function(Scope(self.variables), spec)
        for name, variable in self.variables.items() if checkpoint else ():
            if name != STEP or tf.train.load_checkpoint(checkpoint).has_tensor(name):
                variable.assign(tf.cast(tf.train.load_variable(checkpoint, name), variable.dtype))

    def replica_step(self, train_op, batch):
        """Runs a train op on a replica's share of the batch; returns its loss."""
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = {n: self.strategy.experimental_local_results(v)[replica] for n, v in self.variables.items()}
        values = {name: variable.read_value() for name, variable in local.items()}
        loss = train_op(Scope(values), batch, local, context)
        local[STEP].assign_add(1)
        return loss

    @tf.function
    def run(self, train_op, batch):
        """Runs a train op on a distributed batch; returns each replica's loss."""
        return self.strategy.experimental_local_results(self.strategy.run(self.replica_step, (train_op, batch)))

    def step(self, batch, number=0):
        """Runs step `number`; train ops take turns."""
        return self.run(TRAIN_OPS[number % len(TRAIN_OPS)], batch)

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
    flags = parser.parse_args()
    kind = "GPU" if len(tf.config.list_physical_devices("GPU")) >= TOWERS else "CPU"
    if kind == "CPU":  # of which each replica has a part
        cpu, part = tf.config.list_physical_devices("CPU")[0], tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [part] * TOWERS)
    strategy = tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(TOWERS)])
    trainer = Trainer(strategy, flags.checkpoint)
    data = {n: np.load(flags.data)[n].astype(dtype.as_numpy_dtype) for n, (_, dtype) in INPUTS.items()}
    dataset = tf.data.Dataset.from_tensor_slices(data).repeat().batch(GLOBAL_BATCH, drop_remainder=True)  # or your own
    for step, batch in zip(range(flags.steps), strategy.experimental_distribute_dataset(dataset)):
        print(f"step {step}: loss {np.mean(trainer.step(batch, step)):.6f}")
    trainer.save(flags.save)


if __name__ == "__main__":
    main()
