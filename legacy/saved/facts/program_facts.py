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
from legacy.saved.analysis.values.update_sources import UpdateSources, tower_of_op, tower_read_back
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.rows import Row, Sections
from legacy.saved.facts.basics.tower_numbers import tower_in_graph
from legacy.saved.facts.combining.rows import combining_rows
from legacy.saved.facts.combining.unequal_weights import unequal_weight_sentences
from legacy.saved.facts.decays import Decays, not_constant, taken_beside
from legacy.saved.facts.defaults import default_sentences, unused_sentences
from legacy.saved.facts.inputs.fed_variables import fed_variable_sentences
from legacy.saved.facts.inputs.input_rows import input_rows
from legacy.saved.facts.losses import loss_rows
from legacy.saved.facts.step_counters import counter_role, counter_rows
from legacy.saved.facts.tower_rows import tower_rows
from legacy.saved.facts.updates.learning_rates import LearningRate, find_learning_rates
from legacy.saved.facts.updates.update_rules import held_constants, update_rule_rows
from legacy.saved.facts.variable_updates import VariableUpdate, update_rows
from legacy.saved.facts.watch import sentences
from legacy.saved.facts.whole_facts import device_rows
from legacy.saved.folding.decided import default_number
from legacy.saved.graph.assignments import assigned_variable, written_variables
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.runs import train_ops
from legacy.saved.runs.carried_state import carrying_node
from legacy.saved.runs.recorded_feeds import fed_rows
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Effect, Phase, Variable
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
        crossings = {name for phase in self._plan.phases for row in phase.crossings for name in row if name}
        effects = [effect for phase in self._plan.phases for effect in phase.effects]
        given = crossings | taken_beside(self._graph, self._analysed.imported, effects)
        self._decays = Decays(self._analysed.cutter, not_constant(self._graph, given), self._analysed.addend)
        self._whole, self._trained, self._joined = saved.graph, found.trained, found.whole
        self._writes = written_variables(saved.graph)
        self._changed = {name for phase in self._plan.phases for effect in phase.effects for name in effect.writes}
        effects = [effect for phase in self._plan.phases for effect in phase.effects]
        held = {name: word for e in effects for name, word in held_constants(self._analysed, e).items()}
        self._held = {name: "learning rate" if word in RATES else word for name, word in held.items()}
        self._update_sources = [UpdateSources(self._graph, phase) for phase in self._analysed.phases]

    def sections(self) -> Sections:
        """All sections, in the order of the page."""
        rates, updates = find_learning_rates(self._analysed), self._updates("statistic")
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
                ("carried state", update_rows([*self._updates("state"), *carried]) + fed_rows(self._fed)),
                ("moving averages", update_rows(self._updates("average"))),
                ("step counters", counter_rows(self._analysed)),
                ("devices", device_rows(self._graph)),
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
        if variable.role == "statistic" and self._copied(variable.name):
            return f"copy of {self._copied(variable.name)}"
        owner = f" of tower {variable.tower}" if variable.tower is not None else ""
        return variable.role + (" of " + variable.of if variable.of else owner)

    def _copied(self, name: str) -> str:
        """The variable whose value all changes of another one assign to it, as to a target network; "" if none does."""
        nodes = [effect.node for phase in self._analysed.phases for effect in phase.effects if name in effect.writes]
        sources = {assigned_variable(self._graph, node) for node in nodes}
        source = sources.pop() if len(sources) == 1 else None
        return "" if source is None or source == name else source

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

    def _towers_of_ops(self) -> dict[str, set[int]]:
        """{variable: towers whose ops change it}."""
        found: dict[str, set[int]] = collections.defaultdict(set)
        for effect in [effect for phase in self._analysed.phases for effect in phase.effects]:
            tower = self._tower_of_op(effect.node)
            if tower is not None:
                for name in effect.writes:
                    found[name].add(tower)
        return found

    def _towers_of_update(self, sources: UpdateSources, effect: Effect) -> tuple[int, ...]:
        """The towers of the old graph whose data an update takes; of one that trains alone, those whose ops it is."""
        own = tower_in_graph(self._found, self._analysed.numbers, effect.node) if self._plan.towers == 1 else None
        towers = sources.towers(effect) or self._read_back(effect.node)
        return (own,) if towers and own is not None else tuple(map(self._analysed.numbers.of, towers))

    def _combine_of_update(self, phase: Phase, effect: Effect) -> str:
        """The combining of all towers' results for an update; "" where there is none, or are several."""
        before = self._graph.ancestors([effect.node], controls=False) if phase.results else set()
        found = [one for one in phase.results if parse_tensor_name(one.tensor).node in before]
        kinds = {"mean" if one.divided else one.kind for one in found}
        return kinds.pop() if len(kinds) == 1 else ""

    def _tower_of_op(self, name: str) -> int | None:
        return tower_of_op(self._graph, self._analysed.context.towers, name)

    def _read_back(self, name: str) -> list[int]:
        tower = tower_read_back(self._graph, self._analysed.context.towers, name)
        return [] if tower is None else [tower]

    def _updates(self, role: str) -> list[VariableUpdate]:
        """The updates of the variables with a role, step counters and sums of gradients aside."""
        others = {v.name for v in self._plan.variables if self._analysed.is_counter(v.name)}
        others |= self._analysed.accumulators
        chosen = [v for v in self._plan.variables if v.role == role and v.name not in others]
        weight_of = {variable.name: variable.of for variable in chosen}
        towers_of_ops = self._towers_of_ops()
        return [
            VariableUpdate(
                name,
                weight_of[name] or self._copied(name),
                self._towers_of_update(sources, effect),
                "a copy" if self._copied(name) else self._decays.text(phase, effect),
                effect.op,
                effect.node,
                effect.condition is not None,
                self._tower_of_op(effect.node) if len(towers_of_ops[name]) > 1 else None,
                self._combine_of_update(phase, effect),
                phase.train_op if len(self._analysed.phases) > 1 else "",
            )
            for phase, sources in zip(self._analysed.phases, self._update_sources)
            for effect in phase.effects
            for name in effect.writes
            if name in weight_of
        ]
