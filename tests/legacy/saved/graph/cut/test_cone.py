import doctest

import pytest
import tensorflow as tf

from legacy.saved.graph.cut import cone
from tests.legacy.saved import graphs
from tests.legacy.saved.graphs import graph_of
from workloads.support.errors import InputError


def test_the_cone_ends_at_data_sources_and_leaves_out_what_no_target_needs():
    graph = graph_of("""
        files = WholeFileReaderV2()
        queue = FIFOQueueV2(^files)
        batch = QueueDequeueManyV2(queue)
        w = VariableV2()
        loss = Mul(batch, w)
        train = ApplyGradientDescent(w, loss, ^batch)
        summary = ScalarSummary(loss)
    """)
    found = cone.extract_cone(graph, ["train"])
    assert {name: node.op for name, node in found.graph.nodes.items()} == {
        "batch": "Placeholder",
        "w": "VariableV2",
        "loss": "Mul",
        "train": "ApplyGradientDescent",
    }
    assert found.graph.controls("train") == []  # a placeholder is no control input: it is fed
    assert found.origins == {"batch": ("batch:0", "QueueDequeueManyV2")}
    assert found.unknown == [] and found.unsafe == {}


@pytest.mark.parametrize(
    "op_type, origins",
    [
        ("TakeManySparseFromTensorsMap", {"labels": "labels:0", "labels__1": "labels:1"}),
        ("DeserializeManySparse", {"batch": "batch:0"}),  # of texts that hold all: any session can read them
    ],
)
def test_sparse_tensors_of_which_a_queue_holds_the_places_alone_are_data(op_type, origins):
    """The table that `tf.train.batch` puts them into is another session's: a recorded place tells nothing."""
    graph = graph_of(f"""
        queue = FIFOQueueV2()
        batch = QueueDequeueManyV2(queue)
        labels = {op_type}(batch)
        loss = Mul(labels, labels:1)
        train = NoOp(^loss)
    """)
    assert {name: origin for name, (origin, _) in cone.extract_cone(graph, ["train"]).origins.items()} == origins


@pytest.mark.parametrize("fills", ["Stage", "QueueEnqueueV2"])
def test_what_is_handed_to_the_next_step_is_left_out(fills):
    """A program of 2018 fills its staging area in the run that trains: the next batch is none of this step's."""
    graph = graph_of(f"""
        queue = FIFOQueueV2()
        next = QueueDequeueV2(queue)
        fill = {fills}(next)
        batch = Unstage()
        w = VariableV2()
        loss = Mul(batch, w)
        update = ApplyGradientDescent(w, loss)
        train = NoOp(^update, ^fill)
    """)
    found = cone.extract_cone(graph, ["train"])
    assert set(found.graph.nodes) == {"batch", "w", "loss", "update", "train"}
    assert found.graph.controls("train") == ["update"] and list(found.origins) == ["batch"]


@pytest.mark.parametrize("maker, ends", [("Identity", {"hash": tf.int64}), ("AsString", {"words": tf.int32})])
def test_a_step_takes_the_numbers_of_texts_and_texts_of_numbers_are_made_in_it(maker, ends):
    graph = graph_of(
        f"""
        words = Placeholder()
        copy = {maker}(words)
        hash = StringToHashBucketFast(copy)
        w = VariableV2()
        rows = Gather(w, hash)
        train = ApplyGradientDescent(w, rows)
        """,
        words={"dtype": tf.string if maker == "Identity" else tf.int32},
    )
    nodes = cone.extract_cone(graph, ["train"]).graph.nodes
    placeholders = {name: node.attr["dtype"].type for name, node in nodes.items() if node.op == "Placeholder"}
    assert placeholders == {name: dtype.as_datatype_enum for name, dtype in ends.items()}


@pytest.mark.parametrize("maker", ["Identity", "AsString"])
def test_a_step_takes_the_letters_of_texts_and_cuts_texts_of_numbers_itself(maker):
    graph = graph_of(
        f"""
        words = Placeholder()
        copy = {maker}(words)
        between = Const()
        letters = StringSplit(copy, between)
        table = HashTableV2()
        other = Const()
        rows = LookupTableFindV2(table, letters:1, other)
        one = Identity(letters)
        size = Identity(letters:2)
        train = NoOp(^rows, ^one, ^size)
        """,
        words={"dtype": tf.string if maker == "Identity" else tf.int32},
    )
    nodes = cone.extract_cone(graph, ["train"]).graph.nodes
    placeholders = {n: tf.as_dtype(node.attr["dtype"].type) for n, node in nodes.items() if node.op == "Placeholder"}
    letters = {"letters": tf.int64, "letters__2": tf.int64}
    assert placeholders == (letters if maker == "Identity" else {"words": tf.int32})


