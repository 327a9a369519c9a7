"""Recorder of a training program of TensorFlow 1.x in its own environment: copy this one file next to the script.

    import recorder
    recorder.start("run", steps=20)      # anywhere before training

It needs nothing but TensorFlow 0.12 or later, numpy, and Python 2.7 or later. From then on every `Session.run` that
updates weights, by an optimizer, by assignments that depend on gradients, or by assignments of weights from themselves,
such as clipping, is a step, and so is one that adds up gradients for an optimizer of another run, or sets them back.
Before the first one the folder gets `graph.meta` (the whole graph) and `model.ckpt` (every variable); each of the first
`steps` steps adds to `steps.zip` the inputs and random numbers that were drawn, every scalar, what the program fetches,
each tower's gradients, all that is made of them, the variables afterwards, and those that other runs changed since the
step before. The program itself goes on as before, and no op is added to its graph. In the environment of this project:

    python -m legacy.lift run/graph.meta --checkpoint=run/model.ckpt --out=lifted
    python -m parity.verify --workload=lifted --recording=run

The meaning of the tensors is worked out there; this file only writes down all that may be needed.
"""

import collections
import io
import json
import os
import re
import sys
import zipfile

import numpy as np
import tensorflow

# Arguments are annotated in comments, which the type checker reads: Python 2.7 has no annotations and no `typing`.
MYPY = False
if MYPY:
    from typing import Any, Dict, Iterable, List, Sequence, Set, Tuple  # noqa: F401

tf = getattr(getattr(tensorflow, "compat", None), "v1", tensorflow)
if not hasattr(tf, "Session"):  # compat.v1 of the releases that had little in it
    tf = tensorflow

FORMAT = 1
SOURCES = (
    "QueueDequeue",
    "IteratorGetNext",
    "ReaderRead",
    "PyFunc",
    "Unstage",
    "FIFOQueue",
    "LookupTableFind",
    "StringToHash",
    "StringSplit",
    "StringToNumber",
    "DecodeRaw",
    "TakeManySparseFromTensorsMap",
)
RANDOM = ("Random", "TruncatedNormal", "ParameterizedTruncatedNormal", "Multinomial", "CandidateSampler")
MOST_BYTES = 16 << 20
ASSIGNMENTS = ("Assign", "Scatter", "ResourceScatter")
ADDITIONS = ("Add", "AddVariableOp", "NdAdd")
VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
COPIES = ("Identity", "RefIdentity", "ReadVariableOp")
SWITCHES = ("Switch", "RefSwitch")  # hand a value to a branch
HANDLE_PASSES = ("Identity", "RefIdentity", "Enter", "RefEnter") + SWITCHES
GRADIENTS = re.compile(r"(^|/)gradients(_\d+)?/")  # the name scope that tf.gradients opens


def start(folder, steps=20):
    # type: (str, int) -> None
    """Records the next `steps` training steps of this process into `folder`, which is made if need be."""
    if not os.path.isdir(folder):
        os.makedirs(folder)
    if os.path.exists(os.path.join(folder, "steps.zip")):
        raise IOError("{}: holds a recording already; name another folder, or remove it".format(folder))
    base = tf.Session.__mro__[1]  # BaseSession: monitored, supervised and interactive sessions all come by here
    plain_run = base.run
    recording = _Recording(folder, steps, plain_run)

    def run(session, fetches, feed_dict=None, options=None, run_metadata=None):
        # type: (Any, Any, Any, Any, Any) -> Any
        if recording.wants(session, fetches):
            return recording.step(session, fetches, feed_dict, options, run_metadata)
        return plain_run(session, fetches, feed_dict, options, run_metadata)

    base.run = run
    if hasattr(base, "_make_callable_from_options"):
        base._make_callable_from_options = _recorded_callables(recording, base._make_callable_from_options)


