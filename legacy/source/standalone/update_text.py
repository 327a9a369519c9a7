"""Text of the parts of a standalone program whose update is written as the old graph computes it."""

from __future__ import annotations

TRAINER = '''class Trainer:
    """Variables, by their names in the old checkpoints, and the training step under `tf.distribute`."""

    def __init__(self, strategy, checkpoint=None):
        self.strategy, self.variables = strategy, {{}}
        with strategy.scope():
            example = {{n: tf.zeros((GLOBAL_BATCH // TOWERS, *shape), dtype) for n, (shape, dtype) in INPUTS.items()}}
            for name, (shape, start, dtype) in OTHERS.items():
                self.variables[name] = tf.Variable(tf.fill(shape, tf.constant(start, dtype)), trainable=False)
{losses}{make_slots}        for name, variable in self.variables.items() if checkpoint else ():
{restore}

    def replica_step(self, train_op, batch):
        """Runs a train op on a replica's share of the batch; returns its loss."""
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        variables = {{n: self.strategy.experimental_local_results(v)[replica] for n, v in self.variables.items()}}
        values = {{name: variable.read_value() for name, variable in variables.items()}}
        loss = train_op(Scope(values, values[STEP], replica), batch, variables, context)
{count}        return loss

    @tf.function
    def run(self, train_op, batch):
        """Runs a train op on a distributed batch; returns each replica's loss."""
        return self.strategy.experimental_local_results(self.strategy.run(self.replica_step, (train_op, batch)))

    def step(self, batch, number=0):
        """Runs step `number`; train ops take turns."""
        return self.run(TRAIN_OPS[number % len(TRAIN_OPS)], batch)

    def save(self, path):
        """Writes a checkpoint with the old names."""
        copies = {{n: self.strategy.experimental_local_results(v) for n, v in self.variables.items()}}
        {saved}
        tf.compat.v1.train.Saver(saved).save(None, path, write_meta_graph=False)
'''
#: The variables of the losses; of states that each replica has, those of all replicas.
MAKE = "            {function}(Scope(self.variables), example)\n"
MAKE_ALL = """\
            for replica in range(TOWERS):
                {function}(Scope(self.variables, 0, replica), example)
"""
MAKE_SLOTS = """\
            for weights, slots in SLOTS:
                for name, (slot, start) in itertools.product(weights, slots.items()):
                    weight = self.variables[name]
                    value = tf.identity(weight) if start is None else tf.fill(weight.shape, start)
                    self.variables[f"{name}/{slot}"] = tf.Variable(value, trainable=False)
"""
COUNT = "        variables[STEP].assign_add(1)\n"
SAVED = "saved = {n: values[0] for n, values in copies.items()}"
SAVED_BY_OWNER = "saved = {n: values[OWNERS.get(n, 0)] for n, values in copies.items()}"

GATHER = '''def gather(context, value):
    """Returns the values of all replicas, in their order."""
    return context.merge_call(lambda strategy, values: list(strategy.experimental_local_results(values)), (value,))
'''
