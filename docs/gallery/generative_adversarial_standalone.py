"""l_gan: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * train ops: d_train, g_train run in turn; a workload has one loss and one update
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.

In the old program:
  * reads of discriminator/d2/kernel, discriminator/d2/bias have no order with the update; here they come before it
  * d_train: 4 weights are clipped by value, at -0.5 and 0.5 besides their update: discriminator/d1/kernel,
    discriminator/d1/bias, discriminator/d2/kernel, discriminator/d2/bias
"""

import argparse
import itertools

import numpy as np
import tensorflow as tf

ZEROS = tf.compat.v1.zeros_initializer()
GLOROT = tf.compat.v1.glorot_uniform_initializer()
GLOBAL_BATCH, TOWERS = 16, 2  # examples of all replicas together; replicas, unless --replicas says otherwise
INPUTS = {"real": ((2,), tf.float32)}  # shape and dtype of one example
D_TRAIN_WEIGHTS = [
    "discriminator/d1/kernel",
    "discriminator/d1/bias",
    "discriminator/d2/kernel",
    "discriminator/d2/bias",
]
G_TRAIN_WEIGHTS = ["generator/g1/kernel", "generator/g1/bias", "generator/g2/kernel", "generator/g2/bias"]
OTHERS = {  # shape, first value and dtype of the update's variables
    "beta1_power": ((), 0.5, tf.float32),
    "beta2_power": ((), 0.999, tf.float32),
    "step": ((), 0, tf.int64),
}
SLOTS = [(D_TRAIN_WEIGHTS, {"RMSProp": 1.0, "RMSProp_1": 0.0}), (G_TRAIN_WEIGHTS, {"Adam": 0.0, "Adam_1": 0.0})]
STEP = "step"


def generator(scope, batch_size):
    """Returns the output of network `generator`: a dense layer, a rectifier."""
    x = scope.normal("tower_0", [batch_size, 3])
    x = tf.matmul(x, scope.get("generator/g1/kernel", (3, 8)))
    x = tf.nn.relu(tf.nn.bias_add(x, scope.get("generator/g1/bias", (8,), ZEROS)))
    x = tf.matmul(x, scope.get("generator/g2/kernel", (8, 2)))
    return tf.nn.bias_add(x, scope.get("generator/g2/bias", (2,), ZEROS))


def discriminator(scope, x):
    """Returns the output of network `discriminator`: a dense layer."""
    x = tf.matmul(x, scope.get("discriminator/d1/kernel", (2, 8)))
    x = tf.nn.leaky_relu(tf.nn.bias_add(x, scope.get("discriminator/d1/bias", (8,), ZEROS)), alpha=0.2)
    x = tf.matmul(x, scope.get("discriminator/d2/kernel", (8, 1)))
    return tf.nn.bias_add(x, scope.get("discriminator/d2/bias", (1,), ZEROS))


def d_train_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["real"].shape[0])
    mean = tf.reduce_mean(discriminator(scope, batch["real"]))
    return tf.reduce_mean(discriminator(scope, generator(scope, batch_size))) - mean


def g_train_loss(scope, batch):
    """Returns the loss of one tower."""
    batch_size = int(batch["real"].shape[0])
    return -tf.reduce_mean(discriminator(scope, generator(scope, batch_size)))


def d_train(scope, batch, variables, context):
    """Runs a replica's part of d_train; returns its loss."""
    values = scope.values
    loss = d_train_loss(scope, batch)
    gradients = tf.gradients(loss, [values[name] for name in D_TRAIN_WEIGHTS], unconnected_gradients="zero")
    gradients = [tf.clip_by_value(gradient, -0.1, 0.1) for gradient in gradients]
    gradients = dict(zip(D_TRAIN_WEIGHTS, context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)))
    for name in D_TRAIN_WEIGHTS:
        tf.raw_ops.ResourceApplyRMSProp(
            var=variables[name].handle,
            ms=variables[name + "/RMSProp"].handle,
            mom=variables[name + "/RMSProp_1"].handle,
            lr=0.005,
            rho=0.9,
            momentum=0.0,
            epsilon=1e-10,
            grad=gradients[name],
        )
    for name in D_TRAIN_WEIGHTS:
        variables[name].assign(tf.clip_by_value(variables[name].read_value(), -0.5, 0.5))
    return loss


