"""What a saved program is, as facts: {section: rows}, for a page or for JSON. Made from the plan of its lift."""

from __future__ import annotations

import collections
import re

import numpy as np
import tensorflow as tf

from legacy.saved import cone, vocabulary
from workloads.lifted.graph import split
from workloads.lifted.pieces import Cutter

v1 = tf.compat.v1
CLIPS = re.compile(r"clip_by_(global_norm|norm|average_norm|value)")
STEPS = (0, 100, 1000, 10000, 100000)


def facts(saved, found):
    """Ordered {section: list of {column: text or number}}.

    Args:
      saved: `graph_file.SavedGraph`.
      found: `analysis.Analysis` of it.
    """
    return _Facts(saved, found).sections()


def fields(sections):
    """{field of `workloads.workload.Workload`: text} of a page's sections, for a lift's description."""

    def joined(section, *columns):
        texts = [", ".join(str(row[column]) for column in columns if row[column] != "-") for row in sections[section]]
        return "; ".join(dict.fromkeys(texts)) or "none"

    return collections.OrderedDict(
        [
            ("inputs", joined("inputs", "name", "dtype", "shape")),
            ("loss", joined("losses", "term", "is")),
            ("optimizer", joined("optimizers", "rule", "constants")),
            ("learning_rate", joined("learning rates", "is", "values")),
            ("combine", joined("combining", "are")),
            ("clip", joined("combining", "clipped")),
            ("statistics", joined("statistics", "variable", "changed by")),
            ("moving_average", joined("moving averages", "variable", "of")),
            ("random numbers", joined("random numbers", "op", "in a port")),
            ("watch", [row["what"] for row in sections["watch"]]),
        ]
    )


