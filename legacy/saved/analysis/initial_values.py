"""Initial values of a lift's variables: from a checkpoint, or from the graph's own initializers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Dict, List, NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import assigned_variable, variable_of
from legacy.saved.graph.cut import cone
from legacy.saved.graph.imported import without_placement
from legacy.saved.graph.partitions import parts_of_variables, restored_names, saved_names
from legacy.towers.program import session_config
from workloads.lifted import checkpoint
from workloads.lifted.graph import Graph
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.plan import Plan, Variable
from workloads.support.errors import InputError
from workloads.support.wording import counted, listed

v1 = tf.compat.v1
#: Roles of the variables that a checkpoint must have; others (a statistic may be a local variable) are initialized.
SAVED_ROLES = ("weight", "slot", "average")
#: Those that it must have where it is all that a saver of the graph writes, such as a Saver of the trained variables.
SAVED_BY_ANY = ("weight",)
MOST_LISTED = 8
#: End of the name of a mirrored variable's copy.
_REPLICA = re.compile(r"/replica_\d+$")


class StartValues(NamedTuple):
    """Values that variables start from.

    Attributes:
      arrays: {variable: array}.
      begun: names of the slots and averages that begin from initializers, since the checkpoint's saver leaves them out.
      held: {switch: its value in the checkpoint} of variables that are taken to have another.
      renamed: {variable: its name in the checkpoint} of those that have another there.
      copied: weights that the checkpoint lacks and that the program sets to another weight's value before it trains.
    """

    arrays: Dict[str, np.ndarray]
    begun: List[str]
    held: Mapping[str, object] = {}
    copied: Sequence[str] = ()
    renamed: Mapping[str, str] = {}


#: Of a graph whose values are not read.
NO_VALUES = StartValues({}, [])


def copied_text(copied: Sequence[str]) -> str:
    """Returns a sentence on weights that begin as copies of others; "" for none."""
    if not copied:
        return ""
    count = counted(len(copied), "weight begins as a copy", "weights begin as copies")
    them = "it" if len(copied) == 1 else "them"
    return (
        f"{count} of another tower's, to which an op outside of the step sets {them}, since the Saver does not write "
        f"{them}: {listed(copied, MOST_LISTED)}"
    )


def texts_of_values(values: StartValues) -> list[str]:
    """Returns the sentences on the values that variables start from, "" for each that there is no reason for."""
    return [begun_text(values.begun), held_text(values.held), copied_text(values.copied)]


def begun_text(begun: Sequence[str]) -> str:
    """Returns a sentence on variables that begin from initializers; "" for none."""
    if not begun:
        return ""
    count = counted(len(begun), "variable begins", "variables begin")
    return (
        f"{count} from the graph's initializers, as in the program after a restart, since its Saver does not write "
        f"{'it' if len(begun) == 1 else 'them'}: {listed(begun, MOST_LISTED)}"
    )


def held_text(held: Mapping[str, object]) -> str:
    """Returns a sentence on switches that a checkpoint holds with values that are not taken; "" for none.

    A program may save between its trainings and evaluations, so that either may be the value that it trained with.
    """
    if not held:
        return ""
    values = listed([f"{name} = {value}" for name, value in held.items()], MOST_LISTED)
    flags = ",".join(f"{name}={str(value).lower()}" for name, value in held.items())
    return f"the checkpoint holds {values}, which is not taken; if the program trained so: --feed={flags}"


def values_from_checkpoint(path: str, plan: Plan, whole: Graph) -> StartValues:
    """Reads a checkpoint and initializes the variables that it lacks.

    Args:
      path: the checkpoint.
      plan: the plan of the lift, whose variables need values.
      whole: the whole graph, with the initializers.

    Returns:
      The values of the plan's variables and of all others in the checkpoint. Slots and averages may be missing where
      the checkpoint has what a saver of the graph writes: the program initialized them, and then restored the others.

    Raises:
      InputError: the checkpoint lacks variables, or has others in shape or dtype; the message lists them.
    """
    read = checkpoint.read_checkpoint(path)
    required = SAVED_BY_ANY if set(read) in saved_names(whole) else SAVED_ROLES
    stored = _with_parts(read, whole)
    stored.update(_mirrored_values(plan, stored))
    renamed = _renamed(plan, stored, whole)
    stored.update((name, stored[other]) for name, other in renamed.items())
    lacking = {variable.name for variable in plan.variables} - set(stored)
    copies = _copies(plan, whole, stored) if lacking else {}
    copied = sorted(lacking & set(copies))
    renamed.update((name, renamed.get(copies[name], copies[name])) for name in copied)
    stored.update((name, stored[copies[name]]) for name in copied)
    for variable in plan.variables:
        _require_whole(variable.name, stored)
    missing = [variable for variable in plan.variables if variable.name not in stored]
    saved = {v.name: np.asarray(stored[v.name]) for v in plan.variables if v.name in stored}
    problems = [text for v in plan.variables if v.name in saved for text in _mismatches(v, saved[v.name])]
    problems += [f"{name}: not in it" for name in sorted({v.name for v in missing if v.role in required})]
    if problems:
        raise InputError(_refusal(path, problems, sorted(set(stored) - {v.name for v in plan.variables})))
    values = dict(saved)
    values.update((name, value) for name, value in stored.items() if name not in values)
    if missing:
        names = [variable.name for variable in missing]
        try:
            values.update(values_from_initializers(names, whole))
        except InputError as error:
            reason = str(error).replace("--checkpoint: ", "").replace("; give a checkpoint", "")
            raise InputError(f"--checkpoint: {path!r} lacks {listed(names, MOST_LISTED)}: {reason}") from error
    begun = [variable.name for variable in missing if variable.role in SAVED_ROLES]
    return StartValues(values, begun, copied=copied, renamed=renamed)


def _with_parts(stored: dict[str, np.ndarray], whole: Graph) -> dict[str, np.ndarray]:
    """A checkpoint's values with the parts of partitioned variables in place of these, as the graph has them."""
    parts = {name: part for name, part in parts_of_variables(whole).items() if name not in stored}
    shapes = {name: np.shape(value) for name, value in stored.items()}
    taken = {name: part for name, part in parts.items() if shapes.get(part.tensor) == part.shape}
    whole_names = {part.tensor for part in taken.values()}
    values = {name: value for name, value in stored.items() if name not in whole_names}
    values.update((name, stored[part.tensor][part.slices]) for name, part in taken.items())
    return values


