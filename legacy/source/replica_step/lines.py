"""Lines of a replica's step: rows of gradients, clipping, update of statistics, and lists of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence

from legacy.source.basics.rendering import literal_text
from legacy.source.lines.line_breaks import WIDTH, item_lines
from legacy.source.step.known_statistics import TURNS
from legacy.source.step.statistics import EACH_TOWER
from workloads.numerics.statistics import FIRST_TOWER, LAST_TOWER, TOWERS_IN_TURN

if TYPE_CHECKING:
    from legacy.source.step.model import Model
    from workloads.numerics.clip_rule import Clip

#: {way of clipping: the line that clips a list of gradients}.
CLIPS = {
    "global_norm": "gradients, _ = tf.clip_by_global_norm(gradients, {limit})",
    "norm": "gradients = [tf.clip_by_norm(gradient, {limit}) for gradient in gradients]",
    "value": "gradients = [tf.clip_by_value(gradient, -{limit}, {limit}) for gradient in gradients]",
}


def listed(name: str, items: Sequence[str]) -> List[str]:
    """Returns the lines that give a list of texts a name."""
    line = f"{name} = {literal_text(list(items))}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{name} = [", *item_lines(items, 4), "]"]


def dict_text(values: Mapping[str, Any]) -> str:
    """Returns the text of a dict of literals, in one line."""
    return "{" + ", ".join(f"{literal_text(key)}: {literal_text(value)}" for key, value in values.items()) + "}"


def has_rows(model: str) -> bool:
    """Returns whether the model looks up rows, whose gradients are sparse."""
    return any(f"tf.{name}(" in model for name in ("nn.embedding_lookup", "gather", "gather_nd"))


def clip_lines(rule: Clip | None) -> List[str]:
    """Returns the line that clips gradients by a rule, or nothing."""
    return [CLIPS[rule.how].format(limit=literal_text(rule.limit))] if rule else []


def statistics_text(model: Model, keep_turns: bool = False) -> str:
    """Returns the text of the update of a model's statistics, or "" if it has none.

    Args:
      model: the model.
      keep_turns: whether it keeps what statistics are after each replica's change, which follow each other.

    Returns:
      The text.
    """
    if keep_turns:
        return _KEPT_TURNS
    if model.statistics.changes_again:
        by_tower = model.statistics.policy == TOWERS_IN_TURN and not model.statistics.in_rounds
        return _ALL_OF_A_TOWER if by_tower else _AGAIN[model.statistics.policy]
    return _STATISTICS[model.statistics.policy] if any(model.statistics.proposals) else ""


#: Beginning of the update of statistics that are changed more than once.
_CHANGES = """\
        changes = [*scope.updates.items(), *scope.later_updates]  # the last ones of what the loss changes again
"""
#: {policy: the update of statistics that are changed more than once}.
_AGAIN: Dict[str, str] = {
    FIRST_TOWER: _CHANGES
    + """\
        for name, change in changes:  # the first replica's, as in the old program
            value = local[name].read_value()
            first = change(value) if replica == 0 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, first))
""",
    LAST_TOWER: _CHANGES
    + """\
        for name, change in changes:  # the last replica's, as in the old program
            value = local[name].read_value()
            last = change(value) if replica == context.num_replicas_in_sync - 1 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, last))
""",
    TOWERS_IN_TURN: _CHANGES
    + """\
        for name, change in changes:  # each replica changes it in turn, as in the old program
            value = local[name].read_value()
            for turn in range(context.num_replicas_in_sync):
                own = change(value) if replica == turn else tf.zeros_like(value)
                value = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            local[name].assign(value)
""",
}
#: The update of statistics that each tower changes more than once before the next one does.
_ALL_OF_A_TOWER = (
    _CHANGES
    + """\
        for name in scope.updates:  # each replica makes its changes in turn, as in the old program
            value = local[name].read_value()
            for turn in range(context.num_replicas_in_sync):
                own = value
                for change in [change for changed, change in changes if changed == name]:
                    own = change(own)
                own = own if replica == turn else tf.zeros_like(value)
                value = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            local[name].assign(value)
"""
)
#: {policy: the update of statistics}.
_STATISTICS: Dict[str, str] = {
    FIRST_TOWER: """\
        for name, value in scope.updates.items():  # the first replica's, as in the old program
            first = value if replica == 0 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, first))
""",
    LAST_TOWER: """\
        for name, value in scope.updates.items():  # the last replica's, as in the old program
            last = value if replica == context.num_replicas_in_sync - 1 else tf.zeros_like(value)
            local[name].assign(context.all_reduce(tf.distribute.ReduceOp.SUM, last))
""",
    TOWERS_IN_TURN: """\
        for name, change in scope.updates.items():  # each replica changes it in turn, as in the old program
            value = values[name]
            for turn in range(context.num_replicas_in_sync):
                own = change(value) if replica == turn else tf.zeros_like(value)
                value = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            local[name].assign(value)
""",
    EACH_TOWER: """\
        for name, value in scope.updates.items():  # each replica has a state of its own
            local[name].assign(value)
""",
}
#: The update of statistics that replicas change in turn, of which the rest of the update uses each replica's.
_KEPT_TURNS = f"""\
        {TURNS} = {{}}
        for name, change in scope.updates.items():  # each replica changes it in turn, as in the old program
            value, {TURNS}[name] = values[name], []
            for turn in range(context.num_replicas_in_sync):
                own = change(value) if replica == turn else tf.zeros_like(value)
                value = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
                {TURNS}[name].append(value)
            local[name].assign(value)
"""
