"""Initial values: what of a checkpoint fits, and what initializers give."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis import initial_values
from legacy.saved.analysis.initial_values import values_from_checkpoint, values_from_initializers, values_of_copies
from tests.legacy.saved.graphs import graph_of, traced
from workloads.lifted.plan import Variable
from workloads.support.errors import InputError

v1 = tf.compat.v1
W = np.array([1.0, 2.0], np.float32)


def variables():
    """Makes a weight, a resource variable that starts from it, and a counter."""
    w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
    v1.get_variable("twice", initializer=2.0 * w.initialized_value(), use_resource=True)
    v1.get_variable("step", initializer=np.int64(7), use_resource=False)


@pytest.fixture
def read(monkeypatch):
    """`values_from_checkpoint`'s arrays for a checkpoint with the given values and a plan with the given variables."""

    def values(stored, *planned):
        monkeypatch.setattr(initial_values.checkpoint, "read", lambda path: stored, raising=False)
        monkeypatch.setattr(initial_values.checkpoint, "read_checkpoint", lambda path: stored, raising=False)
        plan = types.SimpleNamespace(variables=[Variable(*entry) for entry in planned], phases=[])
        return values_from_checkpoint("model.ckpt", plan, traced(variables)).arrays

    return values


def test_a_checkpoint_gives_all_that_it_holds(read):
    other = np.zeros(3)
    found = read({"w": W, "other": other}, ("w", [2], "float32", "weight"))
    assert found["w"] is not None and found["w"].tolist() == [1.0, 2.0]
    assert found["other"] is other


def test_an_open_shape_takes_any(read):
    assert read({"w": W}, ("w", None, "float32", "weight"))["w"].shape == (2,)


def test_a_statistic_that_a_checkpoint_lacks_is_initialized(read):
    found = read({"w": 4 * W}, ("w", [2], "float32", "weight"), ("step", [], "int64", "statistic"))
    assert found["w"].tolist() == [4.0, 8.0] and found["step"] == 7


def test_copies_of_mirrored_variables_have_the_value_of_the_first_which_alone_is_saved(read):
    planned = [(name, [2], "float32", "weight") for name in ("w", "w/replica_1")]
    assert read({"w": 4 * W}, *planned)["w/replica_1"].tolist() == [4.0, 8.0]
    assert read({"w": 4 * W, "w/replica_1": W}, *planned)["w/replica_1"].tolist() == [1.0, 2.0]


def test_variables_are_read_under_the_names_that_a_saver_gives_them(monkeypatch):
    def build():
        copies = [v1.get_variable(f"replicated_{i}/w", [2], use_resource=False) for i in range(2)]
        v1.train.Saver({"w": copies[0]})
        v1.train.Saver({"w": copies[1], "v": copies[0]})

    monkeypatch.setattr(initial_values.checkpoint, "read_checkpoint", lambda path: {"w": 4 * W, "b": W})
    plan = types.SimpleNamespace(
        variables=[Variable(f"replicated_{i}/w", [2], "float32", "weight") for i in range(2)], phases=[]
    )
    found = values_from_checkpoint("model.ckpt", plan, traced(build)).arrays
    assert [found[f"replicated_{i}/w"].tolist() for i in range(2)] == [[4.0, 8.0], [4.0, 8.0]]
    plan.variables.append(Variable("b", [2], "float32", "slot"))  # its own name comes first
    assert values_from_checkpoint("model.ckpt", plan, traced(build)).arrays["b"].tolist() == [1.0, 2.0]
    plan.variables.append(Variable("replicated_0/b", [2], "float32", "slot"))  # no saver restores it
    with pytest.raises(InputError, match="replicated_0/b: not in it"):
        values_from_checkpoint("model.ckpt", plan, traced(build))


