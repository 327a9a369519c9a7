"""What is found in the graphs of the recorded old programs, and what is refused."""

import pytest
import tensorflow as tf

from legacy.saved.analysis import analyse
from legacy.saved.graph import graph_file
from legacy.saved.report import page, page_text
from tests import old_programs
from workloads.lifted.graph import Graph
from workloads.support.errors import InputError

v1 = tf.compat.v1

#: Program: TensorFlow, towers, roles' counts, how gradients are combined, loss weight.
EXPECTED = {
    "a_split_sgd": ("0.12.1", 2, {"weight": 4}, {"mean"}, 1.0),
    "b_adam_clip": ("1.4.1", 2, {"weight": 4, "slot": 10}, {"mean"}, 1.0),
    "c_queue_ema": ("1.15.5", 2, {"weight": 3, "average": 3, "statistic": 1}, {"mean"}, 1.0),
    "d_batch_norm": ("1.15.5", 2, {"weight": 8, "slot": 8, "statistic": 5}, {"mean"}, 1.0),
    "e_slim_dropout": ("1.15.5", 2, {"weight": 6, "slot": 12, "statistic": 1}, {"sum"}, 0.5),
    "f_sum_clip_after": ("1.15.5", 2, {"weight": 2, "statistic": 1}, {"sum"}, 1.0),
    "g_embedding_adagrad": ("1.15.5", 4, {"weight": 3, "slot": 3}, {"mean", "concat"}, 1.0),
    "h_dynamic_rnn": ("1.15.5", 2, {"weight": 4, "slot": 4}, {"mean"}, 1.0),
    "i_odd_combine": ("1.15.5", 3, {"weight": 4}, {"kept as written"}, 1.0),
    "j_dataset_resource": ("1.15.5", 2, {"weight": 5, "slot": 5, "statistic": 3}, {"mean"}, 1.0),
    "k_mean_of_losses": ("1.15.5", 2, {"weight": 3, "slot": 8, "statistic": 1}, {"sum"}, 0.5),
    "l_gan": ("1.15.5", 2, {"weight": 8, "slot": 18}, {"mean"}, 1.0),
    "m_carried_state": ("1.15.5", 2, {"weight": 5, "slot": 5, "state": 4}, {"mean"}, 1.0),
}


def analysed(name):
    saved = graph_file.read_graph_file(old_programs.path(name, "graph.meta"))
    return saved, analyse.analyse_graph(saved, name, old_programs.TRAIN_OPS.get(name, []))


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_finds_towers_roles_and_combining(name):
    saved, found = analysed(name)
    roles = {}
    for variable in found.plan.variables:
        roles[variable.role] = roles.get(variable.role, 0) + 1
    kinds = {combine.kind for phase in found.plan.phases for combine in phase.combine}
    scales = {phase.loss_scale for phase in found.plan.phases}
    assert (saved.written_by, found.plan.towers, roles, kinds, *scales) == EXPECTED[name]
    assert all(len(phase.losses) == found.plan.towers for phase in found.plan.phases)


def test_names_inputs_by_their_placeholders_with_their_bounds():
    plan = analysed("a_split_sgd")[1].plan
    assert {(i.name, i.kind, i.dtype, tuple(i.shape), i.limit) for i in plan.inputs} == {
        ("images", "batch", "float32", (16, 12), 0),
        ("labels", "batch", "int64", (16,), 4),
    }


def test_tells_where_towers_differ():
    assert not analysed("c_queue_ema")[1].plan.differences
    assert any("AddN" in text for text in analysed("e_slim_dropout")[1].plan.differences)  # a regularizer on the first


def test_tells_races_and_the_order_taken():
    races = [race for phase in analysed("c_queue_ema")[1].plan.phases for race in phase.races]
    assert sum(race.read_is == "after" for race in races) == 3  # each average against its weight's update
    assert not any(phase.races for phase in analysed("a_split_sgd")[1].plan.phases)


def test_settles_is_training():
    plan = analysed("d_batch_norm")[1].plan
    assert plan.settings == {"is_training": True}
    assert not any(entry.name == "is_training" for entry in plan.inputs + plan.common)


