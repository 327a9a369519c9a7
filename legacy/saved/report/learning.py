"""Facts of how a saved program learns: its losses, the combining of gradients, update rules and learning rates."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.losses import differentiated
from legacy.saved.graph import op_types
from legacy.saved.report.clipping import Clippings
from legacy.saved.report.whole_graph import scalar_constant
from workloads.lifted.cutter import Cutter
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.importing import import_graph
from workloads.lifted.piece import Feed, Piece
from workloads.lifted.plan import Combine, Effect, Phase, Plan
from workloads.lifted.plan_records import TensorType
from workloads.lifted.tensors.gradient_names import is_gradient_op

v1 = tf.compat.v1
#: Steps at which a schedule is evaluated.
STEPS = (0, 100, 1000, 10000, 100000)
#: So many values of a schedule are shown; later boundaries than this are none.
MOST_VALUES, LAST_STEP = 8, 10**7
#: Relative difference within which a scale is one over the number of towers, and two values of a schedule are equal.
SCALE_TOLERANCE = 1e-6
#: So many op types of a combination are listed.
MOST_OPS = 6
#: Name scopes of clipping and of the norm that it takes: their numbers are no constants of an optimizer.
CLIPPING = re.compile(r"clip_by_|(^|/)global_norm")
#: A tower's clipping ends at most so many nodes before its gradient leaves it.
CLIP_DEPTH = 6


class LearningFacts:
    """Facts of one analysis; each public method makes the rows {column: text} of one section.

    Args:
      found: the analysis.

    Attributes:
      cutter: cuts functions out of the cut graph.
      clippings: finds clipping in the cut graph.
    """

    def __init__(self, found: Analysis) -> None:
        self._plan, self._graph, self._context = found.plan, found.cut.graph, found.context
        self._rules, self._imported = found.context.state.rules, found.context.imported
        shapes = {variable.name: TensorType(variable.dtype, variable.shape) for variable in self._plan.variables}
        self.cutter = Cutter(self._graph, self._plan.aliases, shapes, self._signature, {})
        self.clippings = Clippings(self._graph)
        combines = [combine for phase in self._plan.phases for combine in phase.combine]
        self._towers_ends = {parse_tensor_name(n)[0] for one in combines for tower in one.parts for n in tower}
        self._schedules: dict[tuple[object, ...], str] = {}
        self._positions = {name: position for position, name in enumerate(self._graph.nodes)}

    def losses(self) -> list[dict[str, str]]:
        """The first tower's loss of each train op, and the terms that it is the sum of."""
        rows = []
        for phase in self._plan.phases:
            for tensor in phase.losses[:1]:
                counted = "" if phase.loss_scale == 1 else f", counted {phase.loss_scale:g} times"
                text = "the loss of the first tower" + counted
                if phase.shared_loss and self._imported.shape(*parse_tensor_name(tensor)) != ():
                    text = "the first tower's part of one loss that all towers' results make"
                terms = [(term, self._term_text(term)) for term in self._terms(parse_tensor_name(tensor)[0])]
                rows += [{"train op": phase.train_op, "term": n, "is": t} for n, t in [(tensor, text)] + terms]
            rows += [
                {
                    "train op": phase.train_op,
                    "term": term,
                    "is": f"added to all towers' losses: {self._term_text(term)}",
                }
                for term in self._shared_terms(phase)
            ]
        return rows

    def _shared_terms(self, phase: Phase) -> list[str]:
        """Terms of what is differentiated that are made outside of the towers, where that is one loss of all."""
        towers, members = self._context.towers, self._graph.ancestors([phase.train_op])
        targets = [target for target in differentiated(self._graph, members) if towers.is_shared(target)]
        terms = [term for target in targets for term in self._terms(target)]
        return [term for term in dict.fromkeys(terms) if not towers.masks.get(term, 0)]

    def combining(self) -> list[dict[str, str]]:
        """The ways in which gradients are combined and clipped, with the variables of each."""
        groups: dict[tuple[str, ...], list[str]] = collections.OrderedDict()
        for phase in self._plan.phases:
            for combine in phase.combine:
                kind = self._combining_text(phase, combine)
                key = (phase.train_op, kind, self._combining_ops(combine), self._clipping(phase, combine))
                groups.setdefault(key, []).append(combine.weight)
        return [
            {
                "train op": train_op,
                "gradients": str(len(names)),
                "are": kind,
                "by": ops,
                "clipped": clipping,
                "of": ", ".join(names),
            }
            for (train_op, kind, ops, clipping), names in groups.items()
        ]

    def optimizers(self) -> list[dict[str, str]]:
        """The update rules with their constants, and the number of variables of each."""
        groups: dict[tuple[str, str, str], list[str]] = collections.OrderedDict()
        for phase in self._plan.phases:
            for effect in phase.effects:
                if effect.node in self._rules:
                    key = (phase.train_op, _rule_name(effect.op), self._constants(phase, effect))
                    groups.setdefault(key, []).append(effect.writes[0])
        return [
            {"train op": op, "rule": rule, "constants": constants, "variables": str(len(names))}
            for (op, rule, constants), names in groups.items()
        ]

    def learning_rates(self) -> list[dict[str, str]]:
        """The tensors that update rules take as learning rate, and those by which rules written by hand scale."""
        rows: dict[tuple[str, ...], list[str]] = collections.OrderedDict()
        for phase in self._plan.phases:
            for tensor in dict.fromkeys(filter(None, map(self._rate, phase.effects))):
                facts = self._learning_rate(tensor)
                rows.setdefault((phase.train_op, facts["is"], facts["values"]), []).append(tensor)
        return [
            {"train op": op, "tensor": names[0], "is": text, "values": values}
            for (op, text, values), names in rows.items()
        ]

    def is_counter(self, variable: str) -> bool:
        """Whether a variable counts: see `is_counter`; or every step assigns it its own value and a constant more."""
        effects = [e for phase in self._plan.phases for e in phase.effects if variable in e.writes]
        by_hand = bool(effects) and all(self.addend(effect) is not None for effect in effects)
        return is_counter(self._plan, variable) or (by_hand and self._context.state.variables[variable].shape == [])

    def addend(self, effect: Effect) -> float | None:
        """The constant that an update adds to a variable; None for others."""
        return updates_by_hand.addend(self._context, effect)

    def sum_text(self, phase: Phase) -> str:
        """A sentence on a sum of the towers' gradients: a mean where their losses are divided, or scaled later."""
        towers = self._plan.towers
        factors = [self._data_factor(parse_tensor_name(name).node) for name in phase.losses]
        if factors and all(abs(factor * towers - 1) < SCALE_TOLERANCE for factor in factors):
            return (
                f"what each tower's loss makes of its data counts 1/{towers}: the sum of gradients is a mean of those"
            )
        effects = {effect.writes[0]: effect for effect in phase.effects if effect.gradient and effect.writes}
        summed = [one for one in phase.combine if one.kind == "sum" and one.weight in effects]
        combined = [one.tensor for one in phase.combine]  # a global norm is made of all of them
        scaled = [one for one in summed if self._is_scaled_later(effects[one.weight].gradient or "", combined)]
        if summed and len(scaled) == len(summed):
            return "gradients are summed over towers, and the sums multiplied by numbers that the graph computes"
        return "gradients are summed over towers, not averaged"

    def _is_scaled_later(self, gradient: str, combined: list[str]) -> bool:
        """Whether combined gradients are multiplied or divided before the update takes one, other than to clip it."""
        return any(
            self._graph.type(name) in ("Mul", "RealDiv", "Div") and not CLIPPING.search(name)
            for name in self._between([gradient], combined)
        )

    def _data_factor(self, name: str) -> float:
        """The outermost constant factor on the first term of a loss that depends on data."""
        graph, kind = self._graph, self._graph.type(name)
        inputs = [tensor for tensor in graph.inputs(name) if tensor.node in self._context.data]
        if kind in ("Identity", "Add", "AddV2", "AddN") and inputs:
            return self._data_factor(inputs[0].node)
        if kind in ("Mul", "RealDiv", "Div") and len(inputs) == 1:
            other = next(tensor for tensor in graph.inputs(name) if tensor != inputs[0])
            number = updates_by_hand.scalar(self._context, other)
            if number:
                return number if kind == "Mul" else 1.0 / number
        return 1.0

    def _rate(self, effect: Effect) -> str | None:
        """The learning rate that an update takes; of one written by hand, the scalar that its last product has."""
        if effect.learning_rate or effect.node not in self._rules or op_types.is_apply(effect.op):
            return effect.learning_rate
        return updates_by_hand.learning_rate(self._context, effect)

    def _signature(self, tensor: str) -> TensorType:
        name, output = parse_tensor_name(tensor)
        return TensorType(self._imported.dtype(name, output), self._imported.shape(name, output))

    def _terms(self, name: str) -> list[str]:
        """The nodes that a loss is the sum of, but for constants."""
        if self._graph.type(name) in ("Identity", "RealDiv", "Div") and self._graph.inputs(name):
            return self._terms(self._graph.inputs(name)[0][0])
        if self._graph.type(name) in ("Add", "AddV2", "AddN"):
            return [term for before, _ in self._graph.inputs(name) for term in self._terms(before)]
        return [name] if self._graph.type(name) != "Const" else []

    def _term_text(self, term: str) -> str:
        before = self._graph.ancestors([term], controls=False)
        if any(name in self._plan.sources for name in before):
            return "depends on data"
        if before & self._context.random:
            return "depends on random numbers"
        trained = {variable.name for variable in self._plan.variables if variable.role == "weight"}
        data = before & {variable.name for variable in self._plan.variables} - trained
        return "depends on weights only: a regularizer" if before & trained and not data else "depends on no input"

    def _combining_text(self, phase: Phase, combine: Combine) -> str:
        """The kind of a combination with its scale, and what that is where it has a meaning."""
        effect = next((effect for effect in phase.effects if combine.weight in effect.writes[:1]), None)
        by_hand = effect is not None and not op_types.is_apply(effect.op) and combine.tensor in effect.values
        if by_hand and combine.scale != 1.0:
            return f"{combine.kind}, scaled by {combine.scale:g}, the update's own constants included"
        alone = [tower for tower, names in enumerate(combine.parts) if names]
        if combine.kind == "kept as written" and len(alone) == 1 and self._plan.towers > 1:
            return f"not combined: tower {alone[0]}'s alone"
        if combine.scale != 1.0:
            is_mean = combine.kind == "concat" and abs(combine.scale * self._plan.towers - 1) < SCALE_TOLERANCE
            return f"{combine.kind}, scaled by {combine.scale:g}" + (": a mean" if is_mean else "")
        is_mean = combine.kind == "sum" and abs(phase.loss_scale * self._plan.towers - 1) < SCALE_TOLERANCE
        return combine.kind + (" of losses that are divided by the towers: a mean" if is_mean else "")

    def _between(self, ends: Iterable[str], starts: Iterable[str]) -> set[str]:
        """Nodes that compute the tensors `ends` from the tensors `starts`."""
        stop = {parse_tensor_name(name)[0] for name in starts}
        return self._graph.ancestors([parse_tensor_name(name)[0] for name in ends], stop, controls=False) - stop

    def _combining_ops(self, combine: Combine) -> str:
        starts = [name for tower in combine.parts for name in tower]
        kinds = {self._graph.type(name) for name in self._between([combine.tensor], starts)}
        shown = sorted(kinds - {"Const", "Identity", "Placeholder", *op_types.VARIABLES})
        return ", ".join(shown[:MOST_OPS] + (["..."] if len(shown) > MOST_OPS else [])) or "-"

    def _clipping(self, phase: Phase, combine: Combine) -> str:
        """The clipping of a gradient in its tower, and of the combined gradient; "no" if there is none."""
        weight = combine.weight.split(" (")[0]
        effects = [e for e in phase.effects if e.writes[0] == weight and e.values]
        effect = next((e for e in effects if combine.tensor in (e.gradient, *e.values)), effects[0])
        # A global norm is made of all gradients: between it and the towers are the other combined gradients.
        combined = [entry.tensor for entry in phase.combine]
        after = self.clippings.text(self._between([effect.gradient or effect.values[0]], combined))
        near = {n for tensor in combine.parts[0] for n in self._near(parse_tensor_name(tensor)[0], CLIP_DEPTH)}
        before = self.clippings.text(near)
        texts = ["in each tower, " + before] if before else []
        return "; ".join(texts + (["after combining, " + after] if after else [])) or "no"

    def _near(self, name: str, depth: int) -> set[str]:
        """A node and the forward nodes that it depends on by paths of at most `depth` edges."""
        level, seen = {name}, {name}
        for _ in range(depth):
            level = {before for n in level for before, _ in self._graph.inputs(n) if not is_gradient_op(before)} - seen
            seen |= level
        return seen

    def _constants(self, phase: Phase, effect: Effect) -> str:
        """The scalar constants that an update rule takes, e.g. "beta1=0.9, beta2=0.999"; "-" if there are none."""
        if "Scatter" in effect.op:
            return "-"  # gradients times the learning rate, row by row
        if not op_types.is_apply(effect.op):
            return self._constants_by_hand(phase, effect)
        arguments = [argument.name for argument in self._imported.definition(effect.node).input_arg]
        texts = []
        for argument, tensor in zip(arguments[len(effect.writes) :], effect.values):
            constant = self._imported.constant(*parse_tensor_name(tensor))
            if constant is not None and np.ndim(constant) == 0:
                texts.append(f"{argument}={float(constant):g}")
        attributes = self._graph.nodes[effect.node].attr
        if "use_nesterov" in attributes and attributes["use_nesterov"].b:
            texts.append("nesterov")
        return ", ".join(texts) or "-"

    def _constants_by_hand(self, phase: Phase, effect: Effect) -> str:
        """The numbers in an update that was written by hand, its slots' updates included, in the graph's order."""
        entries = [entry for entry in phase.combine if entry.weight.split(" (")[0] == effect.writes[0]]
        combined = [name for entry in entries for tower in entry.parts for name in tower]
        slots = self._slot_updates(effect, combined)
        ends = [value for update in [effect, *slots] for value in update.values]
        rate = parse_tensor_name(self._rate(effect) or "").node
        given = [*self._towers_ends, *(entry.tensor for entry in phase.combine if entry.tensor not in effect.values)]
        given += [rate] if rate and scalar_constant(self._graph.nodes[rate]) is None else []
        nodes = sorted(self._between(ends, given), key=self._positions.__getitem__)
        numbers = [scalar_constant(self._graph.nodes[name]) for name in nodes if not CLIPPING.search(name)]
        texts = [f"{number:g}" for number in numbers if isinstance(number, float) and np.isfinite(number)]
        return ", ".join(dict.fromkeys(texts)) or "-"

    def _slot_updates(self, effect: Effect, combined: list[str]) -> list[Effect]:
        """Assignments of what depends on a weight's gradient to other variables, which the weight's update reads.

        They lie between the towers and the update, so that no path is followed into the towers.
        """
        start = {parse_tensor_name(name)[0] for name in combined}
        behind = self._graph.descendants(start, controls=False)
        effects = [other for one in self._plan.phases for other in one.effects if other.node in behind]
        effects = [other for other in effects if other.writes != effect.writes]
        if not effects:
            return []
        needed = self._graph.ancestors([effect.node], self._towers_ends, controls=True)
        return [other for other in effects if other.node in needed]

    def _learning_rate(self, tensor: str) -> dict[str, str]:
        """{"is": description, "values": the values at some steps} of a learning rate."""
        constant = self._imported.constant(*parse_tensor_name(tensor))
        if constant is not None:
            return {"is": f"{float(constant):g}, always", "values": "-"}
        if parse_tensor_name(tensor)[0] in self._plan.sources:
            return {"is": "fed at every step", "values": "-"}
        piece = self.cutter.piece([tensor], list(self._plan.tensors))
        reads = [feed for feed in piece.feeds if feed.kind == "read"]
        names = ", ".join(feed.key[0] for feed in reads) or "inputs"
        kinds = sorted({n.op for n in piece.graph_def.node} - {"Const", "Placeholder", "Identity", "Cast"})
        counted = all(self.is_counter(feed.key[0]) for feed in reads)
        outside = [feed.key[0] for feed in reads if not self._is_changed(feed.key[0])]
        text = f"a function of {names}, by {', '.join(kinds)}" if kinds else f"the value of {names}"
        constants = [scalar_constant(node) for node in piece.graph_def.node]
        numbers = list(dict.fromkeys(f"{number:g}" for number in constants if number is not None and number != 1))
        text += f"; constants {', '.join(numbers)}" if numbers and kinds else ""
        text += f"; the step does not change {', '.join(outside)}" if outside else ""
        key = (text, *(node.attr["value"].SerializeToString() for node in piece.graph_def.node))
        if counted and key not in self._schedules:
            self._schedules[key] = _values_by_step(piece, reads)
        return {"is": text, "values": self._schedules[key] if counted else "-"}

    def _is_changed(self, variable: str) -> bool:
        return any(variable in effect.writes for phase in self._plan.phases for effect in phase.effects)