def test_weights_that_a_saver_leaves_out_begin_as_those_that_the_program_copies(monkeypatch):
    def build(sync=True):
        copies = [v1.get_variable(f"tower_{i}/w", [2], use_resource=False) for i in range(2)]
        if sync:
            copies[1].assign(copies[0].read_value(), name="sync")
        v1.train.Saver({"w": copies[0]})

    monkeypatch.setattr(initial_values.checkpoint, "read_checkpoint", lambda path: {"w": 4 * W})
    plan = types.SimpleNamespace(
        variables=[Variable(f"tower_{i}/w", [2], "float32", "weight") for i in range(2)], phases=[]
    )
    found = values_from_checkpoint("model.ckpt", plan, traced(build))
    assert found.arrays["tower_1/w"].tolist() == [4.0, 8.0] and found.copied == ["tower_1/w"]
    assert initial_values.copied_text(found.copied).startswith("1 weight begins as a copy of another tower's")
    with pytest.raises(InputError, match="tower_1/w: not in it"):
        values_from_checkpoint("model.ckpt", plan, traced(lambda: build(sync=False)))


@pytest.mark.parametrize(
    "stored, planned, message",
    [
        ({}, ("w", [2], "float32", "weight"), "is not of this graph: w: not in it$"),
        ({"v": W}, ("w/replica_1", [2], "float32", "weight"), "w/replica_1: not in it; it has besides: v$"),
        ({"v": W}, ("w", [2], "float32", "slot"), "w: not in it; it has besides: v$"),
        ({"w": W}, ("w", [3], "float32", "weight"), r"w: \[3\] in the graph, \[2\] in it$"),
        ({"w": W}, ("w", [2], "float64", "weight"), "w: float64 in the graph, float32 in it$"),
        ({"w": W}, ("w/part_0", [2], "float32", "weight"), "'w' is partitioned, and no saver in the graph tells"),
    ],
)
def test_a_checkpoint_of_another_graph_is_refused(read, stored, planned, message):
    with pytest.raises(InputError, match="--checkpoint: .*" + message):
        read(stored, planned)


@pytest.mark.parametrize(
    "stored, role, refused",
    [
        (("w", "step"), "slot", ""),
        (("w", "step", "shards"), "slot", ""),
        (("w", "step"), "average", ""),
        (("w", "step"), "weight", "twice: not in it"),  # a checkpoint without a trained weight is of another model
        (("w",), "slot", "twice: not in it"),  # not what the saver writes
        (("w", "step", "other"), "slot", "twice: not in it; it has besides: other, step"),
    ],
)
def test_slots_that_the_saver_does_not_write_begin_from_initializers(monkeypatch, stored, role, refused):
    def build():
        variables()
        saved = [v for v in v1.global_variables() if v.op.name in ("w", "step")]
        for part in [saved[:1], saved[1:]] if "shards" in stored else [saved]:
            v1.train.Saver(part)

    values = {"w": 4 * W, "step": np.int64(3), "other": W}
    stored_values = {name: values[name] for name in stored if name != "shards"}
    monkeypatch.setattr(initial_values.checkpoint, "read_checkpoint", lambda path: stored_values)
    planned = [Variable("w", [2], "float32", "weight"), Variable("twice", [2], "float32", role)]
    plan = types.SimpleNamespace(variables=planned, phases=[])
    if refused:
        with pytest.raises(InputError, match=refused):
            values_from_checkpoint("model.ckpt", plan, traced(build))
        return
    found = values_from_checkpoint("model.ckpt", plan, traced(build))
    assert found.arrays["w"].tolist() == [4.0, 8.0] and found.arrays["twice"].tolist() == [2.0, 4.0]
    assert found.begun == ["twice"]
    assert "1 variable begins from the graph's initializers" in initial_values.begun_text(found.begun)
    assert initial_values.begun_text([]) == ""


@pytest.mark.parametrize("missing, ending", [(8, "v7: not in it"), (9, "v7: not in it; and 1 more")])
def test_eight_problems_are_listed(read, missing, ending):
    with pytest.raises(InputError) as caught:
        read({}, *[(f"v{i}", [2], "float32", "weight") for i in range(missing)])
    assert str(caught.value).endswith(ending)


def test_initializers_run_in_the_order_in_which_they_need_each_other():
    found = values_from_initializers(["twice", "w", "step"], traced(variables))
    assert {name: value.tolist() for name, value in found.items()} == {
        "twice": [2.0, 4.0],
        "w": [1.0, 2.0],
        "step": 7,
    }


