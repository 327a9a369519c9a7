"""From a saved graph to the plan of its lift."""

from __future__ import annotations

import collections

from legacy.saved import (
    carrying,
    combining,
    cone,
    folding,
    inputs,
    loops,
    losses,
    matching,
    ordering,
    parts,
    roles,
    towers,
    vocabulary,
)
from legacy.saved.state import State
from workloads.lifted.graph import tensor_name
from workloads.lifted.pieces import Cutter
from workloads.lifted.plan import Noise, Phase, Plan

Analysis = collections.namedtuple("Analysis", "plan cut whole")


def analyse(saved, name, train_op=(), feed=None, carry=None):
    """Takes a saved graph apart.

    Args:
      saved: `graph_file.SavedGraph`.
      name: what to call the program.
      train_op: names of the train ops, or empty to find the one.
      feed: {placeholder: text} of settings that stay as they are.
      carry: {placeholder: tensor} of state that the program fetched and fed into the next step.

    Returns:
      `Analysis`: the `plan.Plan`, the `cone.Cut`, and the `Graph` that it was cut from.

    Raises:
      InputError: there is nothing to train, or something that a lift cannot do; says what.
    """
    whole, settings = folding.settle(cone.Graph(saved.graph_def), feed or {})
    targets = cone.choose(whole, train_op)
    whole, targets = carrying.carry(whole, carry or {}, targets)
    minimized = losses.differentiated(whole, whole.ancestors(targets))
    cut = cone.cut(whole, sorted(set(targets) | set(minimized)))
    cone.require_known(cut)
    return _Analyst(cut, whole, name, targets, settings).run()