TOWERS_OF_ONE_TEXT = """
    texts = QueueDequeueV2()
    a_cut = StringSplit(texts, between)
    between = Const()
    b_cut = StringSplit(texts, between)
    a_rows = Identity(a_cut)
    b_rows = Identity(b_cut)
    b_sizes = Identity(b_cut:2)
    train = NoOp(^a_rows, ^b_rows, ^b_sizes)
    """


def test_towers_that_cut_one_text_take_the_same_placeholders():
    found = cone.extract_cone(graph_of(TOWERS_OF_ONE_TEXT), ["train"])
    assert {name: found.graph.inputs(name)[0].node for name in ("a_rows", "b_rows", "b_sizes")} == {
        "a_rows": "a_cut",
        "b_rows": "a_cut",
        "b_sizes": "a_cut__2",
    }
    assert found.origins == {"a_cut": ("a_cut:0", "StringSplit"), "a_cut__2": ("a_cut:2", "StringSplit")}


CLOCK = """
    batch = Placeholder()
    w = VariableV2()
    loss = Mul(batch, w)
    update = ApplyGradientDescent(w, loss)
    text = Const(^update)
    clock = PyFunc(text)
    time = Cast(clock)
    train = NoOp(^time)
    """


def test_updates_before_a_clock_in_python_belong_to_the_step():
    """A program of 2016 prints the time between towers, averaging and update, by control dependencies alone."""
    found = cone.extract_cone(graph_of(CLOCK), ["train"])
    assert found.graph.ancestors(["train"]) >= {"batch", "w", "loss", "update"}
    assert list(found.origins) == ["batch"] and found.unsafe == {}  # the time that nobody takes is no input
    assert (found.graph.type("time"), found.graph.controls("time")) == ("NoOp", ["text"])


def test_updates_before_a_batch_belong_to_the_step():
    text = CLOCK.replace("Const(^update)", "IteratorGetNext(^update)").replace("clock = PyFunc(text)", "")
    found = cone.extract_cone(graph_of(text.replace("Cast(clock)", "Assign(w, text)")), ["train"])
    assert found.graph.controls("time") == ["update"] and list(found.origins) == ["batch", "text"]


def test_a_result_of_python_that_is_used_is_an_input():
    text = CLOCK.replace("Mul(batch, w)", "Mul(time, w)").replace("Const(^update)", "Const()")
    found = cone.extract_cone(graph_of(text), ["update"])
    assert list(found.origins) == ["clock"] and found.graph.type("time") == "Cast"


CHOICE_BY_PYTHON = """
    batch = Placeholder()
    w = VariableV2()
    loss = Mul(batch, w)
    rows = PyFunc(batch)
    is_any = Greater(rows, rows)
    branches = Switch(is_any, is_any)
    in_other = Identity(branches)
    nothing = Const(^in_other)
    own = Switch(loss, is_any)
    mean = Mean(own:1)
    total = Merge(nothing, mean)
    train = ApplyGradientDescent(w, total)
    """


def test_a_constant_of_a_branch_that_python_decides_is_in_no_other_branch():
    """Such as the loss of 0 where no anchor of a detector was chosen: beside the mean, either would be taken."""
    found = cone.extract_cone(graph_of(CHOICE_BY_PYTHON), ["train"]).graph
    assert (found.type("branches"), found.type("in_other")) == ("Switch", "Identity")
    assert found.controls("nothing") == ["in_other"]


def test_a_branch_that_orders_updates_alone_is_not_decided():
    text = CHOICE_BY_PYTHON.replace("Merge(nothing, mean)", "Identity(loss)").replace("total)", "total, ^note)")
    found = cone.extract_cone(
        graph_of(text.replace("Const(^in_other)", "Cast(in_other, ^in_other)\n note = Identity(nothing)")), ["train"]
    )
    assert {found.graph.type(name) for name in ("branches", "in_other")} == {"NoOp"}
    assert "rows" not in found.origins


