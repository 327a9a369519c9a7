"""The learning rate of a train op: a schedule of `workloads.schedules`, or the old graph's own expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence

import numpy as np
import tensorflow as tf

from legacy.source.basics.cut import Cut, cut_part
from legacy.source.basics.expressions import Call, Definition, Expression, Infix, Literal, Name, Value, call
from legacy.source.basics.forward import Forward
from legacy.source.basics.rendering import expression_text, literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.choices_by_step import pieces_of, write_pieces
from legacy.source.definitions.input_values import Names
from legacy.source.definitions.recovery import Recovery
from legacy.source.lines.statements import Statement, build_statements
from legacy.source.ops.arithmetic import INFIX
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.piece import VariableVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan

v1 = tf.compat.v1

#: Name of the step in the text of a schedule.
STEP = Name("step")
#: Ops of a `cond`, which a schedule by pieces is made of in 1.x.
_BRANCHES = ("Switch", "Merge")
#: Ops of whole numbers whose texts take a step of int64 and a number of Python.
_TAKE_ANY_STEP = (*INFIX, *_BRANCHES, "Const", "Identity")


class LearningRate(NamedTuple):
    """A learning rate.

    Attributes:
      text: that makes the schedule, or the constant's name; "" if it is a function of its own.
      statements: of the function of the step, the last one its result.
      recovery: that they come from; None for a known schedule.
      fed: name of the placeholder that was fed at every step, or "".
      note: what is assumed, or "".
    """

    text: str
    statements: Sequence[Statement] = ()
    recovery: Optional[Recovery] = None
    fed: str = ""
    note: str = ""


def find_learning_rate(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    tensor: str,
    counters: Sequence[str],
    held: Mapping[str, np.ndarray] | None = None,
) -> LearningRate:
    """Finds the schedule of a learning rate.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      tensor: the learning rate.
      counters: names of the variables that count steps.
      held: {variable: value} of scalars that no step changes, and that may be written as numbers.

    Returns:
      The learning rate.

    Raises:
      Unwritten: it is a function of something else than the step.
    """
    fed = [entry for entry in plan.inputs + plan.common if tensor in entry.tensors]
    if fed:
        return LearningRate("", fed=fed[0].name)
    cut = cut_part(plan, graph, [tensor], list(plan.tensors), phase.versions)
    held = held or {}
    known = (*counters, *held)
    others = [feed for feed in cut.piece.feeds if not (feed.kind == "read" and feed.key[0] in known)]
    if others or any(isinstance(f.key, VariableVersion) and f.key.version for f in cut.piece.feeds):
        found = (feed.key for feed in cut.piece.feeds)
        keys = ", ".join(
            f"variable {key.variable!r}" if isinstance(key, VariableVersion) else str(key) for key in found
        )
        raise Unwritten(f"learning rate: {tensor!r} is a function of {keys}")
    read = [feed.key[0] for feed in cut.piece.feeds]
    given = {name: Literal(held[name][()]) if name in held else _step_in(plan, cut, name) for name in read}
    numbers = {name: literal_text(held[name][()]) for name in given if name in held}
    note = ", ".join(f"{name!r}, which no step changes, is {number}" for name, number in numbers.items())
    if any(node.op in _BRANCHES for node in cut.piece.graph_def.node) and not note:
        pieces = _by_pieces(cut)
        if pieces:
            return LearningRate(pieces)
    forward = Forward(cut, plan)
    recovery = Recovery(forward, Names({}, {}, set(), {}, given))
    if len(read) == 1 and read[0] in counters:
        write_pieces(recovery, forward, given[read[0]], _whole_constants(cut))
    result = recovery.expression_of(cut.fetches[0] if ":" in cut.fetches[0] else cut.fetches[0] + ":0")
    if isinstance(result, Value):
        defined = recovery.definition(result.tensor)
        result = defined.expression if defined and isinstance(defined.expression, Literal) else result
    if isinstance(result, Literal):
        return LearningRate(expression_text(call("schedules.Fixed", result)), note=note)
    statements = build_statements([*recovery.ordered([result]), Definition((), result)])
    decay = exponential_decay(statements[0].expression) if len(statements) == 1 else None
    if decay:
        return LearningRate(expression_text(decay), note=note)
    return LearningRate("", statements, recovery, note=note)


def step_of(plan: Plan, counter: str) -> Expression:
    """Returns the step in the dtype of the variable that counts, as far as that matters: some count in floats.

    Args:
      plan: of the lift.
      counter: name of the variable.

    Returns:
      `step`, cast if the variable is of floats.
    """
    dtype = next(variable.dtype for variable in plan.variables if variable.name == counter)
    return call("tf.cast", STEP, Name("tf." + dtype)) if dtype.startswith("float") else STEP


def _step_in(plan: Plan, cut: Cut, counter: str) -> Expression:
    """Returns the step for a schedule, in the counter's type where its functions of whole numbers take one type."""
    step = step_of(plan, counter)
    dtype = next(variable.dtype for variable in plan.variables if variable.name == counter)
    is_given = step != STEP or dtype == "int64"  # as a step is
    types = [node.attr["T"].type for node in cut.piece.graph_def.node if node.op not in _TAKE_ANY_STEP]
    return step if is_given or tf.int32.as_datatype_enum not in types else call("tf.cast", STEP, Name("tf." + dtype))


def exponential_decay(expression: Expression) -> Optional[Call]:
    """Returns the `schedules.ExponentialDecay` that an expression of the step is, or None."""
    if not (isinstance(expression, Infix) and expression.symbol == "*" and isinstance(expression.left, Literal)):
        return None
    power = expression.right
    if not (isinstance(power, Infix) and power.symbol == "**" and isinstance(power.left, Literal)):
        return None
    exponent, staircase = power.right, False
    if isinstance(exponent, Call) and exponent.function == "tf.floor":
        exponent, staircase = exponent.arguments[0].value, True
    if not (isinstance(exponent, Infix) and exponent.symbol == "/" and isinstance(exponent.right, Literal)):
        return None
    if exponent.left not in (call("tf.cast", STEP, Name("tf.float32")), STEP):
        return None
    steps = float(exponent.right.value)
    whole = int(steps) if steps == int(steps) else exponent.right.value
    if staircase:
        return call("schedules.ExponentialDecay", expression.left, whole, power.left, staircase=True)
    return call("schedules.ExponentialDecay", expression.left, whole, power.left)


def _by_pieces(cut: Cut) -> str:
    """Returns the text of the schedule by pieces that a graph with branches computes; "" for another schedule."""
    pieces = pieces_of(_whole_constants(cut), lambda steps: _evaluated(cut, steps))
    return expression_text(call("schedules.PiecewiseConstant", *map(tuple, pieces))) if pieces else ""


def _whole_constants(cut: Cut) -> List[int]:
    found = set()
    for node in cut.piece.graph_def.node:
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.shape == () and value.dtype.kind in "if" and float(value) == int(value) and 0 <= value < 1 << 40:
                found.add(int(value))
    return list(found)


def _evaluated(cut: Cut, steps: Sequence[int]) -> List[np.float32]:
    """Returns a part's first result at some steps."""
    with tf.Graph().as_default(), v1.Session() as session:
        (result,) = import_graph(cut.piece.graph_def, fetches=cut.fetches[:1], subject="graph file")
        holders = [session.graph.get_tensor_by_name(feed.placeholder + ":0") for feed in cut.piece.feeds]
        return [session.run(result, {holder: step for holder in holders}) for step in steps]
