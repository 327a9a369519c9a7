"""Text of the scope of a standalone program, with the attributes and functions that its model uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, NamedTuple, Sequence

from legacy.source.basics.expressions import Variable, leaves
from legacy.source.basics.values_of_all import OF_ALL
from legacy.source.step.model import all_statements
from workloads.frame import CATEGORICAL, NOISE_OPS
from workloads.numerics.random_keys import KEY_STRIDE

if TYPE_CHECKING:
    from legacy.source.step.model import Model

_CLASS = '''class Scope:
    """A replica as its model sees it: `get` gives a variable's value; a first pass, traced alone, makes it."""

    def __init__(self, values{defaults}):
        {attributes} = {starts}
'''
_GET = """
    def get(self, name, shape{none}, initializer{default}, trainable=True):{recorded}
        if name not in self.values:
            with tf.init_scope():
                self.values[name] = tf.Variable(initializer(shape, tf.float32), trainable=trainable)
        return tf.convert_to_tensor(self.values[name])
"""
#: Of a model with penalties on all weights whose names have one ending.
_RECORDED = "\n        self.asked[name] = None  # in order"
_NAMES = """
    def names(self, ending):
        return [name for name in self.asked if name.endswith(ending)]
"""
#: Of a model with statistics.
_UPDATE = """
    def update(self, name, value):
        self.updates[name] = value
"""
#: The same, of a model that changes a statistic more than once.
_LATER_UPDATE = """
    def update(self, name, value):
        if name in self.updates:
            self.later_updates.append((name, value))
        else:
            self.updates[name] = value
"""
_MAKE_LATER_UPDATES = "        self.later_updates = []  # of what is updated again\n"
#: Of a model that has a term on the last replica only.
_REPLICAS = """
    @property
    def replicas(self):
        return tf.distribute.get_strategy().num_replicas_in_sync
"""
#: Of a model that uses data of all replicas.
_OF_ALL = '''
    def of_all(self, value):
        """Returns the rows of all replicas, in their order; in the first pass, which makes variables, those given."""
        context = tf.distribute.get_replica_context()
        return value if context is None else tf.concat(gather(context, value), axis=0)
'''
#: Of a train op that runs the loss of another replica, with its random numbers, and without its updates.
_OF_REPLICA = """
    def of(self, replica):
        return Scope({given})
"""
#: Of a train op that draws random numbers once for all replicas.
_COMMON = """
    @property
    def common(self):
        return Scope(self.values, self.step, -1)
"""
#: {function that draws random numbers: its text}.
_NOISE = {
    name: f"""
    def {name}(self, name, shape):
        return tf.random.stateless_{name}(shape, self.seed(name))
"""
    for name in NOISE_OPS
}
_NOISE["integers"] = """
    def integers(self, name, shape, low, high):
        return tf.random.stateless_uniform(shape, self.seed(name), low, high, tf.int32)
"""
_NOISE[CATEGORICAL] = """
    def categorical(self, name, logits, samples):
        return tf.random.stateless_categorical(logits, samples, self.seed(name))
"""
_SEED = '''
    def seed(self, name):
        return tf.stack([self.key(name), tf.cast(self.step, tf.int32)])

    def key(self, name):
        """Returns a number of its own for each random stream of each replica, the same in every run."""
        return sum(ord(letter) * 31**place for place, letter in enumerate(name)) % (1 << 30) + self.replica
