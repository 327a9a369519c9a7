"""Facts of a saved program: {section: rows}, for a page or for JSON, from the analysis of its graph.

Several texts below are stored in every lift (`description_fields`), and lifts are told apart by what they store: such
texts stay as they are.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any, Dict, List

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.graph import train_ops
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.report.learning import LearningFacts
from legacy.saved.report.update_sources import updating_towers
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Phase, Variable

#: A row of a table: {column: text or number}.
Row = Dict[str, Any]
#: {section: its rows}, in the order of the page.
Sections = Dict[str, List[Row]]

#: Of races, differences and the like, so many are listed.
MOST_LISTED = 6
#: A loss weight this near to 1, or to 1 / N, is that.
WEIGHT_TOLERANCE = 1e-6


def program_facts(saved: SavedGraph, found: Analysis) -> Sections:
    """Describes a saved program in sections of rows.

    Args:
      saved: the graph, as read from its file.
      found: its analysis.
    """
    return _ProgramFacts(saved, found).sections()


def description_fields(sections: Sections) -> dict[str, Any]:
    """Returns {field of `workloads.workload.Workload`, or a topic: text} for a lift's description."""

    def joined(section: str, *columns: str) -> str:
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


class _ProgramFacts:
    """Facts of one analysis; each method makes one section."""

    def __init__(self, saved: SavedGraph, found: Analysis) -> None:
        self._saved, self._plan, self._graph = saved, found.plan, found.cut.graph
        self._origins = found.cut.origins
        self._learning = LearningFacts(found)
        self._whole = Graph(saved.graph_def)

    def sections(self) -> Sections:
        """All sections, in the order of the page."""
        return collections.OrderedDict(
            [
                ("program", self._program()),
                ("towers", self._towers()),
                ("inputs", self._inputs()),
                ("random numbers", self._random_numbers()),
                ("losses", self._learning.losses()),
                ("combining", self._learning.combining()),
                ("optimizers", self._learning.optimizers()),
                ("learning rates", self._learning.learning_rates()),
                ("variables", [self._variable(variable) for variable in self._plan.variables]),
                ("statistics", self._updates("statistic", "state")),
                ("moving averages", self._updates("average")),
                ("devices", self._devices()),
                ("watch", [{"what": text} for text in self._warnings()]),
            ]
        )

    def _program(self) -> list[Row]:
        runs = train_ops.find_train_ops(self._whole, self._saved.collections.get("trainable_variables", []))
        others = [name for name in runs if name not in {phase.train_op for phase in self._plan.phases}]
        settings = ", ".join(f"{name}={value}" for name, value in self._plan.settings.items())
        nodes = f"{len(self._whole.nodes)} in all, {len(self._graph.nodes)} in a training step"
        return [
            {"what": "graph", "is": self._saved.path},
            {"what": "written by TensorFlow", "is": self._saved.written_by},
            {"what": "nodes", "is": nodes},
            {"what": "train op", "is": ", then ".join(phase.train_op for phase in self._plan.phases)},
            {"what": "other ops that train", "is": ", ".join(others[:MOST_LISTED]) or "none"},
            {"what": "settings fixed", "is": settings or "none"},
        ]

    def _towers(self) -> list[Row]:
        plan = self._plan
        rows = [
            {"what": "number", "is": str(plan.towers)},
            {"what": "told apart by", "is": plan.found_by},
            {"what": "batch of one", "is": "any" if plan.batch is None else str(plan.batch)},
            {"what": "symmetry", "is": "equal, op by op" if not plan.differences else "not equal"},
        ]
        return rows + [{"what": "difference", "is": text} for text in plan.differences[:MOST_LISTED]]

    def _inputs(self) -> list[Row]:
        return [
            {
                "name": entry.name,
                "dtype": entry.dtype,
                "shape": str(entry.shape),
                "kind": entry.kind,
                "enters by": self._source(parse_tensor_name(entry.tensors[0])[0], entry.origin),
                "tensors": ", ".join(dict.fromkeys(entry.tensors)),
            }
            for entry in self._plan.inputs + self._plan.common
        ]

    def _source(self, name: str, origin: str) -> str:
        """The source of an input: "QueueDequeueV2 queue:0", or for what is computed from one, "Split of images:0"."""
        if name in self._origins:
            tensor, kind = self._origins[name]
            return f"{kind} {tensor}"
        return f"{self._graph.type(name)} of {origin}"

    def _random_numbers(self) -> list[Row]:
        owned = [(noise, "tower") for noise in self._plan.noise] + [(noise, "all") for noise in self._plan.common_noise]
        return [
            {
                "op": noise.op,
                "of": owner,
                "in a port": noise.how + (", in a loop" if noise.in_loop else ""),
                "node": noise.name,
            }
            for noise, owner in owned
        ]

    def _variable(self, variable: Variable) -> Row:
        elements = int(np.prod(variable.shape if variable.shape is not None else []))
        device = self._graph.nodes[variable.name].device if variable.name in self._graph.nodes else ""
        return {
            "name": variable.name,
            "shape": str(variable.shape if variable.shape is not None else []),
            "dtype": variable.dtype,
            "bytes": elements * tf.as_dtype(variable.dtype).size,
            "role": variable.role + (" of " + variable.of if variable.of else ""),
            "device": device or "-",
            "kind": "resource" if variable.resource else "reference",
        }

    def _updates(self, *roles: str) -> list[Row]:
        """A row for each update of a variable with one of the roles."""
        weight_of = {variable.name: variable.of for variable in self._plan.variables if variable.role in roles}
        return [
            {
                "variable": name,
                "of": weight_of[name] or "-",
                "changed by": ", ".join(f"tower {t}" for t in updating_towers(self._graph, phase, effect))
                or "what is computed once",
                "op": effect.op,
            }
            for phase in self._plan.phases
            for effect in phase.effects
            for name in effect.writes
            if name in weight_of
        ]

    def _devices(self) -> list[Row]:
        kinds: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for node in self._graph.nodes.values():
            kinds[node.device or "(none)"][node.op] += 1
        counts = collections.Counter({device: sum(ops.values()) for device, ops in kinds.items()})
        return [
            {
                "device": device,
                "ops": count,
                "mostly": ", ".join(kind for kind, _ in kinds[device].most_common(5) if kind != "Const"),
            }
            for device, count in counts.most_common()
        ]

    def _warnings(self) -> Iterator[str]:
        """Yields a sentence for each property of the program that a port must reproduce or decide about."""
        plan = self._plan
        for phase in plan.phases:
            yield from self._phase_warnings(phase)
        if plan.differences:
            yield "the towers are not equal: see above; replicas run their own tower's graph"
        same = [entry.name for entry in plan.inputs if entry.kind == "same" and plan.towers > 1]
        if same:
            yield "every tower gets the same data: " + ", ".join(same)
        first = {row["variable"] for row in self._updates("statistic") if row["changed by"] == "tower 0"}
        if first and plan.towers > 1:
            yield f"{len(first)} statistics follow the first tower's batches only"
        if any(noise.how == "seeded" for noise in plan.noise + plan.common_noise):
            yield "some random ops have no stateless twin; they are reproducible by seed and order only"
        for node, kind in plan.unsafe.items():
            yield f"{node} ({kind}) runs Python, touches files or reaches the network"

    def _phase_warnings(self, phase: Phase) -> Iterator[str]:
        towers = self._plan.towers
        for race in phase.races[:MOST_LISTED]:
            yield "race: " + race
        if not phase.losses:
            yield f"{phase.train_op}: the gradient graph does not tell what is minimized; losses are not compared"
        if abs(phase.loss_scale * towers - 1) < WEIGHT_TOLERANCE and towers > 1:
            yield f"{phase.train_op}: each tower's loss counts 1/{towers}: its sum over towers is a mean"
        odd = [combine.weight for combine in phase.combine if combine.kind == "kept as written"]
        if odd:
            yield "combining not recognised, kept as written: " + ", ".join(odd[:MOST_LISTED])
        summed = any(combine.kind == "sum" for combine in phase.combine)
        if summed and abs(phase.loss_scale - 1) < WEIGHT_TOLERANCE and towers > 1:
            yield f"{phase.train_op}: gradients are summed over towers, not averaged"
