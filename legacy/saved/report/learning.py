"""How a saved program learns, as facts: its losses, how gradients are combined, update rules and learning rates."""

from __future__ import annotations

import collections
import re

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.lifted.graph import split
from workloads.lifted.pieces import Cutter

v1 = tf.compat.v1
CLIPS = re.compile(r"clip_by_(global_norm|norm|average_norm|value)")
#: Steps at which a schedule is tried.
STEPS = (0, 100, 1000, 10000, 100000)


class Learning:
    """Facts of one `analysis.Analysis`, each as rows {column: text}."""

    def __init__(self, found):
        self._plan, self._graph = found.plan, found.cut.graph
        self._rules, self._imported = found.context.state.rules, found.context.imported
        shapes = {variable.name: (variable.dtype, variable.shape) for variable in self._plan.variables}
        self._cutter = Cutter(self._graph, self._plan.aliases, shapes, self._signature, {})

    def losses(self):
        rows = []
        for phase in self._plan.phases:
            for tensor in phase.losses[:1]:
                rows.append(
                    {
                        "train op": phase.train_op,
                        "term": tensor,
                        "is": f"the loss of the first tower; weight {phase.loss_scale:g}",
                    }
                )
                for term in self._terms(split(tensor)[0]):
                    data = any(n in self._plan.sources for n in self._graph.ancestors([term], controls=False))
                    kind = "depends on data" if data else "depends on variables only: a regularizer"
                    rows.append({"train op": phase.train_op, "term": term, "is": kind})
        return rows

    def combining(self):
        groups = collections.OrderedDict()
        for phase in self._plan.phases:
            for combine in phase.combine:
                kind = combine.kind + (f", scaled by {combine.scale:g}" if combine.scale != 1.0 else "")
                key = (phase.train_op, kind, self._ways(combine), self._clips(combine))
                groups.setdefault(key, []).append(combine.weight)
        return [
            {
                "train op": key[0],
                "gradients": str(len(names)),
                "are": key[1],
                "by": key[2],
                "clipped": key[3],
                "of": ", ".join(names),
            }
            for key, names in groups.items()
        ]

    def optimizers(self):
        groups = collections.OrderedDict()
        for phase in self._plan.phases:
            for effect in phase.effects:
                if effect.node in self._rules:
                    key = (phase.train_op, self._rule(effect.op), self._constants(effect))
                    groups.setdefault(key, []).append(effect.writes[0])
        return [
            {"train op": op, "rule": rule, "constants": constants, "variables": str(len(names))}
            for (op, rule, constants), names in groups.items()
        ]

    def rates(self):
        rows = []
        for phase in self._plan.phases:
            for rate in dict.fromkeys(effect.rate for effect in phase.effects if effect.rate):
                rows.append(dict({"train op": phase.train_op, "tensor": rate}, **self._rate(rate)))
        return rows

    def _signature(self, tensor):
        name, output = split(tensor)
        return self._imported.dtype(name, output), self._imported.shape(name, output)

    def _terms(self, name):
        """The nodes that a loss is the sum of."""
        if self._graph.type(name) in ("Identity", "RealDiv", "Div") and self._graph.inputs(name):
            return self._terms(self._graph.inputs(name)[0][0])
        if self._graph.type(name) in ("Add", "AddV2", "AddN"):
            return [term for before, _ in self._graph.inputs(name) for term in self._terms(before)]
        return [name] if self._graph.type(name) != "Const" else []

    def _between(self, ends, starts):
        stop = {split(name)[0] for name in starts}
        return self._graph.ancestors([split(name)[0] for name in ends], stop, controls=False) - stop

    def _ways(self, combine):
        starts = [name for tower in combine.parts for name in tower]
        kinds = [self._graph.type(name) for name in self._between([combine.tensor], starts)]
        return ", ".join(sorted(set(kinds) - {"Const", "Identity"})) or "-"

    def _clips(self, combine):
        phase = next(phase for phase in self._plan.phases if combine in phase.combine)
        weight = combine.weight.split(" (")[0]
        effect = next(e for e in phase.effects if e.writes[0] == weight and e.values)
        after = self._found_clip(self._between([effect.gradient or effect.values[0]], [combine.tensor]))
        near = set()
        for name in combine.parts[0]:  # a tower's own clipping is the last thing that it does
            near |= {n for n in self._near(split(name)[0], 6)}
        before = self._found_clip(near)
        texts = ["in each tower, " + before] if before else []
        return "; ".join(texts + (["after combining, " + after] if after else [])) or "no"

    def _near(self, name, depth):
        level, seen = {name}, {name}
        for _ in range(depth):
            level = {before for n in level for before, _ in self._graph.inputs(n) if "_grad/" not in before} - seen
            seen |= level
        return seen

    def _found_clip(self, names):
        found = sorted({match.group(1) for match in map(CLIPS.search, names) if match})
        return ", ".join("by " + kind.replace("_", " ") for kind in found)

    @staticmethod
    def _rule(op):
        return op_types.rule_name(op) if op_types.is_apply(op) else f"written by hand ({op})"

    def _constants(self, effect):
        arguments = [argument.name for argument in self._imported.definition(effect.node).input_arg][
            len(effect.writes) :
        ]
        texts = []
        for argument, value in zip(arguments, effect.values):
            constant = tf.get_static_value(self._imported.tf_graph.get_tensor_by_name(value))
            if constant is not None and np.ndim(constant) == 0:
                texts.append(f"{argument}={float(constant):g}")
        attributes = self._graph.nodes[effect.node].attr
        if "use_nesterov" in attributes and attributes["use_nesterov"].b:
            texts.append("nesterov")
        return ", ".join(texts) or "-"

    def _rate(self, rate):
        constant = tf.get_static_value(self._imported.tf_graph.get_tensor_by_name(rate))
        if constant is not None:
            return {"is": f"{float(constant):g}, always", "values": "-"}
        if split(rate)[0] in self._plan.sources:
            return {"is": "fed at every step", "values": "-"}
        piece = self._cutter.piece([rate], list(self._plan.tensors))
        reads = [feed for feed in piece.feeds if feed.kind == "read"]
        names = ", ".join(feed.key[0] for feed in reads) or "inputs"
        kinds = sorted({node.op for node in piece.graph_def.node} - {"Const", "Placeholder", "Identity", "Cast"})
        return {"is": "a function of {}, by {}".format(names, ", ".join(kinds)), "values": self._tried(piece, reads)}

    def _tried(self, piece, reads):
        """ "0: 0.1, 1000: 0.01": the rate at some steps, if it is made from one scalar."""
        if len(reads) != 1 or len(piece.feeds) != 1:
            return "-"
        with tf.Graph().as_default(), v1.Session() as session:
            (tensor,) = tf.import_graph_def(piece.graph_def, return_elements=piece.fetches, name="")
            holder = session.graph.get_tensor_by_name(reads[0].placeholder + ":0")
            if holder.shape.rank != 0:
                return "-"
            try:
                return ", ".join(f"{step}: {float(session.run(tensor, {holder: step})):.6g}" for step in STEPS)
            except tf.errors.OpError:
                return "-"