def test_every_used_output_of_a_source_is_a_placeholder_with_its_dtype_and_shape():
    graph = graph_of(
        """
        next = IteratorGetNext()
        images = Identity(next)
        labels = Identity(next:2)
        train = NoOp(^images, ^labels)
        """,
        next={
            "output_types": [tf.float32, tf.string, tf.int64],
            "output_shapes": [tf.TensorShape([None, 3]), tf.TensorShape([]), tf.TensorShape(None)],
        },
    )
    found = cone.extract_cone(graph, ["train"])
    images, labels = found.graph.nodes["next"], found.graph.nodes["next__2"]
    assert "next__1" not in found.graph.nodes
    assert found.graph.inputs("labels") == [("next__2", 0)]
    assert [tf.as_dtype(node.attr["dtype"].type) for node in (images, labels)] == [tf.float32, tf.int64]
    assert [d.size for d in images.attr["shape"].shape.dim] == [-1, 3]
    assert labels.attr["shape"].shape.unknown_rank
    assert found.origins["next__2"] == ("next:2", "IteratorGetNext")


def placeholder_shape(op, **attributes):
    """The dimensions of the placeholder that stands for a source; None if its rank is not known."""
    found = cone.extract_cone(graph_of(f"x = {op}()\n y = Identity(x)", x=attributes), ["y"])
    shape = found.graph.nodes["x"].attr["shape"].shape
    return None if shape.unknown_rank else [dimension.size for dimension in shape.dim]


def test_an_empty_shape_is_a_scalar_only_since_placeholder_v2():
    assert placeholder_shape("Placeholder", shape=tf.TensorShape([])) is None
    assert placeholder_shape("PlaceholderV2", shape=tf.TensorShape([])) == []
    assert placeholder_shape("Placeholder", shape=tf.TensorShape([2])) == [2]


def test_recorded_output_shapes_are_believed_before_the_shape():
    assert placeholder_shape("PlaceholderV2", shape=tf.TensorShape([]), _output_shapes=[tf.TensorShape([5])]) == [5]
    assert placeholder_shape("PlaceholderV2", shape=tf.TensorShape([2]), _output_shapes=[tf.TensorShape(None)]) is None


def test_shapes_of_a_queues_elements_are_not_those_of_a_dequeue():
    assert placeholder_shape("QueueDequeueMany", shapes=[tf.TensorShape([3])]) is None
    assert placeholder_shape("Unstage", shapes=[tf.TensorShape([3])]) == [3]


def test_a_source_without_dtype_brings_in_strings():
    found = cone.extract_cone(graph_of("read = ReaderReadV2()\n y = Identity(read:1)"), ["y"])
    assert tf.as_dtype(found.graph.nodes["read__1"].attr["dtype"].type) == tf.string
    typed = cone.extract_cone(graph_of("f = PyFunc()\n y = Identity(f)", f={"Tout": [tf.int32]}), ["y"])
    assert tf.as_dtype(typed.graph.nodes["f"].attr["dtype"].type) == tf.int32


def test_unknown_op_types_are_named_but_functions_of_the_library_are_known():
    graph = graph_of("a = SomebodysKernel()\n b = MyFunction(a)\n c = Identity(b)")
    graph.graph_def.library.function.add().signature.name = "MyFunction"
    found = cone.extract_cone(graph, ["c"])
    assert found.unknown == ["SomebodysKernel"]
    with pytest.raises(InputError, match="has no op SomebodysKernel; a graph that needs it cannot be run here"):
        cone.require_known(found)
    cone.require_known(cone.extract_cone(graph_of("a = NoOp()"), ["a"]))


def test_python_that_makes_data_is_a_source_but_python_between_variables_and_loss_is_unsafe():
    text = "x = Placeholder()\n w = VariableV2()\n mask = PyFunc({})\n train = Mul(mask, w)"
    assert cone.extract_cone(graph_of(text.format("x")), ["train"]).unsafe == {}
    assert cone.extract_cone(graph_of(text.format("w")), ["train"]).unsafe == {"mask": "PyFunc"}


def test_unsafe_ops_of_the_step_are_listed():
    graph = graph_of("w = VariableV2()\n save = SaveV2(w)\n train = NoOp(^save)\n other = WriteFile(w)")
    assert cone.extract_cone(graph, ["train"]).unsafe == {"save": "SaveV2"}


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(cone).failed == doctest.testmod(graphs).failed == 0
