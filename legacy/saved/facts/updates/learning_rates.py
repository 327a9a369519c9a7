"""Facts of the learning rates of a training step, and their values at some steps."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping
from typing import Dict, NamedTuple, Tuple

import tensorflow as tf

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.bias_corrections import without_correction
from legacy.saved.facts.basics.first_values import first_value, with_first_value
from legacy.saved.facts.basics.rows import Row
from legacy.saved.facts.basics.whole_graph import scalar_constant
from legacy.saved.facts.updates.plain_rules import plain_rule
from legacy.saved.facts.updates.schedule_steps import changes, steps_to_show
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import copied_variable
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.piece import Feed, Piece
from workloads.lifted.plan import Effect, Phase
from workloads.support.wording import listed

v1 = tf.compat.v1
#: Most values of a schedule that are shown.
MOST_VALUES = 8
#: Most tensors that a row of the page names.
MOST_TENSORS = 3

#: {text and constants of a schedule: (its values at some steps, their number)}; many tensors are the same function.
Schedules = Dict[Tuple[object, ...], Tuple[str, int]]


class LearningRate(NamedTuple):
    """A learning rate of a training step.

    Attributes:
      train_op: the train op that it is of.
      tensor: the tensor that the update rules take, or the first of several that are the same function.
      text: its description.
      values: its values at some steps, in words; "-" if it is not a function of the step alone.
      reads: the variables that it is computed from.
      constants: the scalar constants that it is computed with, 1 left out.
      updates: the update ops that take it.
      is_level: whether it is computed from the step, and yet is the same at all steps that were tried.
      others: further tensors that are the same function, as of other optimizers with an equal rate.
    """

    train_op: str
    tensor: str
    text: str
    values: str
    reads: Tuple[str, ...] = ()
    constants: Tuple[float, ...] = ()
    updates: Tuple[str, ...] = ()
    is_level: bool = False
    others: Tuple[str, ...] = ()

    def row(self) -> Row:
        """Returns the learning rate as a row of the page."""
        tensors = listed([self.tensor, *self.others], MOST_TENSORS)
        return {"train op": self.train_op, "tensor": tensors, "is": self.text, "values": self.values}


def find_learning_rates(analysed: AnalysedStep) -> list[LearningRate]:
    """The tensors that update rules take as learning rate, and the scalar factors of rules written by hand."""
    found: dict[tuple[str, ...], LearningRate] = collections.OrderedDict()
    takers: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
    schedules: Schedules = {}
    for phase in analysed.plan.phases:
        users: dict[str, list[str]] = collections.OrderedDict()
        for effect in phase.effects:
            tensor = analysed.learning_rate(effect)
            if tensor:
                users.setdefault(_own_rate(analysed, phase, effect, tensor), []).append(effect.node)
        for tensor, nodes in users.items():
            rate = described_rate(analysed, phase.train_op, tensor, schedules)
            fed = tensor if parse_tensor_name(tensor).node in analysed.plan.sources else ""  # each is fed by itself
            key = (rate.train_op, rate.text, rate.values, fed)
            first = found.setdefault(key, rate)
            if rate.tensor not in (first.tensor, *first.others):
                found[key] = first._replace(others=(*first.others, rate.tensor))
            takers[key] += nodes
        for effect in phase.effects:
            is_by_hand = effect.node in analysed.rules and not op_types.is_apply(effect.op)
            if is_by_hand and not copied_variable(analysed.graph, effect.node) and not analysed.learning_rate(effect):
                text = "not known: the update is written by hand"
                found.setdefault((phase.train_op, text), LearningRate(phase.train_op, "-", text, "-"))
    return [rate._replace(updates=tuple(takers[key])) for key, rate in found.items()]


def _own_rate(analysed: AnalysedStep, phase: Phase, effect: Effect, tensor: str) -> str:
    """The rate of an update without the bias corrections that an Adam of plain ops multiplies it by."""
    rate = without_correction(analysed, tensor)
    has_powers = not op_types.is_apply(effect.op) and without_correction(analysed, rate, by_count=True) != rate
    rule = plain_rule(analysed, phase, effect) if has_powers else None
    return without_correction(analysed, rate, by_count=True) if rule is not None and rule.name == "Adam" else rate


def described_rate(analysed: AnalysedStep, train_op: str, tensor: str, schedules: Schedules) -> LearningRate:
    """Describes one learning rate, or another scalar that an update rule takes.

    Args:
      analysed: the training step.
      train_op: the train op that it is of.
      tensor: the learning rate.
      schedules: the values that were evaluated before; new ones are entered.

    Returns:
      The description.
    """
    tensor = outside_of_branch(analysed.graph, tensor)
    constant = analysed.imported.constant(*parse_tensor_name(tensor))
    if constant is not None:
        return LearningRate(train_op, tensor, f"{float(constant):g}, always", "-")
    if parse_tensor_name(tensor).node in analysed.plan.sources:
        return LearningRate(train_op, tensor, _source_text(analysed, parse_tensor_name(tensor).node), "-")
    fed = _fed_schedule(analysed, tensor)
    if fed is not None:
        return LearningRate(train_op, tensor, fed, "-")
    default = _default(analysed, tensor)
    if default is not None:
        return LearningRate(train_op, tensor, default, "-")
    if parse_tensor_name(tensor).node in analysed.graph.branches():
        return LearningRate(train_op, tensor, "computed under a condition", "-")
    piece = analysed.cutter.piece([tensor], list(analysed.plan.tensors))
    value = _constant(piece)
    if value is not None:
        return LearningRate(train_op, tensor, f"{value:g}, always", "-")
    reads = [feed for feed in piece.feeds if feed.kind == "read"]
    variables = tuple(feed.key[0] for feed in reads)
    text, constants = _description(analysed, piece, variables)
    held = _held_numbers(analysed, variables)
    is_counted = all(analysed.is_counter(name) or name in held for name in variables) and len(held) < len(variables)
    key = (text, *(node.attr["value"].SerializeToString() for node in piece.graph_def.node))
    if is_counted and key not in schedules:
        counters = tuple(name for name in variables if name not in held)
        by_other = f"by {counters[0]}: " if counters and not _counts_steps(analysed, counters[0]) else ""
        values, count = _values_by_step(piece, reads, _counted_before(analysed, tensor, counters), held)
        schedules[key] = (by_other + values if count else values, count)
    values, count = schedules[key] if is_counted else ("-", 0)
    return LearningRate(train_op, tensor, text, values, variables, constants, is_level=count == 1)


def outside_of_branch(graph: Graph, tensor: str) -> str:
    """Returns what a branch takes from outside as it is, for such a tensor of a branch; any other tensor itself."""
    found = parse_tensor_name(tensor)
    outside = graph.before_branches(found) if found.node in graph.branches() else found
    return tensor if outside.node in graph.branches() else outside.name


def _source_text(analysed: AnalysedStep, name: str) -> str:
    """The description of a learning rate that enters a step by itself: fed, unless another op gives it."""
    kind = analysed.whole.type(name)  # the cut graph has a placeholder for each source
    return "fed at every step" if kind.startswith("Placeholder") else f"what {name} ({kind}) gives at every step"


def _constant(piece: Piece) -> float | None:
    """The value of a piece that computes it of constants, such as the values of settings; None of any other piece."""
    if piece.feeds or any(op_types.is_random(node.op) for node in piece.graph_def.node):
        return None
    with tf.Graph().as_default(), v1.Session() as session:
        (tensor,) = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
        try:
            return float(session.run(tensor))
        except tf.errors.OpError:
            return None


def _held_numbers(analysed: AnalysedStep, variables: Collection[str]) -> Dict[str, float]:
    """{variable that no step changes, and that is no counter: the number that it begins with, where it is known}."""
    names = [name for name in variables if not analysed.is_changed(name) and not analysed.is_counter(name)]
    found = {name: first_value(analysed.whole, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def _counted_before(analysed: AnalysedStep, tensor: str, variables: Tuple[str, ...]) -> int:
    """Returns the number that a step adds to the only counter of a schedule before it computes the rate; 0 if none."""
    graph, name = analysed.graph, parse_tensor_name(tensor).node
    before = graph.ancestors([name], controls=False)
    before |= {node for read in before if graph.type(read) in op_types.READS for node in graph.controls(read)}
    changes = {effect.node for phase in analysed.phases for effect in phase.effects if effect.writes[0] in variables}
    return int(analysed.rises_by(variables[0]) or 0) if len(variables) == 1 and before & changes else 0


def _counts_steps(analysed: AnalysedStep, variable: str) -> bool:
    """Whether each step raises a counter by 1: its values are then steps, and not examples or the like."""
    return analysed.rises_by(variable) == 1


def _description(analysed: AnalysedStep, piece: Piece, variables: Tuple[str, ...]) -> Tuple[str, Tuple[float, ...]]:
    """The description of a learning rate that `piece` computes from `variables`, and the constants in it."""
    names = ", ".join([*variables, *_fed_scalars(analysed, piece)]) or "inputs"
    kinds = sorted({n.op for n in piece.graph_def.node} - {"Const", "Placeholder", "Identity", "Cast"})
    outside = [name for name in variables if not analysed.is_changed(name)]
    shown = [name if analysed.is_counter(name) else with_first_value(analysed.whole, name) for name in outside]
    scalars = [scalar_constant(node) for node in piece.graph_def.node] if kinds else []
    constants = tuple(number for number in scalars if number is not None and number != 1)
    numbers = list(dict.fromkeys(f"{number:g}" for number in constants))
    text = f"a function of {names}, by {', '.join(kinds)}" if kinds else f"the value of {names}"
    text += f"; constants {', '.join(numbers)}" if numbers else ""
    text += f"; the step does not change {', '.join(shown)}" if outside else ""
    if not kinds and variables and not outside and not any(map(analysed.is_counter, variables)):
        text += "; the step changes it"
    return text, constants


def _default(analysed: AnalysedStep, tensor: str) -> str | None:
    """The description of a rate that is what a placeholder holds unless it is fed, also as another type; or None."""
    graph, holder = analysed.graph, parse_tensor_name(tensor)
    if holder.node not in graph.nodes:
        return None
    while graph.type(holder.node) in op_types.COPIES:
        holder = graph.inputs(holder.node)[0]
    if graph.type(holder.node) != "PlaceholderWithDefault":
        return None
    value = scalar_constant(graph.nodes[graph.inputs(holder.node)[0].node])
    return None if value is None else f"{value:g}, unless {holder.node} is fed"


def _fed_scalars(analysed: AnalysedStep, piece: Piece) -> list[str]:
    """Names of the scalar placeholders that a piece takes, as what multiplies a schedule."""
    entries = [entry for entry in analysed.plan.inputs + analysed.plan.common if entry.kind == "setting"]
    taken = {feed.key for feed in piece.feeds}
    return [f"{entry.name} (fed)" for entry in entries if taken.intersection(entry.tensors)]


def _fed_schedule(analysed: AnalysedStep, tensor: str) -> str | None:
    """The description of a learning rate that is computed from scalars which the program feeds; None of any other.

    The lift takes a part of it as one scalar, so that the whole graph tells more.
    """
    whole, name = analysed.whole, parse_tensor_name(tensor).node
    nodes = whole.ancestors([name], controls=False) if name in whole.nodes else set()
    holders = sorted(node for node in nodes if whole.type(node).startswith("Placeholder"))
    if not holders or any(
        whole.type(node) in op_types.VARIABLES or op_types.is_random(whole.type(node)) for node in nodes
    ):
        return None
    kinds = sorted({whole.type(node) for node in nodes} - {"Const", "Identity", "Cast", *map(whole.type, holders)})
    if not kinds:
        return None
    scalars = [scalar_constant(whole.nodes[node]) for node in sorted(nodes)]
    numbers = dict.fromkeys(f"{number:g}" for number in scalars if number not in (None, 1))
    text = f"a function of {', '.join(holders)}, fed at every step, by {', '.join(kinds)}"
    return text + (f"; constants {', '.join(numbers)}" if numbers else "")


def _values_by_step(piece: Piece, reads: list[Feed], counted: int, held: Mapping[str, float]) -> tuple[str, int]:
    """A schedule's values at some steps, e.g. "0: 0.1, 1000: 0.01", and their number.

    They are "-" and 0 unless it is a function of one scalar.

    Args:
      piece: computes the schedule.
      reads: what it reads.
      counted: what a step adds to the counter before it computes the rate.
      held: {variable that no step changes: its number}.
    """
    counters = [read for read in reads if read.key[0] not in held]
    if len(counters) != 1 or len(piece.feeds) != len(reads) or any(read.shape != () for read in reads):
        return "-", 0
    with tf.Graph().as_default(), v1.Session() as session:
        (tensor,) = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
        holders = {read.key[0]: session.graph.get_tensor_by_name(read.placeholder + ":0") for read in reads}
        holder, fixed = holders.pop(counters[0].key[0]), {holders[name]: held[name] for name in held}

        def value_at(step: int) -> float:
            return float(session.run(tensor, {holder: step + counted, **fixed}))

        try:
            found = changes(value_at, steps_to_show(piece.graph_def.node))
            if len(found) > MOST_VALUES:
                steps = steps_to_show(piece.graph_def.node, of_examples=False)
                found = changes(value_at, steps)
        except tf.errors.OpError:
            return "-", 0
    texts = [f"{step}: {value:.6g}" for step, value in found]
    left_out = len(texts) > MOST_VALUES  # those before the last one, which tells where the schedule ends
    return ", ".join([*texts[: MOST_VALUES - 1], "...", texts[-1]] if left_out else texts), len(found)