def is_counter(plan: Plan, variable: str) -> bool:
    """Returns whether a variable counts: a scalar that a step adds a constant to, or a whole number that is none."""
    found = next((entry for entry in plan.variables if entry.name == variable), None)
    if found is None or found.shape:
        return False
    ops = {effect.op for phase in plan.phases for effect in phase.effects if variable in effect.writes}
    return found.dtype.startswith("int") if not ops else ops <= {"AssignAdd", "AssignAddVariableOp"}


def _rule_name(op: str) -> str:
    if "ScatterSub" in op:
        return f"GradientDescent, row by row ({op})"
    return op_types.rule_name(op) if op_types.is_apply(op) else f"written by hand ({op})"


def _values_by_step(piece: Piece, reads: list[Feed]) -> str:
    """A schedule's values at some steps, e.g. "0: 0.1, 1000: 0.01"; "-" unless it is a function of one scalar."""
    if len(reads) != 1 or len(piece.feeds) != 1:
        return "-"
    with tf.Graph().as_default(), v1.Session() as session:
        (tensor,) = import_graph(piece.graph_def, fetches=piece.fetches, subject="graph file")
        holder = session.graph.get_tensor_by_name(reads[0].placeholder + ":0")
        if holder.shape.rank != 0:
            return "-"
        found: list[tuple[int, float]] = []
        try:
            for step in _telling_steps(piece):
                value = float(session.run(tensor, {holder: step}))
                if not found or abs(value - found[-1][1]) > SCALE_TOLERANCE * abs(value):
                    found.append((step, value))
        except tf.errors.OpError:
            return "-"
    return ", ".join(f"{step}: {value:.6g}" for step, value in found[:MOST_VALUES])


def _telling_steps(piece: Piece) -> list[int]:
    """Steps at which a schedule is evaluated: some powers of ten, its own boundaries and the steps behind them."""
    steps = set(STEPS)
    for node in piece.graph_def.node:
        values = np.ravel(tf.make_ndarray(node.attr["value"].tensor)).tolist() if node.op == "Const" else []
        numbers = [float(number) for number in values if isinstance(number, (int, float))]
        steps |= {int(n) + more for n in numbers if n == int(n) and 1 < n < LAST_STEP for more in (0, 1)}
    return sorted(steps)