def _mirrored_values(plan: Plan, stored: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the values of the copies, `w/replica_1`, of variables that a `MirroredStrategy` of 1.x saves once."""
    copies = {v.name: _REPLICA.sub("", v.name) for v in plan.variables if v.name not in stored}
    return {name: stored[first] for name, first in copies.items() if first != name and first in stored}


def _renamed(plan: Plan, stored: Mapping[str, np.ndarray], whole: Graph) -> dict[str, str]:
    """Returns {variable: its name in a checkpoint} of those that it has under names that a saver of the graph gives."""
    lacking = {v.name for v in plan.variables if v.name not in stored}
    names = restored_names(whole) if lacking else {}
    found = {name: [other for other in names.get(name, []) if other in stored] for name in lacking}
    return {name: others[0] for name, others in found.items() if others}


def _require_whole(name: str, stored: dict[str, np.ndarray]) -> None:
    """Raises `InputError` if a checkpoint has a variable in one piece whose parts lie where no saver tells."""
    whole_name = re.sub(r"/part_\d+$", "", name)
    if whole_name != name and whole_name in stored:
        raise InputError(f"--checkpoint: {whole_name!r} is partitioned, and no saver in the graph tells its parts")


def _mismatches(variable: Variable, value: np.ndarray) -> Iterator[str]:
    """Says how a checkpoint's value does not fit its variable: first by its shape, or else by its dtype."""
    if variable.shape is not None and list(value.shape) != list(variable.shape):
        yield f"{variable.name}: {variable.shape} in the graph, {list(value.shape)} in it"
    elif value.dtype.name != variable.dtype:
        yield f"{variable.name}: {variable.dtype} in the graph, {value.dtype.name} in it"


def _refusal(path: str, problems: list[str], unused: list[str]) -> str:
    besides = "; it has besides: " + listed(unused, MOST_LISTED) if unused else ""
    return f"--checkpoint: {path!r} is not of this graph: {listed(problems, MOST_LISTED, '; ')}{besides}"


def values_from_initializers(names: Sequence[str], whole: Graph) -> dict[str, np.ndarray]:
    """Runs the graph's own initializers.

    Args:
      names: the variables.
      whole: the whole graph.

    Returns:
      {variable: array}.

    Raises:
      InputError: a variable has no initializer, or one that reads files or calls Python.
    """
    initializers = {name: _initializer(whole, name) for name in names}
    if not initializers:
        return {}
    targets = list(initializers.values())
    _require_runnable(whole, targets)
    cut = cone.extract_cone(whole, targets)
    with tf.Graph().as_default() as graph, v1.Session(config=session_config(["CPU:0"], True)) as session:
        import_graph(without_placement(cut.graph), subject="graph file")
        operations = {target: graph.get_operation_by_name(target) for target in targets}
        alone = [target for target in targets if _is_independent(cut.graph, target)]
        session.run([operations.pop(target) for target in alone])
        _run_until_all(session, list(operations.values()))
        return session.run({name: _value(graph, whole, name) for name in names})


def values_of_copies(plan: Plan, whole: Graph, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the values of weights that an op outside of the step sets to those of another weight.

    A program with a copy of the model for each tower makes them equal so, before it trains.

    Args:
      plan: the plan of the lift.
      whole: the whole graph.
      values: {variable: its initial value}.

    Returns:
      {weight: value}; none of weights that are set to each other's, of which no first one is known, and of those
      whose first one has no value.
    """
    return {name: values[source] for name, source in _copies(plan, whole, values).items()}


def _copies(plan: Plan, whole: Graph, values: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Returns {weight: the weight that it is set to}; see `values_of_copies`."""
    weights = {variable.name for variable in plan.variables if variable.role == "weight"}
    in_step = {effect.node for phase in plan.phases for effect in phase.effects}
    sources: dict[str, str] = {}
    for name in [name for name in whole.nodes if name not in in_step]:
        source = assigned_variable(whole, name)
        target = variable_of(whole, name) if source in weights else None
        if source is not None and target in weights and target != source:
            sources.setdefault(target, source)
    first = {target: source for target, source in sources.items() if source not in sources and source in values}
    shapes = {name: np.shape(values[name]) for name in values}
    return {name: source for name, source in first.items() if shapes.get(name, shapes[source]) == shapes[source]}


def _require_runnable(whole: Graph, initializers: list[str]) -> None:
    """Raises `InputError` if initializers depend on data, Python, files, or an op that this TensorFlow lacks."""
    for node in whole.ancestors(initializers) - set(initializers):
        kind = whole.type(node)
        if op_types.is_source(kind) or op_types.is_unsafe(kind) or not cone.is_known(kind):
            raise InputError(
                f"--checkpoint: the initial values depend on {node} ({kind}), which is not run; give a checkpoint"
            )


def _initializer(whole: Graph, name: str) -> str:
    """The op that assigns a variable its first value, by preference one in the variable's name scope."""
    assigns = [user for user, position, _ in whole.users(name) if position == 0 and whole.type(user) in op_types.SETS]
    own = [user for user in assigns if user.startswith(name)]
    if not assigns:
        raise InputError(f"--checkpoint: variable {name!r} has no initializer in the graph; give a checkpoint")
    return (own + assigns)[0]


def _is_independent(graph: Graph, initializer: str) -> bool:
    """Whether an initializer reads no variable, so that it may run beside others."""
    return sum(graph.type(name) in op_types.VARIABLES for name in graph.ancestors([initializer])) == 1


def _run_until_all(session: tf.compat.v1.Session, operations: list[tf.Operation]) -> None:
    """Runs initializers, again those that read a variable which was not initialized yet, until all have run."""
    while operations:
        left = []
        for operation in operations:
            try:
                session.run(operation)
            except tf.errors.FailedPreconditionError:
                left.append(operation)
        if len(left) == len(operations):
            raise InputError(f"--checkpoint: {left[0].name} cannot be initialized; give a checkpoint")
        operations = left


def _value(graph: tf.Graph, whole: Graph, name: str) -> tf.Tensor:
    """The tensor of a variable's value."""
    tensor = graph.get_tensor_by_name(name + ":0")
    if whole.type(name) == "VarHandleOp":
        with graph.as_default():
            tensor = tf.raw_ops.ReadVariableOp(resource=tensor, dtype=whole.nodes[name].attr["dtype"].type)
    return tensor
