"""Facts of a graph that cannot be analysed, read from its nodes one by one."""

from __future__ import annotations

import collections
import re
from collections.abc import Mapping
from typing import Any, Dict, List

import tensorflow as tf

from legacy.saved.facts.basics.clipping import Clippings
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.runs import train_ops
from workloads.lifted.graph import Graph
from workloads.lifted.graph.old_ops import registered_op
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import SEVERAL, listed

#: {section: its rows}, in the order of the page.
Sections = Dict[str, List[Dict[str, Any]]]
#: Beginnings of the types of ops that save and restore, and the ops by which a Saver's file name reaches them.
CHECKPOINT_OPS = ("Save", "Restore", "MergeV2Checkpoints", "ShardedFilename")
COPIES_OF_FILE_NAMES = ("Identity", "PlaceholderWithDefault", "StringJoin", "ShardedFilename", "Pack")


def whole_facts(saved: SavedGraph, whole: WholeGraph) -> Sections:
    """Describes a graph as far as that needs no analysis.

    Args:
      saved: the graph, as read from its file.
      whole: the same with its towers and updates.

    Returns:
      {section: rows} of some of the sections that an analysed graph has.
    """
    runs = list(train_ops.named_train_ops(whole.graph, whole.trainable))
    program = [
        {"what": "graph", "is": saved.path},
        {"what": "written by TensorFlow", "is": saved.written_by},
        {"what": "nodes", "is": f"{len(whole.graph.nodes)} in all"},
        {"what": "ops that train", "is": listed(runs, SEVERAL) or "none"},
    ]
    towers = [{"what": "number", "is": str(whole.count)}, {"what": "told apart by", "is": whole.found_by or "-"}]
    return collections.OrderedDict(
        [
            ("program", program),
            ("towers", towers),
            ("inputs", _sources(whole.graph)),
            ("optimizers", _optimizers(whole)),
            ("variables", _variables(whole)),
            ("devices", device_rows(whole.graph)),
        ]
    )


def _sources(graph: Graph) -> list[dict[str, Any]]:
    """A row for each placeholder and each data source that some node uses; not the file names of a Saver."""
    rows = []
    for name, node in graph.nodes.items():
        is_input = op_types.is_source(node.op) or node.op == "PlaceholderWithDefault"
        if is_input and graph.users(name) and not _names_checkpoint(graph, name):
            shapes = node.attr["_output_shapes"].list.shape or [node.attr["shape"].shape]
            dtypes = [node.attr["dtype"].type] if node.attr["dtype"].type else []
            dtypes += list(node.attr["component_types"].list.type or node.attr["output_types"].list.type)
            rows.append(
                {
                    "name": name,
                    "dtype": ", ".join(tf.as_dtype(dtype).name for dtype in dtypes) or "-",
                    "shape": ", ".join(str(tf.TensorShape(shape)) for shape in shapes),
                    "enters by": node.op,
                }
            )
    return rows


def _names_checkpoint(graph: Graph, name: str) -> bool:
    """Whether a node is the file name that ops which save and restore take, and nothing else."""
    todo, seen = [name], {name}
    while todo:
        for user in {use.node for use in graph.users(todo.pop())} - seen:
            kind = graph.type(user)
            if kind in COPIES_OF_FILE_NAMES:
                seen.add(user)
                todo.append(user)
            elif not kind.startswith(CHECKPOINT_OPS):
                return False
    return True


def _optimizers(whole: WholeGraph) -> list[dict[str, Any]]:
    """The update rules, with the scalar constants that each takes and the clipping before them."""
    clipped = Clippings(whole.graph).text(_behind_gradients(whole)) or "no"
    groups: dict[tuple[str, str], int] = collections.Counter()
    for name in whole.applies:
        kind = whole.graph.type(name)
        rule = op_types.rule_name(kind) if op_types.is_apply(kind) else f"written by hand ({kind})"
        texts = [f"{argument}{value:g}" for argument, value in _numbers(whole, name)]
        attributes = whole.graph.nodes[name].attr
        texts += ["nesterov"] if "use_nesterov" in attributes and attributes["use_nesterov"].b else []
        groups[rule, ", ".join(texts) or "-"] += 1
    return [
        {"rule": rule, "constants": constants, "variables": str(count), "clipped": clipped}
        for (rule, constants), count in groups.items()
    ]


def _numbers(whole: WholeGraph, apply: str) -> list[tuple[str, float]]:
    """("name=" of the argument, its number) of the constants that an update takes; of one by hand, without names."""
    definition = registered_op(whole.graph.type(apply)) if op_types.is_apply(whole.graph.type(apply)) else None
    inputs = whole.graph.inputs(apply)
    names = [f"{one.name}=" for one in definition.input_arg] if definition is not None else [""] * len(inputs)
    values = [(name, whole.value(tensor.node)) for name, tensor in zip(names, inputs)]
    return [(name, value) for name, value in values if value is not None]


def _behind_gradients(whole: WholeGraph) -> set[str]:
    """Nodes between the gradients and the update rules: a bound or a norm inside of the model is no clipping."""
    backward = {name for name in whole.reach if is_gradient_op(name)}
    behind = whole.graph.descendants(backward, controls=False) & whole.reach
    return behind - whole.graph.ancestors(backward, controls=False)


def _variables(whole: WholeGraph) -> list[dict[str, Any]]:
    rows = []
    for name, node in whole.graph.nodes.items():
        if node.op in op_types.VARIABLES:
            shape = node.attr["shape"].shape
            rows.append(
                {
                    "name": name,
                    "shape": str(tf.TensorShape(shape)),
                    "dtype": tf.as_dtype(node.attr["dtype"].type).base_dtype.name,
                    "trainable": "yes" if name in whole.trainable else "no" if whole.trainable else "-",
                    "device": node.device or "-",
                }
            )
    return rows


def _full_name(device: str) -> str:
    """A device in its full spelling: "/gpu:0" and "/GPU:0" are "/device:GPU:0".

    >>> _full_name("/job:worker/gpu:0"), _full_name("/device:CPU:0")
    ('/job:worker/device:GPU:0', '/device:CPU:0')
    """
    return re.sub(r"(?i)/(?:device:)?(cpu|gpu):", lambda match: f"/device:{match.group(1).upper()}:", device)


def device_rows(graph: Graph, origins: Mapping[str, tuple[str, str]] | None = None) -> list[dict[str, Any]]:
    """Returns a row for each device, with the number of its ops and their most frequent types.

    Args:
      graph: whose ops are counted.
      origins: {placeholder of data: (name of the tensor that it stands for, type of the old graph's op)}.

    Returns:
      The rows.
    """
    types = {name: kind for name, (_, kind) in (origins or {}).items()}
    kinds: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name, node in graph.nodes.items():
        kinds[_full_name(node.device) or "(none)"][types.get(name) or graph.type(name)] += 1
    counts = collections.Counter({device: sum(ops.values()) for device, ops in kinds.items()})
    return [
        {
            "device": device,
            "ops": count,
            "mostly": ", ".join(kind for kind, _ in kinds[device].most_common(5) if kind != "Const"),
        }
        for device, count in counts.most_common()
    ]
