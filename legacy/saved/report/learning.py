"""Facts of how a saved program learns: its losses, the combining of gradients, update rules and learning rates."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.graph import op_types
from legacy.saved.graph.gradient_names import is_gradient_op
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.importing import import_graph
from workloads.lifted.pieces import Cutter, Feed, Piece
from workloads.lifted.plan import Combine, Effect, Phase
from workloads.lifted.plan_records import TensorType

v1 = tf.compat.v1
CLIPS = re.compile(r"clip_by_(global_norm|norm|average_norm|value)")
#: Steps at which a schedule is evaluated.
STEPS = (0, 100, 1000, 10000, 100000)
#: A tower's clipping ends at most so many nodes before its gradient leaves it.
CLIP_DEPTH = 6


class LearningFacts:
    """Facts of one analysis; each public method makes the rows {column: text} of one section.

    Args:
      found: the analysis.
    """

    def __init__(self, found: Analysis) -> None:
        self._plan, self._graph = found.plan, found.cut.graph
        self._rules, self._imported = found.context.state.rules, found.context.imported
        shapes = {variable.name: TensorType(variable.dtype, variable.shape) for variable in self._plan.variables}
        self._cutter = Cutter(self._graph, self._plan.aliases, shapes, self._signature, {})

    def losses(self) -> list[dict[str, str]]:
        """The first tower's loss of each train op, and the terms that it is the sum of."""
        rows = []
        for phase in self._plan.phases:
            for tensor in phase.losses[:1]:
                text = f"the loss of the first tower; weight {phase.loss_scale:g}"
                terms = [(term, self._term_text(term)) for term in self._terms(parse_tensor_name(tensor)[0])]
                rows += [{"train op": phase.train_op, "term": n, "is": t} for n, t in [(tensor, text)] + terms]
        return rows

    def combining(self) -> list[dict[str, str]]:
        """The ways in which gradients are combined and clipped, with the variables of each."""
        groups: dict[tuple[str, ...], list[str]] = collections.OrderedDict()
        for phase in self._plan.phases:
            for combine in phase.combine:
                kind = combine.kind + (f", scaled by {combine.scale:g}" if combine.scale != 1.0 else "")
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
                    key = (phase.train_op, _rule_name(effect.op), self._constants(effect))
                    groups.setdefault(key, []).append(effect.writes[0])
        return [
            {"train op": op, "rule": rule, "constants": constants, "variables": str(len(names))}
            for (op, rule, constants), names in groups.items()
        ]

    def learning_rates(self) -> list[dict[str, str]]:
        """The tensors that update rules take as learning rate."""
        return [
            {"train op": phase.train_op, "tensor": tensor, **self._learning_rate(tensor)}
            for phase in self._plan.phases
            for tensor in dict.fromkeys(effect.learning_rate for effect in phase.effects if effect.learning_rate)
        ]

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
        data = any(name in self._plan.sources for name in self._graph.ancestors([term], controls=False))
        return "depends on data" if data else "depends on variables only: a regularizer"

    def _between(self, ends: Iterable[str], starts: Iterable[str]) -> set[str]:
        """Nodes that compute the tensors `ends` from the tensors `starts`."""
        stop = {parse_tensor_name(name)[0] for name in starts}
        return self._graph.ancestors([parse_tensor_name(name)[0] for name in ends], stop, controls=False) - stop

    def _combining_ops(self, combine: Combine) -> str:
        starts = [name for tower in combine.parts for name in tower]
        kinds = {self._graph.type(name) for name in self._between([combine.tensor], starts)}
        return ", ".join(sorted(kinds - {"Const", "Identity"})) or "-"

    def _clipping(self, phase: Phase, combine: Combine) -> str:
        """The clipping of a gradient in its tower, and of the combined gradient; "no" if there is none."""
        weight = combine.weight.split(" (")[0]
        effect = next(e for e in phase.effects if e.writes[0] == weight and e.values)
        after = _clip_names(self._between([effect.gradient or effect.values[0]], [combine.tensor]))
        before = _clip_names(
            {n for tensor in combine.parts[0] for n in self._near(parse_tensor_name(tensor)[0], CLIP_DEPTH)}
        )
        texts = ["in each tower, " + before] if before else []
        return "; ".join(texts + (["after combining, " + after] if after else [])) or "no"

    def _near(self, name: str, depth: int) -> set[str]:
        """A node and the forward nodes that it depends on by paths of at most `depth` edges."""
        level, seen = {name}, {name}
        for _ in range(depth):
            level = {before for n in level for before, _ in self._graph.inputs(n) if not is_gradient_op(before)} - seen
            seen |= level
        return seen

    def _constants(self, effect: Effect) -> str:
        """The scalar constants that an update rule takes, e.g. "beta1=0.9, beta2=0.999"; "-" if there are none."""
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

    def _learning_rate(self, tensor: str) -> dict[str, str]:
        """{"is": description, "values": the values at some steps} of a learning rate."""
        constant = self._imported.constant(*parse_tensor_name(tensor))
        if constant is not None:
            return {"is": f"{float(constant):g}, always", "values": "-"}
        if parse_tensor_name(tensor)[0] in self._plan.sources:
            return {"is": "fed at every step", "values": "-"}
        piece = self._cutter.piece([tensor], list(self._plan.tensors))
        reads = [feed for feed in piece.feeds if feed.kind == "read"]
        names = ", ".join(feed.key[0] for feed in reads) or "inputs"
        kinds = ", ".join(sorted({n.op for n in piece.graph_def.node} - {"Const", "Placeholder", "Identity", "Cast"}))
        return {"is": f"a function of {names}, by {kinds}", "values": _values_by_step(piece, reads)}


def _clip_names(nodes: Iterable[str]) -> str:
    """The clipping functions among some nodes' name scopes, e.g. "by global norm"."""
    found = sorted({match.group(1) for match in map(CLIPS.search, nodes) if match})
    return ", ".join("by " + kind.replace("_", " ") for kind in found)


def _rule_name(op: str) -> str:
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
        try:
            return ", ".join(f"{step}: {float(session.run(tensor, {holder: step})):.6g}" for step in STEPS)
        except tf.errors.OpError:
            return "-"
