"""Text of the parts of a standalone program whose update is written as the old graph computes it."""

from __future__ import annotations

#: The variables of the update, and those of whole numbers.
MAKE_OTHERS = """\
            for name, (shape, start, dtype) in OTHERS.items():
                self.variables[name] = tf.Variable(tf.fill(shape, tf.constant(start, dtype)), trainable=False)
"""
#: These, then those of the losses, then slots.
MAKE = MAKE_OTHERS + "{losses}{slots}"
#: The variables of a loss; of states that each replica has, those of all replicas.
MAKE_LOSS = "            {first_pass}\n"
MAKE_LOSS_OF_ALL = """\
            for replica in range(TOWERS):
                {first_pass}
"""
MAKE_SLOTS = """\
            for weights, slots in SLOTS:
                for name, (slot, start) in itertools.product(weights, slots.items()):
                    weight = self.variables[name]
                    value = tf.identity(weight) if start is None else tf.fill(weight.shape, start)
                    self.variables[{name}] = tf.Variable(value, trainable=False)
"""
RUN = "        loss = train_op({scope}, batch, local, context)\n"
COUNT = "        local[STEP].assign_add(1)\n"

GATHER = '''def gather(context, value):
    """Returns the values of all replicas, in their order."""
    return context.merge_call(lambda strategy, values: list(strategy.experimental_local_results(values)), (value,))
'''
