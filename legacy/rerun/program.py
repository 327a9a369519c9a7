"""`OldGraphProgram`: a saved graph as it is, with all its towers, in a session.

Only its inputs are replaced: placeholders take the place of queues and iterators, and stateless twins that of random
ops, so that the port can draw the same numbers. Where the graph leaves an order of reads and updates open, control
dependencies fix the order that the plan chose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ContextManager, Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from legacy.rerun import runnable
from legacy.rerun.observed import changed_tensors, observed_gradients, observed_rates
from legacy.towers.graph_program import GraphProgram
from legacy.towers.prepared_session import PreparedSession
from legacy.towers.program import session_config
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.graph.sums import add_in_order
from workloads.lifted.pieces.noise import keyed_nodes, noise_key
from workloads.lifted.summed_uses import weights_with_sums
from workloads.lifted.tensors.lift_taps import find_taps
from workloads.lifted.workload import as_lifted, op_errors_as_input_errors
from workloads.program import State, StepRecord
from workloads.records.writer import batch_digest
from workloads.support.wording import FEW, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from legacy.options import LegacyOptions
    from workloads.job import Job
    from workloads.lifted.plan import ControlDependency, Phase
    from workloads.lifted.tensors.lift_taps import PhaseTaps
    from workloads.program import Arrays
    from workloads.sources import Source
    from workloads.variable_spec import VariableSpec

v1 = tf.compat.v1


class OldGraphProgram(GraphProgram):
    """Runs a lifted job's old graph.

    Args:
      job: a `Job` of a `LiftedWorkload`, with as many replicas as the graph has towers.
      source: `Source` of its batches.
      options: `LegacyOptions`; only `exact` and `taps` are used.
      devices: device of each tower.
      dependencies: for each phase, the control dependencies that fix an open order; default: the plan's.
    """

    side = "legacy"
    holds_results = True

    def __init__(
        self,
        job: Job,
        source: Source,
        options: LegacyOptions,
        devices: Sequence[str],
        dependencies: Sequence[Sequence[ControlDependency]] | None = None,
    ) -> None:
        self._job, self._source, self._options, self._devices = job, source, options, devices
        self._workload = as_lifted(job.workload)
        self._plan = self._workload.plan
        self._taps = find_taps(self._workload, options.taps)
        self._step = 0
        self._held: Any = None
        self._computed_nodes: Dict[int, set[str]] = {}
        self._drawn = runnable.drawn_tensors(self._workload) if source.noise == "drawn" else {}
        self._inputs = runnable.input_placeholders(self._plan, [*self._drawn, *self._given_tensors()])
        graph_def = runnable.runnable_graph(self._workload, self._inputs, devices, source.noise, dependencies)
        if options.exact:
            add_in_order(graph_def)
        self.graph = tf.Graph()
        self._starters: List[tf.Operation] = []
        with self.graph.as_default():
            self._resident = self._keep(source.shards(0)) if source.fixed else None
            import_graph(graph_def, self._resident)
            self._reads, self._holders, self._assign = self._state_ops()
        self._session = PreparedSession(graph=self.graph, config=session_config(devices, options.exact, job.replicas))
        self._session.run(self._starters)
        self._keys = self._noise_keys()
        self._copied = set(changed_tensors(self._plan))
        self._fetches = [
            {**self._observed(phase), **self._tapped(taps)} for phase, taps in zip(self._plan.phases, self._taps)
        ]
        self.load(self._workload.initial_state())

    def _noise_keys(self) -> List[Tuple[str, int]]:
        """Returns (placeholder of the key, key of the job's seed) of every random op in the graph."""
        names = self._names()
        return [
            (runnable.key_name(node) + ":0", noise_key(self._job.seed, tower, stream))
            for node, tower, stream in keyed_nodes(self._plan)
            if runnable.key_name(node) in names
        ]

    def _names(self) -> set[str]:
        """Returns the names of the graph's nodes."""
        return {operation.name for operation in self.graph.get_operations()}

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._workload.variables()

    def describe(self) -> dict[str, str]:
        races = sum(len(phase.races) for phase in self._plan.phases)
        sums = weights_with_sums(self._plan)
        return {
            "program": "the saved graph in a session",
            "devices": ", ".join(self._devices),
            "input": "resident" if self._resident else "feed",
            "variables on": "as the graph says",
            "reduction": "as written",
            "update rules": self._workload.update_rules(),
            "autodiff": "the graph's own gradients",
            "races": f"{races} pinned to one order that the graph allows" if races else "none",
            "Grappler": "off" if self._options.exact else "on",
            **({"gradients added tower by tower": listed(sums, FEW)} if sums else {}),
        }

    def load(self, state: State) -> None:
        feed: Dict[tf.Tensor, np.ndarray] = {}
        for arrays in (state.weights, state.slots, state.statistics, state.averages):
            feed.update((self._holders[name], value) for name, value in arrays.items())
        self._session.run(self._assign, feed)
        self._step = state.step

    def state(self) -> State:
        return self._workload.state(self._step, self._session.run(self._reads))

    def step(self) -> StepRecord:
        return self._step_with([])[0]

    def step_with(self, names: List[str]) -> Tuple[StepRecord, Dict[str, np.ndarray]]:
        return self._step_with(names)

    def _step_with(self, names: List[str]) -> Tuple[StepRecord, Dict[str, np.ndarray]]:
        """See `step_with`."""
        phase = self._step % len(self._plan.phases)
        shards = self._source.shards(self._step)
        with self._op_errors():
            feed = self._with_replaced({**self._feed(shards), **(self._held or {})})
            fetches = {"step": self._fetches[phase], "read": {n: n for n in names if self._computes(phase, n)}}
            _, seen = self._session.run([self._train_op(phase), fetches], feed)
        return self._record(shards, seen["step"]), seen["read"]

    def _op_errors(self) -> ContextManager[None]:
        return op_errors_as_input_errors("the old graph", made_up_scalars=self._source.made_up_scalars)

    def _computes(self, phase: int, name: str) -> bool:
        """Returns whether a phase's step computes a tensor."""
        if phase not in self._computed_nodes:
            graph = Graph(self.graph.as_graph_def())
            self._computed_nodes[phase] = graph.ancestors([self._plan.phases[phase].train_op])
        return parse_tensor_name(name).node in self._computed_nodes[phase]

    def _record(self, shards: Sequence[Arrays], seen: Mapping[str, Any]) -> StepRecord:
        """Counts a step; returns what is kept of it."""
        step, phase = self._step, self._step % len(self._plan.phases)
        self._step += 1
        return StepRecord(
            step=step,
            digests=[batch_digest(batch) for batch in shards],
            losses=[np.asarray(loss) for loss in seen["losses"]],
            gradients=seen["gradients"],
            combined=seen["combined"],
            learning_rate=np.asarray(seen["rates"]),
            state=self.state(),
            taps=seen["taps"],
            tap_gradients=seen["tap_gradients"],
            tap_readers=self._taps[phase].readers,
        )

    def tower_tensors(self) -> list[str]:
        found = []
        for fetches in self._fetches:
            found += fetches["losses"]
            for gradients in fetches["gradients"]:
                found += gradients.values()
        return [tensor.name for tensor in found]

    def result_tensors(self) -> list[str]:
        crossings = [name for phase in self._plan.phases for row in phase.crossings for name in row if name is not None]
        return list(dict.fromkeys([*self.tower_tensors(), *(self._tensor(name).name for name in crossings)]))

    def tower_results(self) -> Any:
        phase, shards = self._step % len(self._plan.phases), self._source.shards(self._step)
        feed = self._with_replaced(self._feed(shards))
        seen, rows = self._fetches[phase], self._plan.phases[phase].crossings
        tensors = [*seen["losses"], *(tensor for gradients in seen["gradients"] for tensor in gradients.values())]
        tensors += [self._tensor(name) for row in rows for name in row if name is not None]
        names = [name for name in dict.fromkeys(tensor.name for tensor in tensors) if name not in feed]
        found = [self.graph.get_tensor_by_name(name) for name in names]
        if not all(self.graph.is_feedable(tensor) and not tensor.dtype._is_ref_dtype for tensor in found):
            return None
        with self._op_errors():
            return dict(zip(names, self._session.run(found, feed)))

    def hold_results(self, results: Any) -> None:
        self._held = results

    def rate_tensors(self) -> list[str]:
        return [tensor.name for fetches in self._fetches for tensor in fetches["rates"]]

    def train_nodes(self) -> list[str]:
        return [phase.train_op for phase in self._plan.phases]

    def run(self, steps: int) -> list[np.ndarray]:
        for _ in range(steps):
            losses = self._take_step()
        return [np.mean(loss) for loss in losses]

    def run_traced(self, options: tf.compat.v1.RunOptions, metadata: tf.compat.v1.RunMetadata) -> None:
        self._take_step(options, metadata)

    def _take_step(self, *trace: Any) -> list[np.ndarray]:
        """Takes a step that is not observed, with the session's options and metadata if given; returns its losses."""
        phase = self._step % len(self._plan.phases)
        shards = None if self._resident else self._source.shards(self._step)
        with self._op_errors():
            fetches = [self._fetches[phase]["losses"], self._train_op(phase)]
            losses, _ = self._session.run(fetches, self._feed(shards), *trace)
        self._step += 1
        return losses

    def evaluate(self, names: Sequence[str], shards: List[Arrays]) -> Dict[str, np.ndarray]:
        """Computes tensors from the current state, whose step counts the noise; takes no step.

        Args:
          names: of the tensors.
          shards: each replica's batch.

        Returns:
          {name: value}.
        """
        with self._op_errors():
            return dict(zip(names, self._session.run(list(names), self._with_replaced(self._feed(shards)))))

    def close(self) -> None:
        self._session.close()

    def _given_tensors(self) -> list[str]:
        """Returns further tensors that placeholders replace; a subclass feeds them."""
        return []

    def _train_op(self, phase: int) -> tf.Operation:
        return self.graph.get_operation_by_name(self._plan.phases[phase].train_op)

    def _tensor(self, name: str) -> tf.Tensor:
        """Returns a tensor of the graph, or its replacement."""
        placeholder = self._inputs[name] + ":0" if name in self._inputs else name
        if self._resident and placeholder in self._resident:
            return self._resident[placeholder]
        return self.graph.get_tensor_by_name(placeholder)

    def _observed(self, phase: Phase) -> Dict[str, Any]:
        """Returns the tensors that a step's record is made of, in a structure for `Session.run`."""
        tensor = self._tensor
        return {
            "losses": [tensor(name) for name in phase.losses],
            "gradients": [{w: tensor(name) for w, name in tower.items()} for tower in phase.gradients],
            "combined": {weight: tensor(name) for weight, name in observed_gradients(phase, self._copied).items()},
            "rates": [tensor(name) for name in observed_rates(phase, self._copied)],
        }

    def _tapped(self, taps: PhaseTaps) -> Dict[str, Any]:
        """Returns each tower's taps and their gradients, in a structure for `Session.run`; empty without taps."""
        towers = range(self._plan.towers if taps.taps else 0)
        return {
            "taps": [{tap: self._tensor(name) for tap, name in taps.values(tower).items()} for tower in towers],
            "tap_gradients": [
                {tap: self._tensor(name) for tap, name in taps.gradients(tower).items()} for tower in towers
            ],
        }

    def _feed(self, shards: Optional[List[Arrays]]) -> Dict[str, np.ndarray]:
        """Returns {placeholder: value} of a batch, and of the keys of the noise."""
        feed: Dict[str, np.ndarray] = {}
        if shards is not None and not self._resident:
            for name, entry in self._workload.inputs().items():
                for tower, tensor in enumerate(entry.tensors):
                    feed[self._inputs[tensor] + ":0"] = shards[tower][name]
            for tensor, drawn in self._drawn.items():
                feed[self._inputs[tensor] + ":0"] = shards[drawn.tower][drawn.name]
        for holder, key in self._keys:
            feed[holder] = np.array([key, self._step], np.int32)
        return feed

    def _keep(self, shards: Sequence[Mapping[str, np.ndarray]]) -> Dict[str, tf.Tensor]:
        """Returns {placeholder: tensor} of variables that hold the first batch, on the towers' devices."""
        kept = {}
        for name, entry in self._workload.inputs().items():
            for tower, tensor in enumerate(entry.tensors):
                with tf.device("/device:" + self._devices[tower]):
                    variable = v1.Variable(shards[tower][name], trainable=False, use_resource=True, name="resident")
                self._starters.append(variable.initializer)
                kept[self._inputs[tensor] + ":0"] = variable.read_value()
        return kept

    def _state_ops(self) -> Tuple[Dict[str, tf.Tensor], Dict[str, tf.Tensor], tf.Operation]:
        """Returns ({variable: read}, {variable: placeholder}, op that assigns the placeholders)."""
        reads, holders, assigns = {}, {}, []
        for variable in self._plan.variables:
            tensor = self.graph.get_tensor_by_name(variable.name + ":0")
            holders[variable.name] = v1.placeholder(variable.dtype, variable.shape)
            if variable.resource:
                reads[variable.name] = tf.raw_ops.ReadVariableOp(resource=tensor, dtype=variable.dtype)
                assigns.append(tf.raw_ops.AssignVariableOp(resource=tensor, value=holders[variable.name]))
            else:
                reads[variable.name] = tensor
                known = tensor.shape.is_fully_defined()  # if not, it is empty before its first value
                assigns.append(tf.raw_ops.Assign(ref=tensor, value=holders[variable.name], validate_shape=known).op)
        return reads, holders, tf.group(*assigns)
