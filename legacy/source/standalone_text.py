"""Text of the parts that every standalone program has: scope, trainer, data and `main`."""

from __future__ import annotations

#: {way of clipping: the line that clips a list of gradients}.
CLIPS = {
    "global_norm": "\n        gradients, _ = tf.clip_by_global_norm(gradients, {limit})",
    "norm": "\n        gradients = [tf.clip_by_norm(gradient, {limit}) for gradient in gradients]",
    "value": "\n        gradients = [tf.clip_by_value(gradient, -{limit}, {limit}) for gradient in gradients]",
}

SCOPE = '''class Scope:
    """What the model sees of its replica: variables by name, random numbers, and where statistics' new values go."""

    def __init__(self, values, step=0, replica=0, make=None):
        self.values, self.step, self.replica, self.make, self.updates = values, step, replica, make, {}

    def get(self, name, shape, initializer=None, trainable=True):
        if name not in self.values:
            self.values[name] = self.make(name, shape, initializer, trainable)
        return self.values[name]

    def update(self, name, value):
        self.updates[name] = value

'''

#: {function of a scope that draws random numbers: its text}.
NOISE = {
    name: f"""
    def {name}(self, name, shape):
        return tf.random.stateless_{name}(shape, self.seed(name))
"""
    for name in ("uniform", "normal", "truncated_normal")
}
SEED = '''
    def seed(self, name):
        return tf.stack([self.key(name), tf.cast(self.step, tf.int32)])

    def key(self, name):
        """Returns a number of its own for each random stream of each replica, the same in every run."""
        return sum(ord(letter) * 31**place for place, letter in enumerate(name)) % (1 << 30) + self.replica
'''

TRAINER = '''class Trainer:
    """The training step under `tf.distribute.MirroredStrategy`; variables have the names of the old checkpoints."""

    def __init__(self, strategy):
        self.strategy, self.variables, self.weights = strategy, {{}}, []
        with strategy.scope():
            rows = GLOBAL_BATCH // TOWERS
            example = {{name: tf.zeros((rows, *shape), dtype) for name, (shape, dtype, _) in INPUTS.items()}}
            tower_loss(Scope({{}}, make=self._make), example)
{make_slots}{make_accumulators}{make_averages}            self._add(STEP, tf.constant(0, tf.int64))

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
        local = {{name: copies(variable)[replica] for name, variable in self.variables.items()}}
        step = local[STEP].read_value()
        rate = learning_rate(step)
        values = {{name: variable.read_value() for name, variable in local.items()}}
        scope = Scope(values, step, replica)
        loss = tower_loss(scope, batch)
        weights = [values[name] for name in self.weights]
        gradients = tf.gradients(loss, weights, unconnected_gradients="zero")
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]{clip_tower}
        gradients = context.all_reduce(tf.distribute.ReduceOp.{reduce}, gradients){clip_combined}
        for name, gradient in zip(self.weights, gradients):  # with the kernel of 1.x's optimizer
            {take}
            {update}{accumulate}{update_statistics}{average}
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
        first = {{n: self.strategy.experimental_local_results(v)[0] for n, v in self.variables.items()}}
        tf.compat.v1.train.Saver(first).save(None, path, write_meta_graph=False)
'''

MAIN = '''def dataset(path, batch):
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
'''