class _Facts:
    def __init__(self, saved, found):
        self._saved, self._plan, self._graph = saved, found.plan, found.cut.graph
        self._origins = found.cut.origins
        self._rules = found.rules
        self._imported = cone.Imported(found.cut.graph)
        self._whole = cone.Graph(saved.graph_def)
        shapes = {v.name: (v.dtype, v.shape) for v in self._plan.variables}
        self._cutter = Cutter(self._graph, self._plan.aliases, shapes, self._signature, {})

    def sections(self):
        """All of them, in the order of a page."""
        return collections.OrderedDict(
            [
                ("program", self._program()),
                ("towers", self._towers()),
                ("inputs", self._inputs()),
                ("random numbers", self._noise()),
                ("losses", self._losses()),
                ("combining", self._combining()),
                ("optimizers", self._optimizers()),
                ("learning rates", self._rates()),
                ("variables", self._variables()),
                ("statistics", self._changes("statistic", "state")),
                ("moving averages", self._changes("average")),
                ("devices", self._devices()),
                ("watch", [{"what": text} for text in self._watch()]),
            ]
        )

    def _signature(self, tensor):
        name, output = split(tensor)
        return self._imported.dtype(name, output), self._imported.shape(name, output)

    def _program(self):
        runs = cone.train_ops(self._whole, self._saved.collections.get("trainable_variables", []))
        others = [name for name in runs if name not in {phase.train_op for phase in self._plan.phases}]
        return [
            {"what": "graph", "is": self._saved.path},
            {"what": "written by TensorFlow", "is": self._saved.written_by},
            {
                "what": "nodes",
                "is": "{} in all, {} in a training step".format(len(self._whole.nodes), len(self._graph.nodes)),
            },
            {"what": "train op", "is": ", then ".join(phase.train_op for phase in self._plan.phases)},
            {"what": "other ops that train", "is": ", ".join(others[:6]) or "none"},
            {
                "what": "settings fixed",
                "is": ", ".join("{}={}".format(*s) for s in self._plan.settings.items()) or "none",
            },
        ]

    def _towers(self):
        plan = self._plan
        rows = [
            {"what": "number", "is": str(plan.towers)},
            {"what": "told apart by", "is": plan.found_by},
            {"what": "batch of one", "is": "any" if plan.batch is None else str(plan.batch)},
            {"what": "symmetry", "is": "equal, op by op" if not plan.differences else "not equal"},
        ]
        return rows + [{"what": "difference", "is": text} for text in plan.differences[:6]]

    def _inputs(self):
        return [
            {
                "name": entry.name,
                "dtype": entry.dtype,
                "shape": str(entry.shape),
                "kind": entry.kind,
                "enters by": self._entrance(split(entry.tensors[0])[0], entry.origin),
                "tensors": ", ".join(dict.fromkeys(entry.tensors)),
            }
            for entry in self._plan.inputs + self._plan.common
        ]

    def _entrance(self, name, origin):
        """ "Split of images:0", or the op that made the data: a placeholder, a dequeue, an iterator."""
        if name in self._origins:
            return "{} {}".format(self._origins[name][1], self._origins[name][0])
        return "{} of {}".format(self._graph.type(name), origin)

    def _noise(self):
        rows = [(entry, "tower") for entry in self._plan.noise] + [(entry, "all") for entry in self._plan.common_noise]
        return [
            {"op": e.op, "of": owner, "in a port": e.how + (", in a loop" if e.in_loop else ""), "node": e.name}
            for e, owner in rows
        ]

    def _losses(self):
        rows = []
        for phase in self._plan.phases:
            for tensor in phase.losses[:1]:
                rows.append(
                    {
                        "train op": phase.train_op,
                        "term": tensor,
                        "is": "the loss of the first tower; weight {:g}".format(phase.loss_scale),
                    }
                )
                for term in self._terms(split(tensor)[0]):
                    data = any(n in self._plan.sources for n in self._graph.ancestors([term], controls=False))
                    kind = "depends on data" if data else "depends on variables only: a regularizer"
                    rows.append({"train op": phase.train_op, "term": term, "is": kind})
        return rows

    def _terms(self, name):
        """The nodes that a loss is the sum of."""
        if self._graph.type(name) in ("Identity", "RealDiv", "Div") and self._graph.inputs(name):
            return self._terms(self._graph.inputs(name)[0][0])
        if self._graph.type(name) in ("Add", "AddV2", "AddN"):
            return [term for before, _ in self._graph.inputs(name) for term in self._terms(before)]
        return [name] if self._graph.type(name) != "Const" else []

    def _combining(self):
        groups = collections.OrderedDict()
        for phase in self._plan.phases:
            for combine in phase.combine:
                kind = combine.kind + (", scaled by {:g}".format(combine.scale) if combine.scale != 1.0 else "")
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

    def _optimizers(self):
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

    @staticmethod
    def _rule(op):
        return vocabulary.rule(op) if vocabulary.is_apply(op) else "written by hand ({})".format(op)

    def _constants(self, effect):
        arguments = [argument.name for argument in self._imported.definition(effect.node).input_arg][
            len(effect.writes) :
        ]
        texts = []
        for argument, value in zip(arguments, effect.values):
            constant = tf.get_static_value(self._imported.tf_graph.get_tensor_by_name(value))
            if constant is not None and np.ndim(constant) == 0:
                texts.append("{}={:g}".format(argument, float(constant)))
        attributes = self._graph.nodes[effect.node].attr
        if "use_nesterov" in attributes and attributes["use_nesterov"].b:
            texts.append("nesterov")
        return ", ".join(texts) or "-"

    def _rates(self):
        rows = []
        for phase in self._plan.phases:
            for rate in dict.fromkeys(effect.rate for effect in phase.effects if effect.rate):
                rows.append(dict({"train op": phase.train_op, "tensor": rate}, **self._rate(rate)))
        return rows

    def _rate(self, rate):
        constant = tf.get_static_value(self._imported.tf_graph.get_tensor_by_name(rate))
        if constant is not None:
            return {"is": "{:g}, always".format(float(constant)), "values": "-"}
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
                return ", ".join(
                    "{}: {:.6g}".format(step, float(session.run(tensor, {holder: step}))) for step in STEPS
                )
            except tf.errors.OpError:
                return "-"

    def _variables(self):
        rows = []
        for variable in self._plan.variables:
            shape = variable.shape if variable.shape is not None else []
            size = int(np.prod(shape)) * tf.as_dtype(variable.dtype).size
            device = self._graph.nodes[variable.name].device if variable.name in self._graph.nodes else ""
            rows.append(
                {
                    "name": variable.name,
                    "shape": str(variable.shape),
                    "dtype": variable.dtype,
                    "bytes": size,
                    "role": variable.role + (" of " + variable.of if variable.of else ""),
                    "device": device or "-",
                    "kind": "resource" if variable.resource else "reference",
                }
            )
        return rows

    def _changes(self, *roles):
        of = {variable.name: variable for variable in self._plan.variables if variable.role in roles}
        rows = []
        for phase in self._plan.phases:
            names = {n: t for t, row in enumerate(zip(*phase.crossings)) for n in row if n}
            for effect in phase.effects:
                for name in effect.writes:
                    if name in of:
                        made = self._graph.ancestors([effect.node], {split(n)[0] for n in names}, controls=False)
                        towers = sorted({names[n] for n in names if split(n)[0] in made})
                        who = ", ".join("tower {}".format(tower) for tower in towers) or "what is computed once"
                        rows.append({"variable": name, "of": of[name].of or "-", "changed by": who, "op": effect.op})
        return rows

    def _devices(self):
        counts = collections.Counter((node.device or "(none)") for node in self._graph.nodes.values())
        kinds = collections.defaultdict(collections.Counter)
        for node in self._graph.nodes.values():
            kinds[node.device or "(none)"][node.op] += 1
        return [
            {
                "device": device,
                "ops": count,
                "mostly": ", ".join(k for k, _ in kinds[device].most_common(5) if k != "Const"),
            }
            for device, count in counts.most_common()
        ]

    def _watch(self):
        """What a port must watch for, one sentence each."""
        plan = self._plan
        for phase in plan.phases:
            for race in phase.races[:6]:
                yield "race: " + race
            if not phase.losses:
                yield "{}: the gradient graph does not tell what is minimized; losses are not compared".format(
                    phase.train_op
                )
            if abs(phase.loss_scale * plan.towers - 1) < 1e-6 and plan.towers > 1:
                yield "{}: each tower's loss counts 1/{}: its sum over towers is a mean".format(
                    phase.train_op, plan.towers
                )
            odd = [combine.weight for combine in phase.combine if combine.kind == "kept as written"]
            if odd:
                yield "combining not recognised, kept as written: " + ", ".join(odd[:6])
            if (
                any(combine.kind == "sum" for combine in phase.combine)
                and abs(phase.loss_scale - 1) < 1e-6
                and plan.towers > 1
            ):
                yield "{}: gradients are summed over towers, not averaged".format(phase.train_op)
        if plan.differences:
            yield "the towers are not equal: see above; replicas run their own tower's graph"
        same = [entry.name for entry in plan.inputs if entry.kind == "same" and plan.towers > 1]
        if same:
            yield "every tower gets the same data: " + ", ".join(same)
        first = {row["variable"] for row in self._changes("statistic") if row["changed by"] == "tower 0"}
        if first and plan.towers > 1:
            yield "{} statistics follow the first tower's batches only".format(len(first))
        if any(entry.how == "seeded" for entry in plan.noise + plan.common_noise):
            yield "some random ops have no stateless twin; they are reproducible by seed and order only"
        for node, kind in plan.unsafe.items():
            yield "{} ({}) runs Python, touches files or reaches the network".format(node, kind)