def _recorded_callables(recording, plain):
    # type: (_Recording, Any) -> Any
    """Returns a session's method that makes callables, by which Keras runs its steps, of which steps are recorded.

    Args:
      recording: the recording.
      plain: the method itself.

    Returns:
      The method.
    """

    def make(session, options):
        # type: (Any, Any) -> Any
        made = plain(session, options)
        fetches, nodes = list(options.fetch), list(options.fetch) + list(options.target)

        def call(*values, **others):
            # type: (Any, Any) -> Any
            if not options.tensor_connection and recording.wants(session, nodes):
                return recording.step(session, nodes, dict(zip(options.feed, values)), None, None)[: len(fetches)]
            return made(*values, **others)

        return call

    return make


class _Recording(object):
    """The recording of one program: which runs are steps, and what each leaves in the folder."""

    def __init__(self, folder, steps, plain_run):
        # type: (str, int, Any) -> None
        self._folder, self._left, self._run = folder, steps, plain_run
        self._about = {"format": FORMAT, "steps": []}  # type: Dict[str, Any]
        self._plans = {}  # type: Dict[Tuple[str, ...], _Plan]
        self._graph = None  # type: Any
        self._after = {}  # type: Dict[str, Any]
        self._busy = False

    def wants(self, session, fetches):
        # type: (Any, Any) -> bool
        """Returns whether this run is a training step to record."""
        if self._left <= 0 or self._busy or (self._graph is not None and session.graph is not self._graph):
            return False
        return self._plan(session.graph, fetches).updates

    def step(self, session, fetches, feed_dict, options, run_metadata):
        # type: (Any, Any, Any, Any, Any) -> Any
        """Runs and writes one training step.

        Args:
          session: the program's session.
          fetches: what the program fetches.
          feed_dict: what it feeds.
          options: as `Session.run` takes them.
          run_metadata: as `Session.run` takes it.

        Returns:
          the values of `fetches`.
        """
        self._busy = True
        try:
            plan = self._plan(session.graph, fetches)
            if self._graph is None:
                self._begin(session)
            before = self._variables(session, plan.variables) if self._after else {}
            fed = _by_name(session.graph, feed_dict)
            self._note_fed(fed)
            extra = [tensor for tensor in plan.tensors if tensor.name not in fed]
            answer, seen = self._run(session, [fetches, extra], feed_dict, options, run_metadata)
            arrays = dict(("tensors/" + name, value) for name, value in fed.items())
            arrays.update(("tensors/" + tensor.name, value) for tensor, value in zip(extra, seen))
            changed = [name for name, value in before.items() if not _is_equal(value, self._after.get(name))]
            arrays.update(("before/" + name, before[name]) for name in changed)
            self._after = self._variables(session, plan.variables)
            arrays.update(("after/" + name, value) for name, value in self._after.items())
            self._write(arrays, plan.targets)
            self._left -= 1
            return answer
        finally:
            self._busy = False

    def _note_fed(self, names):
        # type: (Iterable[str]) -> None
        """Keeps the names of fed tensors that are no placeholders: the graph has other values for them."""
        kinds = dict((name, self._graph.get_tensor_by_name(name).op.type) for name in names)
        known = set(self._about.get("fed", []))
        self._about["fed"] = sorted(known.union(n for n, kind in kinds.items() if not kind.startswith("Placeholder")))

    def _plan(self, graph, fetches):
        # type: (Any, Any) -> _Plan
        targets = tuple(sorted(_operations(graph, fetches)))
        if targets not in self._plans:
            self._plans[targets] = _Plan(graph, targets)
        return self._plans[targets]

    def _begin(self, session):
        # type: (Any) -> None
        """Writes the graph and all variables before the first step, also those in no collection."""
        self._graph = session.graph
        with self._graph.as_default():
            tf.train.export_meta_graph(os.path.join(self._folder, "graph.meta"))
        values = self._variables(session, _with_numbers(self._graph.get_operations()))
        with tf.Graph().as_default():  # a graph of its own, so that the program's stays as it is
            holders = [(tf.placeholder(v.dtype, v.shape), v) for _, v in sorted(values.items())]
            made = [tf.Variable(h, name=n) for n, (h, _) in zip(sorted(values), holders)]
            saver = tf.train.Saver(dict(zip(sorted(values), made)))
            with tf.Session() as other:
                self._run(other, [v.initializer for v in made], dict(holders))
                saver.save(other, os.path.join(self._folder, "model.ckpt"), write_meta_graph=False)

    def _variables(self, session, others=()):
        # type: (Any, Iterable[str]) -> Dict[str, Any]
        """{variable name: value} of all global and local variables that hold numbers and are initialized, and others.

        Args:
          session: the program's session.
          others: names of variables that may be in no collection, such as those that hold examples, or a mirrored
            variable's copies.
        """
        reads = collections.OrderedDict()  # type: Dict[str, Any]
        for name in others:
            reads[name] = _value(self._graph.get_operation_by_name(name))
        for key in ("variables", "local_variables"):
            for variable in self._graph.get_collection(key):
                tensor = _value(self._graph.get_operation_by_name(variable.op.name))
                if tensor is not None and tensor.dtype.base_dtype != tf.string:
                    reads[variable.op.name] = tensor
        try:
            return dict(zip(reads, self._run(session, list(reads.values()))))
        except tf.errors.FailedPreconditionError:  # one that the program never initializes
            values = {}
            for name, tensor in reads.items():
                try:
                    values[name] = self._run(session, tensor)
                except tf.errors.FailedPreconditionError:
                    pass
            return values

    def _write(self, arrays, targets):
        # type: (Dict[str, Any], Sequence[str]) -> None
        """Adds a step: its arrays to steps.zip, and the operations that the program ran to recording.json."""
        content = io.BytesIO()
        named = dict((name, np.asarray(value)) for name, value in arrays.items())  # type: Dict[str, Any]
        np.savez(content, **named)
        with zipfile.ZipFile(os.path.join(self._folder, "steps.zip"), "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("{:05d}.npz".format(len(self._about["steps"])), content.getvalue())
        self._about["steps"].append(list(targets))
        self._about["tensorflow"] = tf.__version__
        self._about["python"] = sys.version.split()[0]
        with open(os.path.join(self._folder, "recording.json"), "w") as file:
            json.dump(self._about, file, indent=1)


class _Plan(object):
    """Tensors to fetch along with a set of target operations.

    Attributes:
      targets: names of the operations that the program ran.
      updates: whether they change weights.
      variables: names of the variables that hold numbers and that they depend on.
      tensors: tensors to fetch besides; none if no weights change.
    """

    def __init__(self, graph, targets):
        # type: (Any, Tuple[str, ...]) -> None
        self.targets = targets
        cone = _ancestors([graph.get_operation_by_name(name) for name in targets])
        applies = [op for op in cone if "Apply" in op.type] or _assignments_by_gradients(graph, cone)
        applies = applies or _changes_of_kept_gradients(graph, cone)
        self.updates = bool(applies) or _changes_weights_alone(graph, cone)
        self.variables = _with_numbers(cone)
        self.tensors = []  # type: List[Any]
        if self.updates:
            conditional = _conditional(cone)
            chosen = (
                [tensor for op in cone for tensor in _worth_keeping(op)] + _gradients(applies) + _losses(graph, cone)
            )
            # What the program fetches itself may be fed in the next step, such as the last state of a recurrent cell.
            chosen += [t for name in targets for t in graph.get_operation_by_name(name).outputs if _is_plain(t)]
            chosen = [tensor for tensor in chosen if tensor.op not in conditional and graph.is_fetchable(tensor.op)]
            self.tensors = list(collections.OrderedDict((tensor.name, tensor) for tensor in chosen).values())


def _with_numbers(operations):
    # type: (Iterable[Any]) -> List[str]
    """Returns the names of the variables among some operations that hold numbers, and that somebody reads."""
    values = [(op.name, _value(op)) for op in operations if op.type in VARIABLES]
    return [name for name, value in values if value is not None and value.dtype.base_dtype != tf.string]


def _value(variable):
    # type: (Any) -> Any
    """Returns the tensor of a variable's value, from the op that makes it; None of a resource that nobody reads."""
    if variable.type != "VarHandleOp":
        return variable.outputs[0]
    reads = [op for op in variable.outputs[0].consumers() if op.name == variable.name + "/Read/ReadVariableOp"]
    return reads[0].outputs[0] if reads else None


def _is_equal(value, other):
    # type: (Any, Any) -> bool
    """Returns whether an array has the same bits as another one; None has those of no array."""
    return other is not None and np.asarray(value).tobytes() == np.asarray(other).tobytes()


def _worth_keeping(op):
    # type: (Any) -> List[Any]
    """Outputs of an op that are inputs or random numbers of the step, or scalars."""
    if op.type.startswith(SOURCES) or _compares_texts(op) or any(word in op.type for word in RANDOM):
        return [tensor for tensor in op.outputs if _is_plain(tensor)]
    return [tensor for tensor in op.outputs if tensor.get_shape().ndims == 0 and _is_plain(tensor) and op.inputs]


def _compares_texts(op):
    # type: (Any) -> bool
    """Whether an op compares texts: what it finds is an input of the step."""
    return op.type in ("Equal", "NotEqual") and op.inputs[0].dtype.base_dtype == tf.string


def _is_plain(tensor):
    # type: (Any) -> bool
    """Whether a tensor holds numbers, is no reference to a variable, and is small enough to be written."""
    known = ("float16", "float32", "float64", "int32", "int64", "uint8", "int8", "bool")
    small = (tensor.get_shape().num_elements() or 0) * tensor.dtype.size <= MOST_BYTES
    return tensor.dtype.name in known and small  # names ending in _ref are the variables themselves


def _gradients(applies):
    # type: (Sequence[Any]) -> List[Any]
    """From each update back to the towers' gradient functions ("..._grad/"): everything on the way."""
    found = collections.OrderedDict()  # type: Dict[str, Any]
    todo = []  # type: List[Any]
    for op in applies:
        todo += [tensor for tensor in op.inputs if _is_plain(tensor)]
    while todo:
        tensor = todo.pop()
        if tensor.name in found:
            continue
        found[tensor.name] = tensor
        if "_grad/" not in tensor.op.name and not tensor.op.type.startswith(SOURCES):
            todo += [t for t in tensor.op.inputs if _is_plain(t)]
    return [t for t in found.values() if t.op.type not in ("Const", "Placeholder")]


def _assignments_by_gradients(graph, cone):
    # type: (Any, Sequence[Any]) -> List[Any]
    """The plain assignments of a training step, in a program with an optimizer of its own.

    Args:
      graph: the program's graph.
      cone: the operations of one run.

    Returns:
      Those of `cone` that set variables to what depends on gradients, at once or by way of other variables, such as an
      optimizer's slots; none if they set no trainable variable.
    """
    trainable = set(variable.op for variable in graph.get_collection("trainable_variables"))
    assigns = [op for op in cone if op.type.startswith(ASSIGNMENTS)]
    if not any(_variable_of(op) in trainable for op in assigns):
        return []
    todo = [op for op in graph.get_operations() if GRADIENTS.search(op.name)]
    seen = set(todo)
    while todo:
        op = todo.pop()
        after = [user for tensor in op.outputs for user in tensor.consumers()]
        if op.type.startswith(ASSIGNMENTS):
            after.append(_variable_of(op))
        for other in after:
            if other not in seen and other not in trainable:  # a weight's value depends on gradients in every run
                seen.add(other)
                todo.append(other)
    found = [op for op in assigns if op in seen]
    return found if any(_variable_of(op) in trainable for op in found) else []


def _changes_of_kept_gradients(graph, cone):
    # type: (Any, Sequence[Any]) -> List[Any]
    """The assignments of a run that adds gradients up for an optimizer of another run, or that sets them back.

    The run that initializes a program sets weights too, and is none.
    """
    trainable = set(variable.op for variable in graph.get_collection("trainable_variables"))
    assigns = [op for op in cone if op.type.startswith(ASSIGNMENTS)]
    if not assigns or any(_variable_of(op) in trainable for op in assigns):
        return []
    kept = _kept_gradients(graph) - trainable
    return [op for op in assigns if _variable_of(op) in kept]


def _kept_gradients(graph):
    # type: (Any) -> Set[Any]
    """The variables that are assigned what depends on gradients and that an optimizer's gradients are computed from."""
    todo = [op for op in graph.get_operations() if GRADIENTS.search(op.name)]
    dependent = set(todo)
    while todo:
        for user in [user for tensor in todo.pop().outputs for user in tensor.consumers()]:
            if user not in dependent:
                dependent.add(user)
                todo.append(user)
    writes = [op for op in dependent if op.type.startswith(ASSIGNMENTS)]
    assigned = set(_variable_of(op) for op in writes)
    applies = [op for op in graph.get_operations() if "Apply" in op.type]
    todo = [tensor.op for op in applies for tensor in op.inputs if not _is_reference(tensor)]
    read = set(todo)
    while todo:
        for before in [tensor.op for tensor in todo.pop().inputs]:
            if before not in read and before not in dependent:
                read.add(before)
                todo.append(before)
    # A run that applies a sum may add its own gradients to it first: what is added to elsewhere counts there, too, and
    # what the first run of a period sets in a branch.
    added = set(_variable_of(op) for op in writes if op.type.endswith(ADDITIONS) or _is_in_branch(op))
    beside = [tensor.op for op in applies for tensor in op.inputs if not _is_reference(tensor)]
    return assigned & read | added.intersection(_ancestors(beside, True))


def _changes_weights_alone(graph, cone):
    # type: (Any, Sequence[Any]) -> bool
    """Whether a run assigns a weight what is computed from it and from no other variable, as clipping does."""
    trainable = set(variable.op for variable in graph.get_collection("trainable_variables"))
    for op in cone:
        if op.type in ("Assign", "AssignVariableOp") and _variable_of(op) in trainable:
            read = _ancestors([op.inputs[1].op], _variable_of(op))
            others = [other for other in read if other.type in VARIABLES and other is not _variable_of(op)]
            computed = [other for other in read if other.inputs and other.type not in COPIES]
            if _variable_of(op) in read and computed and not others:
                return True
    return False


def _variable_of(assign):
    # type: (Any) -> Any
    """The operation of the variable that an assignment sets, directly, in a loop, or in a branch."""
    op = assign.inputs[0].op
    while op.type in HANDLE_PASSES:
        op = op.inputs[0].op
    return op


def _is_in_branch(assign):
    # type: (Any) -> bool
    """Whether a `cond` hands an assignment its variable: only the runs that take a branch assign it."""
    op = assign.inputs[0].op
    while op.type in HANDLE_PASSES and op.type not in SWITCHES:
        op = op.inputs[0].op
    return op.type in SWITCHES


def _losses(graph, cone):
    # type: (Any, Sequence[Any]) -> List[Any]
    """The tensors that were differentiated, unless computing them could race with the updates.

    An op that uses a variable may see it before or after its update, unless the program's own step makes it wait.
    """
    found, members = [], set(cone)  # type: Tuple[List[Any], Set[Any]]
    for op in cone:
        if not re.search(r"(^|/)gradients(_\d+)?/(Fill|grad_ys_\d+|Const(_\d+)?)$", op.name):
            continue
        scope = op.name.rpartition("/")[0] + "/"
        for user in [user for tensor in op.outputs for user in tensor.consumers() if user in members]:
            match = re.match(r"(.*?)_grad(/|$)", user.name[len(scope) :]) if user.name.startswith(scope) else None
            try:
                loss = graph.get_operation_by_name(match.group(1)) if match else None
            except KeyError:
                loss = None
            if loss is not None and not any(_reads_variable(other) for other in set(_ancestors([loss])) - members):
                found += [tensor for tensor in loss.outputs if _is_plain(tensor)]
    return found


def _reads_variable(op):
    # type: (Any) -> bool
    """Whether an op uses a variable, and not only passes it on."""
    if op.type == "ReadVariableOp":
        return True
    passes = ("Identity", "Enter", "Switch", "VariableV2", "Variable", "VarHandleOp")
    return op.type not in passes and any(_is_variable(tensor) for tensor in op.inputs)


def _is_variable(tensor):
    # type: (Any) -> bool
    """Whether a tensor is a reference to a variable or a resource handle, directly or through Identity ops."""
    if tensor.op.type == "Identity":
        return _is_variable(tensor.op.inputs[0])
    return _is_reference(tensor)


def _is_reference(tensor):
    # type: (Any) -> bool
    """Whether a tensor is a reference to a variable or a resource handle."""
    return tensor.dtype.name.endswith("_ref") or tensor.op.type == "VarHandleOp"


def _ancestors(ops, value_of=None):
    # type: (Iterable[Any], Any) -> List[Any]
    """The operations that `ops` depend on, by data or control, and themselves, ordered by name.

    Args:
      ops: operations.
      value_of: the operation of a variable whose value they compute, or True: by data alone.

    Returns:
      The operations.
    """
    seen, todo = set(ops), list(ops)
    while todo:
        op = todo.pop()
        for before in [tensor.op for tensor in op.inputs] + ([] if value_of else list(op.control_inputs)):
            if before not in seen:
                seen.add(before)
                todo.append(before)
    return sorted(seen, key=lambda op: op.name)


def _conditional(cone):
    # type: (Sequence[Any]) -> Set[Any]
    """Operations inside `while` and `cond`, whose tensors a session cannot fetch."""
    inside = set()  # type: Set[Any]
    members = set(cone)
    for kinds, ends in ((("Enter", "RefEnter"), ("Exit", "RefExit")), (("Switch", "RefSwitch"), ("Merge", "RefMerge"))):
        todo = [op for op in cone if op.type in kinds]
        seen = set(todo)
        while todo:
            op = todo.pop()
            inside.add(op)
            for after in [user for tensor in op.outputs for user in tensor.consumers()]:
                if after in members and after not in seen and after.type not in ends + ("Exit", "RefExit"):
                    seen.add(after)
                    todo.append(after)
    return inside


def _operations(graph, fetches):
    # type: (Any, Any) -> Set[str]
    """Names of the operations behind anything that `Session.run` takes."""
    if fetches is None:
        return set()
    if isinstance(fetches, dict):
        return set(name for value in fetches.values() for name in _operations(graph, value))
    if isinstance(fetches, (list, tuple)):
        return set(name for value in fetches for name in _operations(graph, value))
    # By type: variables of a `MirroredStrategy` make an op where they are asked for an attribute.
    if isinstance(fetches, (tf.SparseTensor, tf.IndexedSlices)):
        return _operations(graph, [fetches.values, fetches.indices])
    element = graph.as_graph_element(fetches, allow_tensor=True, allow_operation=True)
    return {getattr(element, "op", element).name}


def _by_name(graph, feed_dict):
    # type: (Any, Any) -> Dict[str, Any]
    """{tensor name: array} of the numbers that the program feeds, without texts, such as the handle of an iterator."""
    fed = {}
    for key, value in (feed_dict or {}).items():
        for part, array in _dense_parts(key, value):
            tensor = graph.as_graph_element(part, allow_tensor=True, allow_operation=False)
            if tensor.dtype.base_dtype == tf.string:
                continue
            fed[tensor.name] = np.asarray(array, tensor.dtype.base_dtype.as_numpy_dtype)
    return fed


def _dense_parts(key, value):
    # type: (Any, Any) -> List[Tuple[Any, Any]]
    """Pairs of tensor and array for one entry of a feed, as `Session.run` reads it.

    Args:
      key: a tensor or its name; a `SparseTensor` or `IndexedSlices`; or a tuple of such, as an LSTM's state is.
      value: what is fed for it; one value for each member of a tuple.

    Returns:
      One pair for a tensor; one for each part of anything else.
    """
    if isinstance(key, tf.SparseTensor):
        shape = key.dense_shape if hasattr(key, "dense_shape") else key.shape  # the name before TensorFlow 1.0
        return list(zip((key.indices, key.values, shape), value))
    if isinstance(key, tf.IndexedSlices):
        return list(zip([part for part in (key.values, key.indices, key.dense_shape) if part is not None], value))
    if isinstance(key, (tuple, list)):
        return [pair for member, part in zip(key, value) for pair in _dense_parts(member, part)]
    return [(key, value)]
