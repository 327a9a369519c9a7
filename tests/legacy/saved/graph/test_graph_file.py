import doctest

import pytest
import tensorflow as tf
from tensorflow.core.framework import variable_pb2
from tensorflow.core.protobuf import saved_model_pb2

from legacy.saved.graph import graph_file
from legacy.saved.graph.graph_file import read_graph_file
from tests.legacy.saved.graphs import graph_of
from workloads.support.errors import InputError

v1 = tf.compat.v1


@pytest.fixture
def graph_def():
    made = graph_of("w = NoOp()\n train = NoOp(^w)").graph_def
    made.versions.producer = 24
    return made


@pytest.fixture
def meta_graph(graph_def):
    meta = v1.MetaGraphDef(graph_def=graph_def)
    meta.meta_info_def.tensorflow_version = "1.4.1"
    meta.collection_def["train_op"].node_list.value.append("train")
    variable = variable_pb2.VariableDef(variable_name="w:0")
    meta.collection_def["trainable_variables"].bytes_list.value.append(variable.SerializeToString())
    meta.collection_def["summaries"].bytes_list.value.append(b"no variable")
    meta.collection_def["losses"].any_list.value.add()
    return meta


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def nodes_of(saved):
    return [node.name for node in saved.graph_def.node]


def test_a_meta_graph_has_collections_and_a_version(tmp_path, meta_graph):
    saved = read_graph_file(written(tmp_path, "model.ckpt-1.meta", meta_graph.SerializeToString()))
    assert nodes_of(saved) == ["w", "train"] and saved.written_by == "1.4.1"
    assert saved.collections == {"train_op": ["train"], "trainable_variables": ["w"]}


@pytest.mark.parametrize("name", ["graph.pb", "graph.meta", "graph"])
def test_a_graph_def_is_read_whatever_its_ending(tmp_path, graph_def, name):
    saved = read_graph_file(written(tmp_path, name, graph_def.SerializeToString()))
    assert nodes_of(saved) == ["w", "train"]
    assert saved.collections == {} and saved.written_by == "unknown (GraphDef version 24)"


@pytest.mark.parametrize("name", ["model.ckpt.meta", "graph.pbtxt", "graph"])
def test_a_text_is_read_whatever_its_ending(tmp_path, meta_graph, name):
    """`tf.train.export_meta_graph(as_text=True)` may write it to a file that is called as a binary one."""
    saved = read_graph_file(written(tmp_path, name, str(meta_graph).encode()))
    assert nodes_of(saved) == ["w", "train"] and saved.written_by == "1.4.1"


@pytest.mark.parametrize("as_text", [False, True])
def test_of_a_saved_model_the_graph_for_training_is_read(tmp_path, meta_graph, graph_def, as_text):
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    serving = model.meta_graphs.add(graph_def=graph_def)
    serving.meta_info_def.tags.append("serve")
    serving.graph_def.node.add(name="serving", op="NoOp")
    meta_graph.meta_info_def.tags.append("train")
    model.meta_graphs.append(meta_graph)
    content = str(model).encode() if as_text else model.SerializeToString()
    saved = read_graph_file(written(tmp_path, "saved_model.pbtxt" if as_text else "saved_model.pb", content))
    assert nodes_of(saved) == ["w", "train"] and saved.collections["train_op"] == ["train"]


def test_attributes_that_were_left_out_have_their_defaults(tmp_path, graph_def):
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    norm = graph_def.node.add(name="norm", op="FusedBatchNorm", input=["x"] * 5).attr
    norm["T"].type, norm["epsilon"].f = tf.float32.as_datatype_enum, 0.5
    function = graph_def.library.function.add()
    function.signature.name = "f"
    function.node_def.add(name="codes", op="OneHot")
    read = read_graph_file(written(tmp_path, "stripped.pb", graph_def.SerializeToString()))
    norm = read.graph.nodes["norm"].attr
    assert norm["is_training"].b and norm["data_format"].s == b"NHWC"
    assert norm["epsilon"].f == 0.5  # given, so kept
    assert read.graph_def.library.function[0].node_def[0].attr["axis"].i == -1


