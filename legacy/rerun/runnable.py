"""A saved graph made ready for a session: ends replaced, open orders pinned, devices those that are here."""

from __future__ import annotations

import re

import tensorflow as tf

from workloads.lifted.graph import Graph, forget_placement, split, tensor_name
from workloads.lifted.noise import count_turns, drawn_nodes, loops_of, seed, use_twin

v1 = tf.compat.v1


def rates(phase):
    """Tensors of a phase's learning rates, each once, in the order of its updates."""
    found = []
    for effect in phase.effects:
        if effect.rate and effect.rate not in found:
            found.append(effect.rate)
    return found


def noise_nodes(plan):
    """[(random node, tower or None, the noise's name)] of all keyed noise."""
    found = [(n, tower, e.name) for e in plan.noise if e.how == "keyed" for tower, n in enumerate(e.nodes) if n]
    return found + [(e.nodes[0], None, e.name) for e in plan.common_noise if e.how == "keyed"]


def key_name(node):
    """Name of the placeholder for the key of a random node."""
    return re.sub(r"[^A-Za-z0-9_]", "_", node) + "_lift_key"


def drawn(workload):
    """{random tensor: (tower, what a batch calls it)} of the numbers that a batch brings."""
    found = {}
    for entry in workload.plan.noise + workload.plan.common_noise:
        for tower, node in enumerate(entry.nodes if not entry.in_loop else []):
            for _, _, output in workload.graph.users(node) if node else []:
                found[tensor_name(node, output)] = (tower, f"noise/{entry.name}/{output}")
    return found


def placeholders(plan, drawn):
    """{tensor: name of the placeholder that takes its place}."""
    tensors = sorted({tensor for entry in plan.inputs + plan.common for tensor in entry.tensors} | set(drawn))
    return {tensor: f"lift_input_{i}" for i, tensor in enumerate(tensors)}


def runnable(workload, inputs, devices, noise, pins):
    """The GraphDef to import: sources replaced, orders pinned, devices mapped to those that are here."""
    plan, graph = workload.plan, workload.graph
    result = v1.GraphDef(versions=graph.graph_def.versions, library=graph.graph_def.library)
    for tensor, name in inputs.items():
        node = result.node.add(name=name, op="Placeholder")
        node.attr["dtype"].type = tf.as_dtype(plan.tensors[tensor][0]).as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(plan.tensors[tensor][1]).as_proto())
    renamed = {split(tensor): name for tensor, name in inputs.items()}
    first = {}
    for before, after in (pin for one in pins or [phase.pins for phase in plan.phases] for pin in one):
        first.setdefault(after, set()).add(before)
    keyed = {node for node, _, _ in noise_nodes(plan)} - (set(drawn_nodes(plan)) if noise == "drawn" else set())
    seeded = {node for entry in plan.noise + plan.common_noise if entry.how == "seeded" for node in entry.nodes if node}
    loops = loops_of(plan)
    for name, node in graph.nodes.items():
        copy = result.node.add()
        copy.CopyFrom(node)
        forget_placement(copy)
        copy.device = _here(node.device, devices)
        del copy.input[:]
        copy.input.extend(renamed.get(t) or (t[0] if t[1] == 0 else tensor_name(*t)) for t in graph.inputs(name))
        if name in keyed:
            key = key_name(name)
            if name in loops:
                frame, counter = loops[name]
                key = count_turns(result, name, key, frame, counter)
            use_twin(copy, key)
            holder = result.node.add(name=key_name(name), op="Placeholder")
            holder.attr["dtype"].type = tf.int32.as_datatype_enum
            holder.attr["shape"].shape.dim.add(size=2)
        elif name in seeded:
            seed(copy)
        copy.input.extend("^" + control for control in graph.controls(name))
        copy.input.extend("^" + before for before in sorted(first.get(name, ())) if before not in graph.controls(name))
    return _pruned(result, workload.plan)


def _pruned(graph_def, plan):
    """Without what no train op and nothing observed needs: what was upstream of the inputs."""
    graph = Graph(graph_def)
    ends = {phase.train_op for phase in plan.phases} | {v.name for v in plan.variables}
    for phase in plan.phases:
        ends |= {split(t)[0] for t in phase.losses} | {split(t)[0] for g in phase.gradients for t in g.values()}
    kept = graph.ancestors(ends)
    result = v1.GraphDef(versions=graph_def.versions, library=graph_def.library)
    result.node.extend(node for node in graph_def.node if node.name in kept or node.name.startswith("lift_input_"))
    return result


def _here(device, devices):
    """An old device string for the devices of this run: /gpu:1 is the second tower's."""
    match = re.search(r"(?i)/(?:device:)?(gpu|cpu):(\d+)", device)
    if not match:
        return ""
    if match.group(1).lower() == "cpu" and match.group(2) == "0":
        return "/device:CPU:0"
    return "/device:" + devices[int(match.group(2)) % len(devices)]