class _Analyst:
    """One analysis; what every step of it needs."""

    def __init__(self, cut, whole, name, targets, settings):
        self.whole = whole
        self.cut, self.name, self.targets, self.settings = cut, name, targets, settings
        self.graph = cut.graph
        self.imported = cone.Imported(cut.graph)
        self.state = State(self.graph, self.imported)
        self.random = {name for name in self.graph.nodes if vocabulary.is_random(self.graph.type(name))}
        self.towers = towers.find(self.graph, self.imported, self.state, self._gradients())
        self.data = self.graph.descendants(
            {n for n in self.graph.nodes if self.graph.type(n) == "Placeholder"} | self.random, controls=False
        )
        self.tensors = {}
        self.differences = []

    def run(self):
        phases = [self._divide(target) for target in self.targets]
        rows, common, noise, common_noise = self._match(phases)
        batch = inputs.batch_size(self.imported, rows)
        taken = set()
        described = inputs.describe(self.graph, self.imported, self.cut.origins, rows, batch, taken)
        described_common = inputs.describe(
            self.graph, self.imported, self.cut.origins, [[tensor] for tensor in common], batch, taken, common=True
        )
        aliases = {tensor_name(*tensor): variable for tensor, variable in self.state.aliases.items()}
        variables = self._variables([effect for phase in phases for effect in phase.effects])
        finished = [self._finish(phase, aliases, variables) for phase in phases]
        for entry in described + described_common:
            for tensor in entry.tensors:
                self._sign(tensor)
        for node in self.random:
            for output in range(self.imported.outputs(node)):
                self._sign(tensor_name(node, output))
        plan = Plan(
            name=self.name,
            towers=self.towers.count,
            found_by=self.towers.found_by,
            batch=batch,
            inputs=described,
            common=described_common,
            noise=noise,
            common_noise=common_noise,
            variables=variables,
            sources={name: origin for name, (origin, _) in self.cut.origins.items()},
            aliases=aliases,
            tensors=self.tensors,
            phases=finished,
            differences=self.differences,
            unsafe=dict(self.cut.unsafe),
            settings=self.settings,
        )
        return Analysis(plan, self.cut, self.whole)

    def _gradients(self):
        """What variables are changed by: the tensors in which towers meet."""
        found = []
        for name in self.graph.nodes:
            if name in self.state.writes:
                found += [tensor for tensor in self.graph.inputs(name) if tensor not in self.state.aliases]
        return found

    def _divide(self, target):
        """A phase with its parts, before anything is matched or named."""
        members = self.graph.ancestors([target])
        found = losses.find(self.graph, self.imported, self.towers, members)
        members |= self.graph.ancestors({name for name, _ in found})  # observed too, so before any update
        order = ordering.settle(self.graph, self.state, members, self.data)
        divided = parts.divide(self.graph, self.imported, self.state, self.towers, members, order, found)
        effects = roles.effects(self.graph, self.imported, self.state, order)
        return _PhaseParts(target, members, order, found, divided, effects)

    def _match(self, phases):
        """(rows of tower inputs, common inputs, tower `Noise`, common `Noise`)."""
        count = self.towers.count
        cuts = [[] for _ in range(count)]
        common, used_random = [], set()
        for phase in phases:
            for tower in range(count):
                cuts[tower] += [tensor for tensor in phase.divided.cuts[tower] if tensor not in cuts[tower]]
            common += [tensor for tensor in phase.divided.common_cuts if tensor not in common]
            used_random |= self.random & self._needed(phase)
        matches = [self._match_tower(phases, tower, cuts) for tower in range(1, count)]
        rows = [[first] + [m.cuts.get(first) for m in matches] for first in cuts[0]]
        rows = self._complete(rows, cuts)
        mine = sorted(node for node in used_random if self.towers.of(node) is not None)
        noise = []
        for node in [node for node in mine if self.towers.of(node) == 0]:
            nodes = [node] + [m.random.get(node) for m in matches]
            if None not in nodes:
                noise.append(self._noise(nodes))
        covered = {node for entry in noise for node in entry.nodes}
        noise += [self._noise([node]) for node in mine if node not in covered]
        common_noise = [self._noise([node]) for node in sorted(used_random) if self.towers.of(node) is None]
        return rows, common, noise, common_noise

    def _needed(self, phase):
        """Nodes that a phase's numbers come from, nothing upstream of the cuts."""
        stop = {name for tower in phase.divided.cuts for name, _ in tower} | {n for n, _ in phase.divided.common_cuts}
        ends = set(phase.order.effects) | {name for name, _ in phase.losses}
        return self.graph.ancestors(ends, stop, controls=False) - (stop - set(phase.divided.tower_nodes))

    def _match_tower(self, phases, tower, cuts):
        pairs = []
        for phase in phases:
            for row in phase.divided.crossings.values():
                if 0 in row and tower in row:
                    pairs.append((row[0], row[tower]))
            if phase.losses:
                pairs.append((phase.losses[0], phase.losses[tower]))
        found = matching.match(self.graph, pairs, set(cuts[0]) | set(cuts[tower]), self.random)
        self.differences += ["tower 0 and tower {}: {}".format(tower, text) for text in found.differences]
        return found

    def _complete(self, rows, cuts):
        """Rows with gaps filled by what is left over in the other towers, in order; towers may have more inputs."""
        for tower in range(1, self.towers.count):
            left = [tensor for tensor in cuts[tower] if tensor not in [row[tower] for row in rows]]
            for row in rows:
                if row[tower] is None:
                    fits = [t for t in left if self._signature(t) == self._signature(row[0])]
                    row[tower] = fits[0] if fits else row[0]
                    left = [tensor for tensor in left if tensor != row[tower]]
            rows += [[tensor] * self.towers.count for tensor in left]
        return rows

    def _signature(self, tensor):
        return self.imported.dtype(*tensor), self.imported.shape(*tensor)

    def _noise(self, nodes):
        kind = self.graph.type(nodes[0])
        frames = self.graph.frames()
        in_loop = any(node in frames for node in nodes)
        found = {node: loops.of(self.graph, self.imported, node) for node in nodes} if in_loop else {}
        how = "keyed" if kind in vocabulary.KEYED and None not in found.values() else "seeded"
        return Noise(nodes[0], kind, how, nodes, in_loop, found if how == "keyed" else {})

    def _variables(self, effects):
        used = {variable for effect in effects for variable in effect.writes}
        used |= {variable for node, read in self.state.reads.items() for variable in read}
        return roles.variables(self.graph, self.state, effects, self.towers.of, used)

    def _finish(self, phase, aliases, variables):
        divided = phase.divided
        shapes = {v.name: (v.dtype, v.shape) for v in variables}
        cutter = Cutter(self.graph, aliases, shapes, lambda tensor: self._sign(tensor), {})
        combine, gradients = self._combine(phase, cutter)
        crossings, early = self._rows(divided.crossings), self._rows(divided.early)
        for tensor in [tensor for tower in divided.returns + divided.kept for tensor in tower]:
            self._sign(tensor_name(*tensor))
        for tensor in phase.losses:
            self._sign(tensor_name(*tensor))
        for entry in combine:
            self._sign(entry.tensor)
        versions = [[n, v, count] for (n, v), count in sorted(phase.order.versions.items()) if count]
        return Phase(
            train_op=phase.target,
            losses=[tensor_name(*tensor) for tensor in phase.losses],
            loss_scale=losses.scale(self.graph, self.imported, self.towers, cutter, phase.members, phase.losses),
            gradients=gradients,
            crossings=crossings,
            effects=phase.effects,
            versions=versions,
            pins=[list(pair) for pair in phase.order.pins],
            races=phase.order.races,
            combine=combine,
            other_pins=self._other_orders(phase),
            racing=sorted({text.partition(":")[0] for text in phase.order.races} | self._racing(phase)),
            twins=self._twins(divided),
            state_crossings=self._state_crossings(phase, variables),
            returns=_names(divided.returns) if any(divided.returns) else [],
            early=early,
            raw=self._raw(gradients),
            shared_loss=any(self.towers.shared(target) for target in losses.differentiated(self.graph, phase.members)),
            kept=_names(divided.kept),
            members=len(phase.members),
        )

    def _raw(self, gradients):
        """{weight: tensor} for each tower: gradients as they came from differentiation; {} if some are not found."""
        raw = []
        for tower in gradients:
            found = {}
            for label, name in tower.items():
                tensor = losses.raw_gradient(self.graph, roles._pair(name), self._like(roles._pair(name)))
                dense = label + " (indices)" not in tower and label in self.state.variables
                if (
                    dense and tensor is not None
                ):  # an IndexedSlices that was made dense has other rows than its variable
                    shape = self.imported.shape(*tensor)
                    tensor = tensor if shape in (None, tuple(self.state.variables[label].shape)) else None
                if tensor is not None and " (part" not in label:
                    found[label] = tensor_name(*tensor)
                    self._sign(found[label])
            raw.append(found if len(found) == len(tower) else {})
        return raw

    def _rows(self, crossings):
        """[[tensor's name or None, for each tower]]."""
        rows = []
        for row in crossings.values():
            rows.append([tensor_name(*row[t]) if t in row else None for t in range(self.towers.count)])
            for tensor in row.values():
                self._sign(tensor_name(*tensor))
        return rows

    def _other_orders(self, phase):
        """Pins of the other orders that the graph allows, if it leaves any open."""
        if not phase.order.races:
            return []
        orders = [
            ordering.settle(self.graph, self.state, phase.members, self.data, variant)
            for variant in ("early", "reversed")
        ]
        return [[list(pair) for pair in order.pins] for order in orders if order.pins != phase.order.pins]

    def _racing(self, phase):
        """Variables that change by what an open order decides."""
        users = {after for _, after in phase.order.pins} | {before for before, _ in phase.order.pins}
        reached = self.graph.descendants(users & set(self.state.reads), controls=False)
        return (
            {v for effect in phase.effects if effect.node in reached for v in effect.writes}
            if phase.order.races
            else set()
        )

    def _state_crossings(self, phase, variables):
        """{tensor: effect} of the crossings that do nothing but set one tower's own state."""
        state = {v.name for v in variables if v.role == "state"}
        used = collections.defaultdict(set)
        for effect in phase.effects:
            for tensor in parts.walk_back(self.graph, self.state, effect.node, phase.divided.tower_nodes):
                used[tensor_name(*tensor)].add(effect.node)
        setters = {effect.node for effect in phase.effects if set(effect.writes) <= state}
        return {name: next(iter(nodes)) for name, nodes in used.items() if len(nodes) == 1 and nodes <= setters}

    def _twins(self, divided):
        """{tensor of a later tower: tensor of the first} where each is alone in its row: both towers' batch means."""
        crossings = divided.crossings
        lone = [next(iter(row.items())) for row in crossings.values() if len(row) == 1]
        first = [tensor for tower, tensor in lone if tower == 0]
        twins = {}
        for tower, tensor in lone:
            for candidate in first if tower else []:
                cuts = set(divided.cuts[0]) | set(divided.cuts[tower])
                found = matching.match(self.graph, [(candidate, tensor)], cuts, self.random)
                if not found.differences and tensor_name(*candidate) not in twins.values():
                    twins[tensor_name(*tensor)] = tensor_name(*candidate)
                    break
        return twins

    def _combine(self, phase, cutter):
        """([`Combine`], [{weight: tensor} for each tower])."""
        found, gradients = [], [{} for _ in range(self.towers.count)]
        for effect in phase.effects:
            if not combining.is_weight_gradient(effect.op) or effect.gradient is None:
                continue
            for label, value in _gradient_inputs(effect):
                target = roles._pair(value)
                parts_ = combining.parts_of(
                    self.graph, effect, target, phase.divided.tower_nodes, self._like(target), self.towers.count
                )
                if not any(parts_):
                    continue
                found.append(
                    combining.recognise(
                        self.graph,
                        cutter,
                        self.imported,
                        label,
                        target,
                        parts_,
                        phase.divided.tower_nodes,
                        self.state.variables[effect.writes[0]].shape,
                    )
                )
                for tower, tensors in enumerate(parts_):
                    for i, tensor in enumerate(tensors):
                        key = label if len(tensors) == 1 else "{} (part {})".format(label, i + 1)
                        gradients[tower][key] = tensor_name(*tensor)
        return found, gradients

    def _like(self, target):
        """Whether a tensor could be a part of `target`: same dtype and rank, same rows unless those are joined."""
        dtype, shape = self._signature(target)

        def test(name, output):
            other = self.imported.shape(name, output)
            if self.imported.dtype(name, output) != dtype or shape is None or other is None:
                return self.imported.dtype(name, output) == dtype
            return len(other) == len(shape) and all(
                a == b or None in (a, b) or i == 0 for i, (a, b) in enumerate(zip(shape, other))
            )

        return test

    def _sign(self, tensor):
        """(dtype's name, shape) of a tensor, noted for the plan."""
        name, output = roles._pair(tensor)
        shape = self.imported.shape(name, output)
        self.tensors[tensor] = [self.imported.dtype(name, output), None if shape is None else list(shape)]
        return self.tensors[tensor]


_PhaseParts = collections.namedtuple("_PhaseParts", "target members order losses divided effects")


def _names(towers):
    return [[tensor_name(*tensor) for tensor in tower] for tower in towers]


def _gradient_inputs(effect):
    """[(label, tensor)]: the gradient, and the rows of a sparse one."""
    weight = effect.writes[0]
    pairs = [(weight, effect.gradient)]
    if vocabulary.is_sparse(effect.op):
        place = effect.gradient_at
        indices = effect.values[place + 1] if vocabulary.is_apply(effect.op) else effect.values[0]
        pairs.append((weight + " (indices)", indices))
    return pairs