@pytest.mark.parametrize("name", old_programs.NAMES)
def test_inspect_shows_every_section(name):
    sections = page.inspect_graph(old_programs.path(name, "graph.meta"), old_programs.TRAIN_OPS.get(name, []))
    assert {"towers", "inputs", "losses", "combining", "optimizers", "variables"} <= set(sections)
    assert sections["optimizers"] and sections["combining"] and sections["losses"]
    assert len(list(page_text.page_lines(sections, 5))) > 30


def test_inspect_reads_schedules_and_clipping():
    sections = page.inspect_graph(old_programs.path("c_queue_ema", "graph.meta"))
    assert sections["learning rates"][0]["values"].startswith("0: 0.1, 6: 0.05, 100: 1.52588e-06")
    assert page.inspect_graph(old_programs.path("b_adam_clip", "graph.meta"))["combining"][0]["clipped"] == (
        "in each tower, by global norm, at 0.5"
    )
    assert page.inspect_graph(old_programs.path("f_sum_clip_after", "graph.meta"))["combining"][0]["clipped"] == (
        "after combining, by global norm, at 5"
    )


@pytest.mark.parametrize("ending", ["pbtxt", "pb", "events"])
def test_reads_a_graph_from_other_files(ending, tmp_path):
    saved, expected = analysed("f_sum_clip_after")
    if ending == "events":
        with v1.Graph().as_default():
            writer = v1.summary.FileWriter(str(tmp_path))
            writer.add_graph(None, graph_def=saved.graph_def)
            writer.close()
        path = next(tmp_path.iterdir())
    else:
        path = tmp_path / ("graph." + ending)
        path.write_bytes(str(saved.graph_def).encode() if ending == "pbtxt" else saved.graph_def.SerializeToString())
    plan = analyse.analyse_graph(graph_file.read_graph_file(str(path)), "f").plan
    assert [effect.node for effect in plan.phases[0].effects] == [e.node for e in expected.plan.phases[0].effects]
    assert plan.towers == 2


def with_node(op, inputs=()):
    """A recorded graph whose train op waits for a new node, which takes constant texts."""
    saved = graph_file.read_graph_file(old_programs.path("f_sum_clip_after", "graph.meta"))
    graph_def = v1.GraphDef()
    graph_def.CopyFrom(saved.graph_def)
    graph_def.node.add(name="strange", op=op, input=inputs)
    for name in inputs:
        constant = graph_def.node.add(name=name, op="Const")
        constant.attr["dtype"].type = tf.string.as_datatype_enum
        constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto("x"))
    next(node for node in graph_def.node if node.name == "GradientDescent").input.append("^strange")
    return saved._replace(graph=Graph(graph_def))


def test_names_ops_that_this_tensorflow_does_not_have():
    with pytest.raises(InputError, match="has no op SomebodysOwnKernel"):
        analyse.analyse_graph(with_node("SomebodysOwnKernel"), "x")


def test_lists_ops_that_touch_files():
    found = analyse.analyse_graph(with_node("WriteFile", ["name", "content"]), "x")
    assert found.plan.unsafe == {"strange": "WriteFile"}


def test_asks_which_train_op_and_lists_them():
    saved = graph_file.read_graph_file(old_programs.path("l_gan", "graph.meta"))
    with pytest.raises(InputError, match=r"--train_op: .* d_train \(4 updates\), g_train \(4 updates\)"):
        analyse.analyse_graph(saved, "x")
    with pytest.raises(InputError, match="--train_op: got 'h_train', no such operation"):
        analyse.analyse_graph(saved, "x", ["h_train"])


def test_refuses_what_holds_no_training_graph(tmp_path):
    truncated = tmp_path / "model.ckpt-1.meta"
    with open(old_programs.path("a_split_sgd", "graph.meta"), "rb") as file:
        truncated.write_bytes(file.read()[:3000])
    with pytest.raises(InputError, match="truncated or not a graph"):
        graph_file.read_graph_file(str(truncated))
    with pytest.raises(InputError, match="cannot read"):
        graph_file.read_graph_file(str(tmp_path / "nothing.meta"))
    with tf.Graph().as_default() as graph:
        tf.square(v1.placeholder(tf.float32, [2]), name="forward_only")
    inference = tmp_path / "inference.pb"
    inference.write_bytes(graph.as_graph_def().SerializeToString())
    with pytest.raises(InputError, match="no update op"):
        analyse.analyse_graph(graph_file.read_graph_file(str(inference)), "x")
