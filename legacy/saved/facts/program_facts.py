"""Facts of a saved program: {section: rows}, for a page or for JSON, from the analysis of its graph.

Several texts below are stored in every lift (`description_fields`). They are not reworded: the same graph would then
make another lift.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.effects import RATES
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.rows import Row, Sections
from legacy.saved.facts.combining.rows import combining_rows
from legacy.saved.facts.combining.unequal_weights import unequal_weight_sentences
from legacy.saved.facts.defaults import default_sentences, unused_sentences
from legacy.saved.facts.inputs.fed_variables import fed_variable_sentences
from legacy.saved.facts.inputs.input_rows import input_rows
from legacy.saved.facts.losses import loss_rows
from legacy.saved.facts.step_counters import counter_role, counter_rows
from legacy.saved.facts.tower_rows import tower_rows
from legacy.saved.facts.updates.learning_rates import LearningRate, find_learning_rates
from legacy.saved.facts.updates.update_rules import held_constants, update_rule_rows
from legacy.saved.facts.updates_of_step import UpdatesOfStep
from legacy.saved.facts.variable_updates import VariableUpdate, update_rows
from legacy.saved.facts.watch import sentences
from legacy.saved.facts.whole_facts import device_rows
from legacy.saved.folding.decided import default_number
from legacy.saved.graph.assignments import written_variables
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.runs import train_ops
from legacy.saved.runs.carried_state import carrying_node
from legacy.saved.runs.recorded_feeds import fed_rows
from workloads.lifted.plan import Variable
from workloads.support.wording import SEVERAL, listed


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
        self._origins, self._fed = found.cut.origins, found.fed
        self._analysed, self._found = AnalysedStep(found), found
        self._whole, self._trained, self._joined = saved.graph, found.trained, found.whole
        self._writes = written_variables(saved.graph)
        self._changed = {name for phase in self._plan.phases for effect in phase.effects for name in effect.writes}
        effects = [effect for phase in self._plan.phases for effect in phase.effects]
        held = {name: word for e in effects for name, word in held_constants(self._analysed, e).items()}
        self._held = {name: "learning rate" if word in RATES else word for name, word in held.items()}
        self._updates = UpdatesOfStep(found, self._analysed)

    def sections(self) -> Sections:
        """All sections, in the order of the page."""
        rates, updates = find_learning_rates(self._analysed), self._updates.of_role("statistic")
        carried = [update for update in updates if update.node == carrying_node(update.variable)]
        statistics = [update for update in updates if update not in carried]
        combining = combining_rows(self._analysed, self._saved.all_reduced)
        return collections.OrderedDict(
            [
                ("program", self._program()),
                ("towers", tower_rows(self._analysed)),
                ("inputs", input_rows(self._analysed, self._origins)),
                ("random numbers", self._random_numbers()),
                ("losses", loss_rows(self._analysed)),
                ("combining", combining),
                ("optimizers", update_rule_rows(self._analysed, rates)),
                ("learning rates", [rate.row() for rate in rates]),
                ("variables", [self._variable(variable) for variable in self._plan.variables]),
                ("statistics", update_rows(statistics)),
                *self._accumulated(),
                ("carried state", update_rows([*self._updates.of_role("state"), *carried]) + fed_rows(self._fed)),
                ("moving averages", update_rows(self._updates.of_role("average"))),
                ("step counters", counter_rows(self._analysed)),
                ("devices", device_rows(self._graph, self._origins)),
                ("watch", [{"what": text} for text in self._watch(statistics, rates, combining)]),
            ]
        )

    def _watch(
        self, statistics: Sequence[VariableUpdate], rates: Sequence[LearningRate], combining: Sequence[Row]
    ) -> Iterator[str]:
        yield from sentences(self._analysed, statistics, rates)
        yield from fed_variable_sentences(self._analysed)
        numbers = self._numbers_by_default()
        assumed = {name: value for name, value in self._plan.settings.items() if name not in self._found.given}
        yield from default_sentences(self._whole, self._nodes_of_step(), assumed, numbers)
        yield from unused_sentences(self._whole)
        trainable = self._saved.collections.get("trainable_variables", [])
        yield from unequal_weight_sentences(self._analysed, combining, trainable, self._writes)

    def _program(self) -> list[Row]:
        runs = train_ops.find_train_ops(self._whole, self._trained)
        own = [name for phase in self._plan.phases for name in self._ops_of_run(phase.train_op)]
        updates = set().union(*(runs.get(name, set()) for name in own))
        named = train_ops.named_train_ops(self._whole, self._trained)
        others = [
            name for name in named if name not in own and not self._reads_what_they_update(name, named[name] - updates)
        ]
        settings = ", ".join(f"{name}={value}" for name, value in self._settings().items())
        nodes = f"{len(self._whole.nodes)} in all, {len(self._graph.nodes)} in a training step"
        return [
            {"what": "graph", "is": self._saved.path},
            {"what": "written by TensorFlow", "is": self._saved.written_by},
            {"what": "nodes", "is": nodes},
            {"what": "train op", "is": ", then ".join(self._run_text(phase.train_op) for phase in self._plan.phases)},
            {"what": "other ops that train", "is": listed(others, SEVERAL) or "none"},
            {"what": "settings fixed", "is": settings or "none"},
        ]

    def _settings(self) -> dict[str, object]:
        """Returns the values of settings, and of numbers that are constants unless a program feeds them."""
        return {**self._numbers_by_default(), **self._plan.settings}

    def _numbers_by_default(self) -> dict[str, object]:
        """Returns {placeholder: text} of those that hold a number which nothing else was given for."""
        values: dict[str, object] = {}
        for name in self._graph.nodes:
            number = default_number(self._graph, name)
            if number is not None and name not in self._plan.settings:
                values[name] = f"{number:g}" if isinstance(number, float) else number
        return values

    def _nodes_of_step(self) -> list[str]:
        """Returns the nodes of the whole graph that a step runs, in their order."""
        ends = [name for phase in self._plan.phases for name in self._ops_of_run(phase.train_op)]
        reached = self._whole.ancestors(ends)
        return [name for name in self._whole.nodes if name in reached]

    def _ops_of_run(self, name: str) -> list[str]:
        """Returns the program's own ops of a train op: several, where the analysis joined what one run fetches."""
        if name in self._whole.nodes:
            return [name]
        return [own for joined in self._joined.controls(name) for own in self._ops_of_run(joined)]

    def _run_text(self, name: str) -> str:
        """Returns a train op's name, and of what ops it is made where the program has no op of this name."""
        own = self._ops_of_run(name)
        return name if own == [name] else f"{name}: {listed(own, SEVERAL)}, in one run"

    def _reads_what_they_update(self, name: str, further: Collection[str]) -> bool:
        """Returns whether a node reads a variable after its update, as `assign` does, and runs no `further` updates."""
        return self._whole.type(name) == "ReadVariableOp" and not further

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
        is_open = variable.shape is None or None in variable.shape
        elements = 0 if is_open else int(np.prod(variable.shape))
        device = self._graph.nodes[variable.name].device if variable.name in self._graph.nodes else ""
        return {
            "name": variable.name,
            "shape": "unknown" if variable.shape is None else str(variable.shape),
            "dtype": variable.dtype,
            "bytes": "-" if is_open else elements * tf.as_dtype(variable.dtype).size,
            "role": self._role(variable),
            "device": device or "-",
            "kind": "resource" if variable.resource else "reference",
        }

    def _role(self, variable: Variable) -> str:
        if variable.name in self._changed and variable.role == "statistic" and self._analysed.is_counter(variable.name):
            return counter_role(self._analysed, variable.name)
        if variable.name in self._analysed.accumulators:
            return "sum of gradients"
        if variable.role == "statistic" and variable.name not in self._changed:
            return "not changed by a step"
        if variable.role == "slot" and not variable.of and variable.name in self._held:
            return self._held[variable.name]
        if variable.role == "statistic" and self._updates.copied(variable.name):
            return f"copy of {self._updates.copied(variable.name)}"
        owner = f" of tower {variable.tower}" if variable.tower is not None else ""
        return variable.role + (" of " + variable.of if variable.of else owner)

    def _accumulated(self) -> list[tuple[str, list[Row]]]:
        """The section on gradients that are kept between runs; none of most programs."""
        rows = [
            {"variable": name, "train op": phase.train_op, "op": effect.op, "by op": effect.node}
            for phase in self._analysed.phases
            for effect in phase.effects
            for name in effect.writes
            if name in self._analysed.accumulators
        ]
        return [("accumulated gradients", rows)] if rows else []