def test_a_variable_without_an_initializer_is_refused():
    graph = graph_of("w = VariableV2()", w={"dtype": tf.float32, "shape": tf.TensorShape([2])})
    with pytest.raises(InputError, match="variable 'w' has no initializer in the graph; give a checkpoint"):
        values_from_initializers(["w"], graph)


def test_an_initializer_that_reads_data_is_refused():
    graph = traced(lambda: v1.get_variable("w", initializer=v1.placeholder(tf.float32, [2], "x"), use_resource=False))
    with pytest.raises(InputError, match=r"the initial values depend on x \(Placeholder\), which is not run"):
        values_from_initializers(["w"], graph)


def test_examples_that_a_checkpoint_lacks_are_named(monkeypatch):
    def build():
        v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        v1.get_variable("examples", initializer=v1.placeholder(tf.float32, [2], "x"), use_resource=False)

    plan = types.SimpleNamespace(
        variables=[Variable(name, [2], "float32", "statistic") for name in ("w", "examples")], phases=[]
    )
    monkeypatch.setattr(initial_values.checkpoint, "read_checkpoint", lambda path: {"w": W})
    message = r"--checkpoint: 'model.ckpt' lacks examples: the initial values depend on x \(Placeholder\), .* not run$"
    with pytest.raises(InputError, match=message):
        values_from_checkpoint("model.ckpt", plan, traced(build))


def test_variables_that_wait_for_each_other_are_refused():
    def build():
        a = v1.get_variable("a", initializer=[1.0], use_resource=False)
        b = v1.get_variable("b", initializer=[1.0], use_resource=False)
        return a, b

    graph = traced(build)
    for name, other in (("a", "b"), ("b", "a")):
        graph.nodes[name + "/Assign"].input[1] = other + "/read"
    with pytest.raises(InputError, match="(a|b)/Assign cannot be initialized; give a checkpoint"):
        values_from_initializers(["a", "b"], type(graph)(graph.graph_def))


def test_an_assignment_in_the_variables_own_scope_comes_first():
    graph = graph_of(
        """
        w = VariableV2()
        restore = Assign(w, value)
        w/Assign = Assign(w, value)
        value = Const()
        read = Identity(w)
        """
    )
    assert initial_values._initializer(graph, "w") == "w/Assign"
    with pytest.raises(InputError, match="variable 'value' has no initializer"):
        initial_values._initializer(graph, "value")


@pytest.mark.parametrize(
    "pairs, in_step, expected",
    [
        ([(1, 0), (2, 0)], (), {"w1": 0.0, "w2": 0.0}),
        ([(1, 0), (2, 0)], ("set1",), {"w2": 0.0}),
        ([(1, 0), (0, 1)], (), {}),  # each is set to the other, in different runs
        ([(3, 0)], (), {}),  # not trained, such as the best weights so far
    ],
)
def test_weights_that_an_op_sets_to_another_ones_begin_as_these(pairs, in_step, expected):
    def build():
        made = [v1.get_variable(f"w{i}", [2], use_resource=i == 2) for i in range(4)]
        for target, source in pairs:
            made[target].assign(made[source].read_value(), name=f"set{target}")
        made[0].assign(made[0].read_value() * 2.0, name="doubled")

    roles = ["weight"] * 3 + ["statistic"]
    effects = [types.SimpleNamespace(node=name) for name in in_step]
    plan = types.SimpleNamespace(
        variables=[Variable(f"w{i}", [2], "float32", role) for i, role in enumerate(roles)],
        phases=[types.SimpleNamespace(effects=effects)],
    )
    values = {f"w{i}": np.full([2], float(i), np.float32) for i in range(4)}
    found = values_of_copies(plan, traced(build), values)
    assert {name: float(value[0]) for name, value in found.items()} == expected


def test_without_variables_there_is_nothing_to_initialize():
    assert values_from_initializers([], graph_of("x = Placeholder()")) == {}
