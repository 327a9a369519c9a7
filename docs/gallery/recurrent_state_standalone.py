"""m_carried_state: the training step of an old graph, decompiled to TensorFlow 2.

From graph.meta, written by TensorFlow 1.15.5; 2 towers, recognised by device /gpu:k.
The update is written as the old graph computes it, since no named optimizer describes it:
  * updates: 'state_0/c' (state of one tower) is changed outside of the optimizer
  * model: towers read variables of their own; a workload's replicas share all
For 2 replicas only: each tower has a state of its own.
Loss, gradients and statistics of each tower have the old graph's bits on made-up numbers.
"""

import argparse
import itertools

import numpy as np
import tensorflow as tf

ZEROS = tf.compat.v1.zeros_initializer()
GLOROT = tf.compat.v1.glorot_uniform_initializer()
tf.AggregationMethod.DEFAULT = tf.AggregationMethod.EXPERIMENTAL_TREE  # parts of a gradient are added in their order
GLOBAL_BATCH, TOWERS = 8, 2  # examples of all replicas together; replicas
INPUTS = {"text": ((4,), tf.int32)}  # shape and dtype of one example
WEIGHTS = [
    "lstm/table",
    "lstm/basic_lstm_cell/kernel",
    "lstm/basic_lstm_cell/bias",
    "lstm/softmax/kernel",
    "lstm/softmax/bias",
]
OTHERS = {"step": ((), 0, tf.int64)}  # shape, first value and dtype of the update's variables
SLOTS = [(WEIGHTS, {"Adagrad": 1.0})]
STEP = "step"
OWNERS = {"state_0/c": 0, "state_0/h": 0, "state_1/c": 1, "state_1/h": 1}  # replicas whose own states these are


def lstm_cell(x, c, h, kernel, bias, forget_bias):
    """Runs an LSTM cell of 1.x on [batch, features]; returns its next state (c, h)."""
    gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], axis=1), kernel), bias)
    i, j, f, o = tf.split(gates, 4, axis=1)
    c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


def tower_loss(scope, batch):
    """Returns the loss of one tower."""
    text = batch["text"]
    table = scope.get("lstm/table", (11, 4))
    x = tf.nn.embedding_lookup(table, text[:, 0])
    kernel = scope.get("lstm/basic_lstm_cell/kernel", (9, 20))
    bias = scope.get("lstm/basic_lstm_cell/bias", (20,), ZEROS)
    c, h = lstm_cell(
        x,
        scope.get(("state_0/c", "state_1/c")[scope.replica % 2], (4, 5), ZEROS, trainable=False),
        scope.get(("state_0/h", "state_1/h")[scope.replica % 2], (4, 5), ZEROS, trainable=False),
        kernel,
        bias,
        1.0,
    )
    c, h2 = lstm_cell(tf.nn.embedding_lookup(table, text[:, 1]), c, h, kernel, bias, 1.0)
    c, h3 = lstm_cell(tf.nn.embedding_lookup(table, text[:, 2]), c, h2, kernel, bias, 1.0)
    scope.update(("state_0/c", "state_1/c")[scope.replica % 2], c)
    scope.update(("state_0/h", "state_1/h")[scope.replica % 2], h3)
    x = tf.tensordot(tf.stack([h, h2, h3], axis=1), scope.get("lstm/softmax/kernel", (5, 11)), 1)
    logits = tf.nn.bias_add(x, scope.get("lstm/softmax/bias", (11,), ZEROS))
    loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=text[:, 1:], logits=logits))
    return loss / 4.0


def train_step(scope, batch, variables, context):
    """Runs a replica's part of group_deps; returns its loss."""
    values = scope.values
    loss = tower_loss(scope, batch)
    gradients = tf.gradients(loss, [values[name] for name in WEIGHTS], unconnected_gradients="zero")
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    gradients = context.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    gradients = dict(zip(WEIGHTS, gradients))
    for name, value in scope.updates.items():  # each replica has a state of its own
        variables[name].assign(value)
    for name in WEIGHTS:
        tf.raw_ops.ResourceApplyAdagrad(
            var=variables[name].handle, accum=variables[name + "/Adagrad"].handle, lr=0.2, grad=gradients[name]
        )
    return loss


TRAIN_OPS = [train_step]


class Scope:
    """A replica as its model sees it: `get` gives a variable's value; a first pass, traced alone, makes it."""

    def __init__(self, values, replica=0):
        self.values, self.replica, self.updates = values, replica, {}

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
            for name, (shape, start, dtype) in OTHERS.items():
                self.variables[name] = tf.Variable(tf.fill(shape, tf.constant(start, dtype)), trainable=False)
            for replica in range(TOWERS):
                tf.function(tower_loss).get_concrete_function(Scope(self.variables, replica=replica), spec)
            for weights, slots in SLOTS:
                for name, (slot, start) in itertools.product(weights, slots.items()):
                    weight = self.variables[name]
                    value = tf.identity(weight) if start is None else tf.fill(weight.shape, start)
                    self.variables[f"{name}/{slot}"] = tf.Variable(value, trainable=False)
        for name, variable in self.variables.items() if checkpoint else ():
            if name not in (STEP, *OWNERS) or tf.train.load_checkpoint(checkpoint).has_tensor(name):
                variable.assign(tf.cast(tf.train.load_variable(checkpoint, name), variable.dtype))

    def replica_step(self, train_op, batch):
        """Runs a train op on a replica's share of the batch; returns its loss."""
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = {n: self.strategy.experimental_local_results(v)[replica] for n, v in self.variables.items()}
        values = {name: variable.read_value() for name, variable in local.items()}
        loss = train_op(Scope(values, replica=replica), batch, local, context)
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
        saved = {n: self.strategy.experimental_local_results(v)[OWNERS.get(n, 0)] for n, v in self.variables.items()}
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