'''
#: (text, text in its place) of `_NOISE` and `_SEED`, where loops draw random numbers anew in each iteration.
_OF_TURNS = (
    ("(self, name, shape)", "(self, name, shape, turn=0)"),
    ("(self, name, shape, low, high)", "(self, name, shape, low, high, turn=0)"),
    ("(self, name, logits, samples)", "(self, name, logits, samples, turn=0)"),
    ("self.seed(name)", "self.seed(name, turn)"),
    ("def seed(self, name)", "def seed(self, name, turn)"),
    ("tf.cast(self.step, tf.int32)])", f"tf.cast(self.step, tf.int32)]) + {KEY_STRIDE} * turn"),
)
#: A variable that is asked for again, by its name alone.
_BY_NAME = re.compile(r'scope\.get\((f?"[^"]*"|\w+)\)')


class ScopeText(NamedTuple):
    """The scope of a program, as text.

    Attributes:
      text: the class.
      has_step, has_replica: whether a scope knows the number of the step, and that of its replica.
    """

    text: str
    has_step: bool
    has_replica: bool

    def of_values(self, step: str) -> str:
        """Returns the text of the scope of a replica's step.

        >>> ScopeText("", False, True).of_values("step")
        'Scope(values, replica=replica)'
        """
        given = [step] if self.has_step else []
        given += (["replica"] if self.has_step else ["replica=replica"]) if self.has_replica else []
        return f"Scope({', '.join(['values', *given])})"

    def first_pass(self, function: str, replica: str = "") -> str:
        """Returns the text of the first pass of a loss, which makes the variables.

        Args:
          function: name of the loss.
          replica: name of the number of the replica whose variables are made, if each replica has its own.

        Returns:
          The text.
        """
        scope = f"Scope(self.variables, replica={replica})" if replica else "Scope(self.variables)"
        return f"tf.function({function}).get_concrete_function({scope}, spec)"


def scope_of(models: Sequence[Model], functions: str, update: str = "", of_others: bool = False) -> ScopeText:
    """Returns the scope with the attributes and functions that a program uses.

    Args:
      models: of the losses.
      functions: text of the losses.
      update: text of the train ops, where they are given the scope.
      of_others: whether a replica runs the loss of another one.

    Returns:
      The scope.
    """
    drawn = [text for name, text in _NOISE.items() if re.search(rf"scope(\.common)?\.{name}\(", functions + update)]
    has_step = bool(drawn) or "scope.step" in functions
    has_replica = bool(drawn) or re.search(r"\bscope\.replica\b", functions + update) is not None
    asked_again = _BY_NAME.search(functions) is not None
    default = "=GLOROT" if any(map(leaves_initializers_out, models)) else "=None" if asked_again else ""
    updated_again = any(model.statistics.changes_again for model in models)
    has_updates = any(any(model.statistics.proposals) for model in models)
    lists_names = "scope.names(" in functions
    text = _constructor(has_step, has_replica, has_updates, lists_names)
    text += _MAKE_LATER_UPDATES if updated_again else ""
    text += _GET.format(none="=None" if asked_again else "", default=default, recorded=_RECORDED if lists_names else "")
    text += _NAMES if lists_names else ""
    text += _LATER_UPDATE if updated_again else _UPDATE if has_updates else ""
    text += _REPLICAS if "scope.replicas" in functions + update else ""
    text += _OF_ALL if f"{OF_ALL}(" in functions + update else ""
    text += _COMMON if "scope.common." in functions + update else ""
    if of_others and (drawn or has_updates):
        text += _OF_REPLICA.format(given="self.values, " + ("self.step, " if has_step else "") + "replica")
    drawing = "".join([*drawn, _SEED]) if drawn else ""
    for old, new in _OF_TURNS if re.search(r"\bturn=", functions) else ():
        drawing = drawing.replace(old, new)
    return ScopeText(text + drawing, has_step, has_replica)


def _constructor(has_step: bool, has_replica: bool, has_updates: bool, lists_names: bool) -> str:
    """Returns the beginning of the class."""
    given = [name for name, used in (("step", has_step), ("replica", has_replica)) if used]
    starts = {"values": "values", **{name: name for name in given}, **({"updates": "{}"} if has_updates else {})}
    starts.update({"asked": "{}"} if lists_names else {})
    return _CLASS.format(
        defaults="".join(f", {name}=0" for name in given),
        attributes=", ".join("self." + name for name in starts),
        starts=", ".join(starts.values()),
    )


def leaves_initializers_out(model: Model) -> bool:
    """Returns whether a model asks for a variable without saying how it starts."""
    asked: List[object] = [leaf for statement in all_statements(model) for leaf in leaves(statement.expression)]
    return any(isinstance(leaf, Variable) and not leaf.initializer for leaf in asked)
