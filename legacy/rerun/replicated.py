"""`ReplicatedOldGraph`: an old graph at another number of replicas than it has towers, as a reference for ports.

The graph stays as it is. A step runs one of its towers once for each replica, on the replica's part of the batch. The
tensors that leave the towers are combined as the analysis recognised it, by ops in the same session. Then the graph's
own update ops are fed the result in place of their own towers'. `workloads.lifted.replication` says which replica runs
which tower.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from legacy.rerun import runnable
from legacy.rerun.gradient_order import given_gradients, with_order_of_gradients
from legacy.rerun.program import OldGraphProgram
from legacy.rerun.reductions import Values, build_reduction, joined_rows, with_open_rows
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.pieces.noise import keyed_nodes, noise_key
from workloads.lifted.replication import (
    corresponding_crossings,
    own_number_only,
    replica_of_tower,
    tower_of_crossing,
    tower_run_by,
)
from workloads.lifted.workload import as_lifted
from workloads.program import State, StepRecord
from workloads.records.writer import batch_digest
from workloads.support.errors import require
from workloads.support.wording import FEW, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from legacy.options import LegacyOptions
    from workloads.job import Job
    from workloads.lifted.plan import ControlDependency, Phase, Plan
    from workloads.lifted.tensors.lift_taps import PhaseTaps
    from workloads.program import Arrays
    from workloads.sources import Source


class ReplicatedOldGraph(OldGraphProgram):
    """Runs a lifted job's old graph on more or fewer replicas than it has towers.

    Args:
      job: a `Job` of a `LiftedWorkload`.
      source: `Source` of its batches.
      options: `LegacyOptions`; `exact`, `average` and `taps` are used.
      devices: device of each replica.
      dependencies: as in `OldGraphProgram`.

    Raises:
      InputError: the graph's mathematics does not say what another number of towers would compute.
    """

    def __init__(
        self,
        job: Job,
        source: Source,
        options: LegacyOptions,
        devices: Sequence[str],
        dependencies: Sequence[Sequence[ControlDependency]] | None = None,
    ) -> None:
        workload = as_lifted(job.workload)
        require_replicable(workload.plan, job.replicas)
        job = dataclasses.replace(job, workload=with_open_rows(workload))
        self._tower_of_state = {v.name: v.tower for v in workload.plan.variables if v.role == "state"}
        #: Tensors that the update gets a placeholder for: the rows of all replicas.
        self._joined = frozenset(joined_rows(workload.plan))
        #: Each replica's own values of the variables that belong to one tower.
        self._own_states: List[Values] = []
        super().__init__(job, source, options, devices, with_order_of_gradients(workload, dependencies))
        plan = self._plan
        require(source.noise == "keyed", "--replicas", job.replicas, f"a recording is of its {plan.towers} towers")
        self._towers = [tower_run_by(plan, replica, job.replicas) for replica in range(job.replicas)]
        with self.graph.as_default():
            self._reductions = [
                [build_reduction(plan, phase, combine, self._towers, options.average) for combine in phase.reductions]
                for phase in plan.phases
            ]
        self._wanted = [
            [self._tensors_of(phase, tower, taps) for tower in range(plan.towers)]
            for phase, taps in zip(plan.phases, self._taps)
        ]
        self._keyed = [node for node in keyed_nodes(plan) if runnable.key_name(node.node) in self._names()]
        self._changing = self._towers_change_variables()
        self._updates = [self._updates_besides(phase, index) for index, phase in enumerate(plan.phases)]

    def describe(self) -> dict[str, str]:
        runs = ", ".join(str(tower) for tower in self._towers)
        described = {**super().describe(), "input": "feed"}
        described["reduction"] = f"as recognised, of replicas that run tower {runs}"
        names = sorted({name for phase in self._plan.phases for name in phase.joined_beside})
        names += self._plan.changed_beside
        if names and self._job.replicas != self._plan.towers:
            described["set from the first and the last replica's results"] = listed(names, FEW)
        if self._job.replicas != self._plan.towers and self._plan.towers > 1:
            factors = listed(self._plan.factors_of_towers, FEW)
            described["constants"] = f"those of the graph, for {self._plan.towers} towers"
            described["constants"] += f"; the factor {self._plan.towers} of {factors}" if factors else ""
        return described

    def load(self, state: State) -> None:
        super().load(state)
        self._own_states = [self._states_in(state) for _ in range(self._job.replicas)]

    def step(self) -> StepRecord:
        step, phase = self._step, self._step % len(self._plan.phases)
        described = self._plan.phases[phase]
        shards = self._source.shards(step)
        towers, taps = self._held or self._run_towers(phase, shards), self._taps[phase]
        tapped = list(zip(self._towers, towers)) if taps.taps else []
        with self._op_errors():
            fetches = {name: self._fetches[phase][name] for name in ("combined", "rates")}
            given = self._with_replaced(self._update_feed(phase, shards, towers))
            _, _, seen = self._session.run([self._train_op(phase), self._updates[phase], fetches], given)
        self._step += 1
        self._keep_states(described, towers)
        return StepRecord(
            step=step,
            digests=[batch_digest(batch) for batch in shards],
            losses=[
                np.asarray(found[described.losses[t]]) for t, found in zip(self._towers, towers) if described.losses
            ],
            gradients=[
                {weight: found[name] for weight, name in described.gradients[t].items()}
                for t, found in zip(self._towers, towers)
            ],
            combined=seen["combined"],
            learning_rate=np.asarray(seen["rates"]),
            state=self.state(),
            taps=[{tap: found[name] for tap, name in taps.values(t).items()} for t, found in tapped],
            tap_gradients=[{tap: found[name] for tap, name in taps.gradients(t).items()} for t, found in tapped],
            tap_readers=taps.readers,
        )

    def step_with(self, names: List[str]) -> Tuple[StepRecord, Dict[str, np.ndarray]]:
        return self.step(), {}

    def tower_tensors(self) -> list[str]:
        run = sorted(set(self._towers))
        names = [name for wanted in self._wanted for tower in run for name in wanted[tower]]
        return [self._computed(name).name for name in dict.fromkeys(names)]

    def tower_results(self) -> Any:
        return self._run_towers(self._step % len(self._plan.phases), self._source.shards(self._step))

    def given_tensors(self) -> list[str]:
        # What the update assigns to a tower's own state is replaced by each replica's own afterwards.
        states = [e.node for phase in self._plan.phases for e in phase.effects if e.writes[0] in self._tower_of_state]
        return [self._tensor(name).name for name in given_gradients(self._plan)] + [f"{node}:0" for node in states]

    def _given_tensors(self) -> list[str]:
        return joined_rows(self._plan)

    def _computed(self, name: str) -> tf.Tensor:
        """Returns a tensor as a tower computes it, where the update gets a placeholder for it, too."""
        return self.graph.get_tensor_by_name(name) if name in self._joined else self._tensor(name)

    def _take_step(self, *trace: Any) -> list[np.ndarray]:
        return self.step().losses

    def _keep(self, shards: Sequence[Mapping[str, np.ndarray]]) -> Dict[str, tf.Tensor]:
        """Returns nothing: replicas share their tower's inputs, which are fed."""
        return {}

    def _tensors_of(self, phase: Phase, tower: int, taps: PhaseTaps) -> list[str]:
        """Returns the tensors that a tower's run is asked for."""
        names = phase.losses[tower : tower + 1] + list(phase.gradients[tower].values())
        names += [row[tower] or "" for row in phase.crossings]
        names += phase.twins.values() if tower == 0 else []
        names += [name for combine in phase.combine for name in combine.parts[tower]]
        names += self._next_states(phase, tower).values()
        names += [*taps.values(tower).values(), *taps.gradients(tower).values()]
        return [name for name in dict.fromkeys(names) if name]

    def _towers_change_variables(self) -> bool:
        """Returns whether a tower's results wait for updates, such as those of batch-norm statistics."""
        graph = Graph(self.graph.as_graph_def())
        nodes = [parse_tensor_name(self._computed(n).name).node for wanted in self._wanted for ns in wanted for n in ns]
        effects = {effect.node for phase in self._plan.phases for effect in phase.effects}
        return bool(graph.ancestors(nodes) & effects)

    def _updates_besides(self, phase: Phase, index: int) -> List[tf.Operation]:
        """Returns the updates that a train op runs only on the way to its gradients, which are given here."""
        graph = Graph(self.graph.as_graph_def())
        given = {parse_tensor_name(name).node for name in self.given_tensors()}
        run = graph.ancestors([self._train_op(index).name], stop=given)
        left = [effect.node for effect in phase.effects if effect.node not in run]
        return [self.graph.get_operation_by_name(name) for name in left]

    def _run_towers(self, phase: int, shards: Sequence[Arrays]) -> list[Values]:
        """Runs each replica's tower from the same variables; returns what it computes."""
        before = self.state() if self._changing or self._tower_of_state else None
        found = []
        for replica, tower in enumerate(self._towers):
            if before is not None:
                super().load(self._with_states(before, self._own_states[replica]))
            names = self._wanted[phase][tower]
            # All towers are fed: gradients may wait for what another tower computes, as those of a mean of losses do.
            feed = self._replica_feed([replica] * self._plan.towers, shards)
            with self._op_errors():
                values = self._session.run([self._computed(name) for name in names], self._with_replaced(feed))
            found.append(dict(zip(names, values)))
        if before is not None:
            super().load(before)
        return found

    def _states_in(self, state: State) -> Values:
        """Returns the values of the variables that belong to one tower."""
        return {name: state.statistics[name] for name in self._tower_of_state}

    def _with_states(self, state: State, values: Values) -> State:
        return dataclasses.replace(state, statistics={**state.statistics, **values})

    def _next_states(self, phase: Phase, tower: int) -> Dict[str, str]:
        """Returns {variable of a tower: tensor that a step assigns to it}."""
        written = [effect for effect in phase.effects if self._tower_of_state.get(effect.writes[0]) == tower]
        return {effect.writes[0]: effect.values[0] for effect in written}

    def _keep_states(self, phase: Phase, towers: Sequence[Values]) -> None:
        """Keeps each replica's next states; the variables hold the first replica's, as a port's first copy does."""
        if not self._tower_of_state:
            return
        for own, tower, values in zip(self._own_states, self._towers, towers):
            own.update((name, values[tensor]) for name, tensor in self._next_states(phase, tower).items())
        super().load(self._with_states(self.state(), self._own_states[0]))

    def _feed(self, shards: Optional[List[Arrays]]) -> Dict[str, np.ndarray]:
        """Returns the feed of all towers, each with the part of the replica that stands for it."""
        towers = self._plan.towers
        return self._replica_feed(
            [replica_of_tower(t, towers, self._job.replicas) for t in range(towers)], shards or []
        )

    def _replica_feed(self, replicas: Sequence[int], shards: Sequence[Arrays]) -> Dict[str, np.ndarray]:
        """Returns the feed of the towers' inputs and keys: for each tower those of one replica."""
        feed: Dict[str, np.ndarray] = {}
        for entry in self._plan.inputs:
            for tensor, replica in zip(entry.tensors, replicas):
                feed[self._inputs[tensor] + ":0"] = shards[replica][entry.name]
        for entry in self._plan.common:
            feed[self._inputs[entry.tensors[0]] + ":0"] = shards[0][entry.name]
        for node, tower, stream in self._keyed:
            key = noise_key(self._job.seed, None if tower is None else replicas[tower], stream)
            feed[runnable.key_name(node) + ":0"] = np.array([key, self._step], np.int32)
        return feed

    def _update_feed(self, phase: int, shards: Sequence[Arrays], towers: Sequence[Values]) -> Dict[str, np.ndarray]:
        """Returns the feed of the update: the replicas' results in place of the tensors of the graph's own towers."""
        plan, described = self._plan, self._plan.phases[phase]
        stands_for = [replica_of_tower(tower, plan.towers, self._job.replicas) for tower in range(plan.towers)]
        feed = self._replica_feed(stands_for, shards)
        for row in described.crossings:
            for name in row:
                if name is not None:
                    replica = stands_for[tower_of_crossing(described, name)]
                    feed[self._tensor(name).name] = _corresponding(
                        described, name, self._towers[replica], towers[replica]
                    )
        feed.update(self._reduced(phase, towers))
        return feed

    def _reduced(self, phase: int, towers: Sequence[Values]) -> Dict[str, np.ndarray]:
        """Returns {tensor: value} of the combined gradients and other results."""
        reductions = self._reductions[phase]
        given = {holder: value for reduction in reductions for holder, value in reduction.given(towers).items()}
        results = self._session.run([reduction.result for reduction in reductions], given)
        return {
            self._tensor(name).name: part
            for reduction, value in zip(reductions, results)
            for name, part in reduction.replaced(value).items()
        }


def require_replicable(plan: Plan, replicas: int) -> None:
    """Raises `InputError` with the reason and the number that works if a program runs at its own number only."""
    reason = own_number_only(plan)
    states = {variable.name for variable in plan.variables if variable.role == "state"}
    changed = [effect for phase in plan.phases for effect in phase.effects if states & set(effect.writes)]
    if not reason and any(effect.op not in op_types.SETS or effect.condition for effect in changed):
        reason = f"a tower's own state ({changed[0].writes[0]}) is not assigned as a whole"
    seeded = [entry.op for entry in plan.noise if entry.how == "seeded"]
    if not reason and seeded:
        reason = f"{seeded[0]} draws by its seed, so that no further tower of the old graph has numbers to compare with"
    require(not reason, "--replicas", replicas, f"{reason}: only --replicas={plan.towers}")


def _corresponding(phase: Phase, name: str, tower: int, values: Values) -> np.ndarray:
    """Returns a replica's tensor that corresponds to a crossing; zero if only another tower has one."""
    names = [name, *corresponding_crossings(phase, name, tower)]
    return next((values[own] for own in names if own in values), np.zeros([], np.float32))
