"""Text of the parts that every standalone program has: scope, trainer and `main`."""

from __future__ import annotations

import re

from workloads.frame import NOISE_OPS
from workloads.numerics.random_keys import KEY_STRIDE

SCOPE = '''class Scope:
    """A replica as its model sees it: `get` gives a variable's value; the first pass makes the variables."""

    def __init__(self, values, step=0, replica=0):
        self.values, self.step, self.replica = values, step, replica

    def get(self, name, shape, initializer, trainable=True):
        if name not in self.values:
            self.values[name] = tf.Variable(initializer(shape, tf.float32), trainable=trainable)
        return self.values[name]
'''
#: The same for a model that leaves initializers out, as a default of `get`.
DEFAULT_INITIALIZER = ("shape, initializer,", "shape, initializer=GLOROT,")
#: (text, text in its place) of `get`, for a model that asks for a variable again.
ASKED_BY_NAME = (
    ("name, shape, initializer,", "name, shape=None, initializer=None,"),
    ("name, shape, ", "name, shape=None, "),
)
#: The same, of a model with statistics.
SCOPE_WITH_UPDATES = (
    SCOPE.replace("self.replica = values, step, replica", "self.replica, self.updates = values, step, replica, {}")
    + """
    def update(self, name, value):
        self.updates[name] = value
"""
)

#: The same, of a model that changes a statistic more than once.
SCOPE_WITH_LATER_UPDATES = SCOPE_WITH_UPDATES.replace(
    "self.updates = values, step, replica, {}",
    "self.updates = values, step, replica, {}\n        self.later_updates = []  # of what is updated again",
).replace(
    "        self.updates[name] = value\n",
    """\
        if name in self.updates:
            self.later_updates.append((name, value))
        else:
            self.updates[name] = value
""",
)
#: What a model asks for that has a term on the last replica only.
REPLICAS = """
    @property
    def replicas(self):
        return tf.distribute.get_strategy().num_replicas_in_sync
"""
#: What a train op asks for that runs the loss of another replica, with its random numbers.
OF_REPLICA = """
    def of(self, replica):
        return Scope(self.values, self.step, replica)
"""
#: {function of a scope that draws random numbers: its text}.
NOISE = {
    name: f"""
    def {name}(self, name, shape):
        return tf.random.stateless_{name}(shape, self.seed(name))
"""
    for name in NOISE_OPS
}
SEED = '''
    def seed(self, name):
        return tf.stack([self.key(name), tf.cast(self.step, tf.int32)])

    def key(self, name):
        """Returns a number of its own for each random stream of each replica, the same in every run."""
        return sum(ord(letter) * 31**place for place, letter in enumerate(name)) % (1 << 30) + self.replica
'''
#: (text, text in its place) of `NOISE` and `SEED`, where loops draw random numbers anew in each iteration.
OF_TURNS = (
    ("(self, name, shape)", "(self, name, shape, turn=0)"),
    ("self.seed(name)", "self.seed(name, turn)"),
    ("def seed(self, name)", "def seed(self, name, turn)"),
    ("tf.cast(self.step, tf.int32)])", f"tf.cast(self.step, tf.int32)]) + {KEY_STRIDE} * turn"),
)

#: The class that trains; `trainer_text` fills it in.
_TRAINER = '''class Trainer:
    """Variables, by their names in the old checkpoints, and the training step under `tf.distribute`."""

    def __init__(self, strategy, checkpoint=None):
        self.strategy, self.variables = strategy, {{}}
        with strategy.scope():
            example = {{n: tf.ones((GLOBAL_BATCH // TOWERS, *shape), dtype) for n, (shape, dtype) in INPUTS.items()}}
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


#: The first pass of a model, which makes the variables.
_FIRST_PASS = re.compile(r"^( +)(\w+)\((Scope\(self\.variables.*), example\)$", re.MULTILINE)
_MAKES = "            self.values[name] = tf.Variable("


def with_first_pass_in_graph(text: str, model: str) -> str:
    """Returns a standalone program whose first pass is traced where its model needs a graph, as `tf.gradients` does.

    Args:
      text: of the program.
      model: text of its model.

    Returns:
      The text.
    """
    if "tf.gradients(" not in model:
        return text
    text = _FIRST_PASS.sub(r"\1tf.function(\2).get_concrete_function(\3, example)  # runs nothing", text)
    text = text.replace(_MAKES, f"            with tf.init_scope():\n    {_MAKES}")
    return text.replace(
        "        return self.values[name]\n", "        return tf.convert_to_tensor(self.values[name])\n"
    )