def g_train(scope, batch, variables, context):
    """Runs a replica's part of g_train; returns its loss."""
    values = scope.values
    loss = g_train_loss(scope, batch)
    gradients = tf.gradients(loss, [values[name] for name in G_TRAIN_WEIGHTS], unconnected_gradients="zero")
    gradients = dict(zip(G_TRAIN_WEIGHTS, context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)))
    for name in G_TRAIN_WEIGHTS:
        tf.raw_ops.ResourceApplyAdam(
            var=variables[name].handle,
            m=variables[name + "/Adam"].handle,
            v=variables[name + "/Adam_1"].handle,
            beta1_power=values["beta1_power"],
            beta2_power=values["beta2_power"],
            lr=0.01,
            beta1=0.5,
            beta2=0.999,
            epsilon=1e-8,
            grad=gradients[name],
        )
    variables["beta1_power"].assign(values["beta1_power"] * 0.5)
    variables["beta2_power"].assign(values["beta2_power"] * 0.999)
    return loss


TRAIN_OPS = [d_train, g_train]


class Scope:
    """A replica as its model sees it: `get` gives a variable's value; a first pass, traced alone, makes it."""

    def __init__(self, values, step=0, replica=0):
        self.values, self.step, self.replica = values, step, replica

    def get(self, name, shape, initializer=GLOROT, trainable=True):
        if name not in self.values:
            with tf.init_scope():
                self.values[name] = tf.Variable(initializer(shape, tf.float32), trainable=trainable)
        return tf.convert_to_tensor(self.values[name])

    def normal(self, name, shape):
        return tf.random.stateless_normal(shape, self.seed(name))

    def seed(self, name):
        return tf.stack([self.key(name), tf.cast(self.step, tf.int32)])

    def key(self, name):
        """Returns a number of its own for each random stream of each replica, the same in every run."""
        return sum(ord(letter) * 31**place for place, letter in enumerate(name)) % (1 << 30) + self.replica


class Trainer:
    """Variables, by their names in the old checkpoints, and the training step under `tf.distribute`."""

    def __init__(self, strategy, checkpoint=None):
        self.strategy, self.variables = strategy, {}
        with strategy.scope():
            spec = {n: tf.TensorSpec((GLOBAL_BATCH // TOWERS, *shape), dtype) for n, (shape, dtype) in INPUTS.items()}
            for name, (shape, start, dtype) in OTHERS.items():
                self.variables[name] = tf.Variable(tf.fill(shape, tf.constant(start, dtype)), trainable=False)
            tf.function(d_train_loss).get_concrete_function(Scope(self.variables), spec)
            tf.function(g_train_loss).get_concrete_function(Scope(self.variables), spec)
            for weights, slots in SLOTS:
                for name, (slot, start) in itertools.product(weights, slots.items()):
                    weight = self.variables[name]
                    value = tf.identity(weight) if start is None else tf.fill(weight.shape, start)
                    self.variables[f"{name}/{slot}"] = tf.Variable(value, trainable=False)
        for name, variable in self.variables.items() if checkpoint else ():
            if name != STEP or tf.train.load_checkpoint(checkpoint).has_tensor(name):
                variable.assign(tf.cast(tf.train.load_variable(checkpoint, name), variable.dtype))

    def replica_step(self, train_op, batch):
        """Runs a train op on a replica's share of the batch; returns its loss."""
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = {n: self.strategy.experimental_local_results(v)[replica] for n, v in self.variables.items()}
        values = {name: variable.read_value() for name, variable in local.items()}
        loss = train_op(Scope(values, values[STEP], replica), batch, local, context)
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
        print(f"step {step}: loss {np.mean(trainer.step(batch, step)):.6f}")
    trainer.save(flags.save)


if __name__ == "__main__":
    main()