@pytest.mark.parametrize("name", ["graph.pbtxt", "graph.txt"])
def test_text_is_read_as_either(tmp_path, graph_def, meta_graph, name):
    assert nodes_of(read_graph_file(written(tmp_path, name, str(graph_def).encode()))) == ["w", "train"]
    assert read_graph_file(written(tmp_path, name, str(meta_graph).encode())).written_by == "1.4.1"


def events_file(tmp_path, *events):
    with tf.io.TFRecordWriter(str(tmp_path / "events.out.tfevents.1.host")) as writer:
        for event in events:
            writer.write(event.SerializeToString())
    return tmp_path / "events.out.tfevents.1.host"


def test_the_last_graph_of_an_events_file_counts_and_a_meta_graph_before_it(tmp_path, graph_def, meta_graph):
    first = v1.Event(graph_def=graph_of("old = NoOp()").graph_def.SerializeToString())
    second = v1.Event(graph_def=graph_def.SerializeToString())
    assert nodes_of(read_graph_file(str(events_file(tmp_path, first, second)))) == ["w", "train"]
    meta = v1.Event(meta_graph_def=meta_graph.SerializeToString())
    assert read_graph_file(str(events_file(tmp_path, meta, first))).written_by == "1.4.1"


def test_an_events_file_that_ends_in_the_middle_of_a_record_is_read_up_to_there(tmp_path, graph_def):
    event = v1.Event(graph_def=graph_def.SerializeToString())
    path = events_file(tmp_path, event, event)
    path.write_bytes(path.read_bytes()[:-3])
    assert nodes_of(read_graph_file(str(path))) == ["w", "train"]


def test_what_holds_no_graph_is_refused_with_the_reason(tmp_path, graph_def):
    content = graph_def.SerializeToString()
    with pytest.raises(InputError, match="not a regular file"):
        read_graph_file(str(tmp_path))
    with pytest.raises(InputError, match="cannot read .*No such file"):
        read_graph_file(str(tmp_path / "none.meta"))
    with pytest.raises(InputError, match=r"truncated or not a graph \(\d+ bytes\)"):
        read_graph_file(written(tmp_path, "cut.meta", content[:10]))
    with pytest.raises(InputError, match="truncated or not a graph"):
        read_graph_file(written(tmp_path, "empty.pb", b""))
    with pytest.raises(InputError, match="not the text of a GraphDef, MetaGraphDef or SavedModel"):
        read_graph_file(written(tmp_path, "graph.pbtxt", b"a picture"))
    with pytest.raises(InputError, match="holds no graph"):
        read_graph_file(written(tmp_path, "graph.pbtxt", b"versions { producer: 24 }"))
    with pytest.raises(InputError, match="an events file without a graph"):
        read_graph_file(str(events_file(tmp_path, v1.Event(step=1))))


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(graph_file).failed == 0


def test_a_collection_of_what_are_no_variables_is_refused(tmp_path, meta_graph):
    meta_graph.collection_def["variables"].bytes_list.value.append(b"\xff\xff")
    with pytest.raises(InputError, match="collection 'variables' holds what is no definition of a variable"):
        read_graph_file(written(tmp_path, "model.meta", meta_graph.SerializeToString()))


def test_a_graph_that_does_not_hold_together_is_refused_with_the_file(tmp_path):
    graph_def = graph_of("train = NoOp(^missing)").graph_def
    with pytest.raises(InputError, match="graph file: '.*graph.pb': .*there is no such node"):
        read_graph_file(written(tmp_path, "graph.pb", graph_def.SerializeToString()))


def test_text_that_is_nested_without_end_is_refused(tmp_path):
    with pytest.raises(InputError, match="not the text of a GraphDef, MetaGraphDef or SavedModel"):
        read_graph_file(written(tmp_path, "graph.pbtxt", b"node { attr { " * 50000))


def test_shapes_are_kept_of_what_is_given_and_staged_and_of_slices(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        parts = tf.split(tf.compat.v1.placeholder(tf.float32, [8], "x"), 2, name="parts")
        staged = tf.square(parts[0], name="staged")
        tf.square(parts[1], name="square")
        tf.raw_ops.Stage(values=[staged], shared_name="area")
    content = graph.as_graph_def(add_shapes=True).SerializeToString()
    saved = read_graph_file(written(tmp_path, "graph.pb", content))
    assert [name for name, node in saved.graph.nodes.items() if "_output_shapes" in node.attr] == [
        "x",
        "parts",
        "staged",
    ]
