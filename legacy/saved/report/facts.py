"""What a saved program is, as facts: {section: rows}, for a page or for JSON. Made from the plan of its lift."""

from __future__ import annotations

import collections

import numpy as np
import tensorflow as tf

from legacy.saved.graph import train_ops
from legacy.saved.report.learning import Learning
from workloads.lifted.graph import Graph, split


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
        self._learning = Learning(found)
        self._whole = Graph(saved.graph_def)

    def sections(self):
        """All of them, in the order of a page."""
        return collections.OrderedDict(
            [
                ("program", self._program()),
                ("towers", self._towers()),
                ("inputs", self._inputs()),
                ("random numbers", self._noise()),
                ("losses", self._learning.losses()),
                ("combining", self._learning.combining()),
                ("optimizers", self._learning.optimizers()),
                ("learning rates", self._learning.rates()),
                ("variables", self._variables()),
                ("statistics", self._changes("statistic", "state")),
                ("moving averages", self._changes("average")),
                ("devices", self._devices()),
                ("watch", [{"what": text} for text in self._watch()]),
            ]
        )

    def _program(self):
        runs = train_ops.find_train_ops(self._whole, self._saved.collections.get("trainable_variables", []))
        others = [name for name in runs if name not in {phase.train_op for phase in self._plan.phases}]
        return [
            {"what": "graph", "is": self._saved.path},
            {"what": "written by TensorFlow", "is": self._saved.written_by},
            {
                "what": "nodes",
                "is": f"{len(self._whole.nodes)} in all, {len(self._graph.nodes)} in a training step",
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
            return f"{self._origins[name][1]} {self._origins[name][0]}"
        return f"{self._graph.type(name)} of {origin}"

    def _noise(self):
        rows = [(entry, "tower") for entry in self._plan.noise] + [(entry, "all") for entry in self._plan.common_noise]
        return [
            {"op": e.op, "of": owner, "in a port": e.how + (", in a loop" if e.in_loop else ""), "node": e.name}
            for e, owner in rows
        ]

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
                        who = ", ".join(f"tower {tower}" for tower in towers) or "what is computed once"
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
                yield f"{phase.train_op}: the gradient graph does not tell what is minimized; losses are not compared"
            if abs(phase.loss_scale * plan.towers - 1) < 1e-6 and plan.towers > 1:
                yield f"{phase.train_op}: each tower's loss counts 1/{plan.towers}: its sum over towers is a mean"
            odd = [combine.weight for combine in phase.combine if combine.kind == "kept as written"]
            if odd:
                yield "combining not recognised, kept as written: " + ", ".join(odd[:6])
            if (
                any(combine.kind == "sum" for combine in phase.combine)
                and abs(phase.loss_scale - 1) < 1e-6
                and plan.towers > 1
            ):
                yield f"{phase.train_op}: gradients are summed over towers, not averaged"
        if plan.differences:
            yield "the towers are not equal: see above; replicas run their own tower's graph"
        same = [entry.name for entry in plan.inputs if entry.kind == "same" and plan.towers > 1]
        if same:
            yield "every tower gets the same data: " + ", ".join(same)
        first = {row["variable"] for row in self._changes("statistic") if row["changed by"] == "tower 0"}
        if first and plan.towers > 1:
            yield f"{len(first)} statistics follow the first tower's batches only"
        if any(entry.how == "seeded" for entry in plan.noise + plan.common_noise):
            yield "some random ops have no stateless twin; they are reproducible by seed and order only"
        for node, kind in plan.unsafe.items():
            yield f"{node} ({kind}) runs Python, touches files or reaches the network"
