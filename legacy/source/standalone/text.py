"""Text of the parts that every standalone program has: trainer and `main`."""

from __future__ import annotations

#: The class that trains; `trainer_text` fills it in.
_TRAINER = '''class Trainer:
    """Variables, by their names in the old checkpoints, and the training step under `tf.distribute`."""

    def __init__(self, strategy, checkpoint=None):
        self.strategy, self.variables = strategy, {{}}
        with strategy.scope():
            spec = {{n: tf.TensorSpec((GLOBAL_BATCH // TOWERS, *shape), dtype) for n, (shape, dtype) in INPUTS.items()}}
{make}        for name, variable in self.variables.items() if checkpoint else ():
{restore}

    def replica_step(self, {given}batch):
        """Runs {what} on a replica's share of the batch; returns its loss."""
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = {{n: self.strategy.experimental_local_results(v)[replica] for n, v in self.variables.items()}}
        values = {{name: variable.read_value() for name, variable in local.items()}}
{update}        return loss

    @tf.function
    def {run}(self, {given}batch):
        """Runs {what} on a distributed batch; returns each replica's loss."""
        return self.strategy.experimental_local_results(self.strategy.run(self.replica_step, ({given}batch{comma})))
{in_turn}
    def save(self, path):
        """Writes a checkpoint with the old names."""
        saved = {{n: self.strategy.experimental_local_results(v)[{owner}] for n, v in self.variables.items()}}
        tf.compat.v1.train.Saver(saved).save(None, path, write_meta_graph=False)
'''
#: Takes a variable's value from a checkpoint.
_RESTORE = "            variable.assign(tf.cast(tf.train.load_variable(checkpoint, name), variable.dtype))"
#: The same, of variables that a checkpoint of the old program may lack: {whether the old program counted its steps, and
#: whether replicas have states of their own, which its Saver may have left out: condition}.
_UNSAVED = {
    (False, False): "name != STEP",
    (True, True): "name not in OWNERS",
    (False, True): "name not in (STEP, *OWNERS)",
}
#: The step of a program of several train ops.
_IN_TURN = '''
    def step(self, batch, number=0):
        """Runs step `number`; train ops take turns."""
        return self.run(TRAIN_OPS[number % len(TRAIN_OPS)], batch)
'''


def trainer_text(make: str, update: str, counted: bool, in_turn: bool = False, owner: str = "0") -> str:
    """Returns the text of the class that trains.

    Args:
      make: lines that make the variables.
      update: lines of a replica's step, which compute `loss`.
      counted: whether the old program counted its steps.
      in_turn: whether the program has several train ops that take turns.
      owner: text of the number of the replica whose value of the variable `n` is saved.

    Returns:
      The text.
    """
    return _TRAINER.format(
        make=make,
        restore=_restore_text(counted, "OWNERS" in owner),
        update=update,
        given="train_op, " if in_turn else "",
        what="a train op" if in_turn else "one step",
        run="run" if in_turn else "step",
        comma="" if in_turn else ",",
        in_turn=_IN_TURN if in_turn else "",
        owner=owner,
    )


def _restore_text(counted: bool, has_states: bool) -> str:
    if (counted, has_states) not in _UNSAVED:
        return _RESTORE
    condition = _UNSAVED[counted, has_states]
    return f"            if {condition} or tf.train.load_checkpoint(checkpoint).has_tensor(name):\n    {_RESTORE}"


MAIN = """def main():
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
"""

#: Adds parts of gradients in order, also inside of loops, which know nothing of the arguments of `tf.gradients`.
_IN_ORDER = """\
tf.AggregationMethod.DEFAULT = tf.AggregationMethod.EXPERIMENTAL_TREE  # parts of a gradient are added in their order
"""


def in_order(text: str) -> str:
    """Returns a standalone program that adds the parts of each gradient in their order; other sources as they are.

    TensorFlow adds three or more parts in an order that depends on which of them nothing else needs.
    """
    first, sizes, rest = text.partition("GLOBAL_BATCH, TOWERS = ")
    return first + _IN_ORDER + sizes + rest if sizes else text
