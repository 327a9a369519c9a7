"""Constants of a small graph: which are choices, what they become, and which are hidden."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.towers.graph_program import GraphProgram
from parity.coverage.graph.constants import ConstantIndex, GraphConstant, _changing, opposite_change
from parity.coverage.graph.outside_constants import place_of, with_constants_outside
from tests.legacy.saved.graphs import graph_of

v1 = tf.compat.v1


class TwoTowers(GraphProgram):
    """w -= rate * mean of x * 2 over two towers; the rate is 0.5 from step 6 on."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            weight = v1.get_variable("w", [], initializer=v1.zeros_initializer(), use_resource=True)
            step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), use_resource=True)
            self.losses = []
            for tower in range(2):
                with tf.name_scope(f"tower_{tower}"):
                    factor = tf.constant(2.0, name="factor")
                    self.losses.append(tf.multiply(v1.placeholder(tf.float32, []), factor * weight, name="loss"))
            late = tf.greater_equal(step, tf.constant(6, tf.int64, name="boundary"))
            rate = tf.where(late, tf.constant(0.5, name="low"), tf.constant(1.0, name="high"))
            self.rate = rate * tf.reshape(tf.constant([1.0], name="one"), [])
            with tf.control_dependencies([tf.identity(self.losses[0])]):  # whose placeholder nobody feeds
                seven = tf.identity(tf.constant(7.0, name="count"))
            guard = tf.maximum(tf.constant(1.0, name="guard"), seven, name="guarded")
            total = tf.add_n(self.losses) / guard
            self.train = v1.assign_sub(weight, self.rate * total, name="train").op
            tf.constant(3.0, name="unused")
            with tf.control_dependencies([tf.raw_ops.Switch(data=late, pred=late).output_true]):
                tf.constant(4.0, name="branch/taken")
        self._session = v1.Session(graph=self.graph)

    def variables(self):
        return ()

    def describe(self):
        return {}

    def state(self):
        raise NotImplementedError

    def tower_tensors(self):
        return [loss.name for loss in self.losses]

    def rate_tensors(self):
        return [self.rate.name]

    def train_nodes(self):
        return [self.train.name]

    def run_traced(self, options, metadata):
        raise NotImplementedError


CHANGES = [
    "AssignSub",
    "AssignAddVariableOp",
    "ResourceApplyAdam",
    "SparseApplyAdagrad",
    "ScatterNdUpdate",
    "ResourceScatterAdd",
]
OTHERS = ["TensorArrayScatterV3", "ScatterNd", "ScatterNdNonAliasingAdd", "TensorScatterAdd", "Identity"]


def test_ops_that_scatter_into_tensors_change_no_variable():
    graph = graph_of("\n".join(f"{kind}_ = {kind}()" for kind in [*CHANGES, *OTHERS]))
    assert _changing(graph, set(graph.nodes)) == {f"{kind}_" for kind in CHANGES}


@pytest.fixture(scope="module")
def index():
    return ConstantIndex(TwoTowers())


def test_the_constants_of_a_step_are_found_and_the_towers_are_one(index):
    found = {constant.name: constant for constant in index.constants()}
    assert set(found) == {"factor", "boundary", "low", "high", "one", "guard", "count"}
    assert found["factor"].nodes == ("tower_0/factor", "tower_1/factor") and found["factor"].in_towers
    assert not found["low"].in_towers
    assert {name for name, constant in found.items() if constant.is_rate_boundary} == {"boundary"}


def test_every_step_may_be_given_small_constants_outside_of_branches(index):
    found = {constant.name: constant for constant in index.constants()}
    assert index.own_values(found["factor"]) == {"tower_0/factor:0": 2.0, "tower_1/factor:0": 2.0}
    in_branch = GraphConstant("branch/taken", ("branch/taken",), np.float32(4), False)
    assert "branch/taken" in index._graph.nodes and index.own_values(in_branch) == {}
    assert index.own_values(found["factor"]._replace(value=np.zeros(1025, np.float32))) == {}


def test_numbers_of_the_learning_rate_may_be_steps(index):
    assert index.counted_numbers() == [6]


def test_a_constant_that_others_hide_cannot_matter(index):
    assert index.why_hidden({"guard:0": np.float32(1.01)}).startswith("other constants hide the change")
    assert index.why_hidden({"count:0": np.float32(7.07)}) == ""
    assert index.why_hidden({"low:0": np.float32(0.6)}) == ""  # read beside what varies
    assert index.why_hidden({"low:0": np.float32(np.inf)}).startswith("infinite or NaN")


def test_a_threshold_is_changed_by_a_quarter(index):
    constant = GraphConstant("boundary", ("boundary",), np.float32(8), False)
    assert [words for words, _ in index.changed_values(constant)] == ["8 -> 10"]


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.float32(2), ["2 -> 2.02"]),
        (np.float32(0.75), ["0.75 -> 0.7475"]),
        (np.float32(0), ["0 -> 0.01"]),
        (np.float32(1e-8), ["1e-08 -> 1e-07"]),
        (np.int64(6), ["6 -> 5", "6 -> 7"]),
        (np.float32([2, 4]), ["2, ... [2] -> 2.02, ... [2]"]),
    ],
)
def test_each_kind_of_constant_is_changed(index, value, expected):
    constant = GraphConstant("c", ("low", "high"), np.asarray(value), True)
    changes = list(index.changed_values(constant))
    assert [words for words, _ in changes] == expected
    assert all(set(values) == {"low:0", "high:0"} for _, values in changes)


def test_a_boundary_has_one_change_and_its_opposite(index):
    [boundary] = [constant for constant in index.constants() if constant.is_rate_boundary]
    [(words, values)] = index.changed_values(boundary)
    assert words == "6 -> 5" and opposite_change(boundary, values) == {"boundary:0": 7}


@pytest.mark.parametrize(
    "value, changed, expected",
    [(1.0, 1.01, 0.99), (0.75, 0.7475, 0.7525), (0.0, 0.01, -0.01), (1e-8, 1e-7, None), (np.inf, np.inf, None)],
)
def test_the_opposite_of_a_change(value, changed, expected):
    constant = GraphConstant("c", ("c",), np.float32(value), False)
    found = opposite_change(constant, {"c:0": np.float32(changed)})
    assert found == ({} if expected is None else {"c:0": np.float32(expected)})
    assert opposite_change(GraphConstant("n", ("n",), np.int64(6), False), {"n:0": np.int64(7)}) == {}
    bound = GraphConstant("n", ("n",), np.int64(0), False, is_zero_bound=True)
    assert opposite_change(bound, {"n:0": np.int64(-1)}) == {"n:0": np.int64(1)}


class WarmUp(TwoTowers):
    """The same program; its rate falls after three steps, `maximum(step - 3, 0)`, and has another 0."""

    def __init__(self):
        super().__init__()
        with self.graph.as_default():
            weight, step = v1.global_variables()
            after = tf.maximum(step - 3, tf.constant(0, tf.int64, name="bound"))
            is_first = tf.equal(step, tf.constant(0, tf.int64, name="first"))
            self.rate = tf.where(is_first, 1.0, 1.0 / tf.cast(after + 1, tf.float32))
            self.train = v1.assign_sub(weight, self.rate, name="warm").op


def test_a_whole_zero_that_only_bounds_others_has_one_change_and_its_opposite():
    index = ConstantIndex(WarmUp())
    found = {constant.name: constant for constant in index.constants()}
    assert found["bound"].is_zero_bound and not found["first"].is_zero_bound
    assert [words for words, _ in index.changed_values(found["bound"])] == ["0 -> -1"]
    assert [words for words, _ in index.changed_values(found["first"])] == ["0 -> -1", "0 -> 1"]


class Waiting(TwoTowers):
    """The same program; its train op waits for a result that nothing takes."""

    def __init__(self):
        super().__init__()
        with self.graph.as_default(), tf.control_dependencies(
            [tf.constant(5.0, name="waited") * self.rate, self.train]
        ):
            self.train = tf.no_op("train_and_wait")


def test_what_the_update_only_waits_for_is_no_choice(index):
    names = [constant.name for constant in ConstantIndex(Waiting()).constants()]
    assert "waited" not in names and names == [constant.name for constant in index.constants()]


class ChosenRate(TwoTowers):
    """The rate is 0.5 before step 200 of a `cond` with two constants, and 0.25 from then on."""

    def __init__(self, outside):
        with tf.Graph().as_default() as graph:
            v1.disable_control_flow_v2()
            try:
                step = tf.raw_ops.VariableV2(shape=[], dtype=tf.int32, name="step")
                late = tf.less(step, tf.constant(200, name="boundary"))
                rate = v1.cond(late, lambda: tf.constant(0.5, name="high"), lambda: tf.constant(0.25, name="low"))
            finally:
                v1.enable_control_flow_v2()
            weight = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, name="w")
            tf.raw_ops.ApplyGradientDescent(var=weight, alpha=rate, delta=1.0, name="train")
        graph_def = with_constants_outside(graph.as_graph_def()) if outside else graph.as_graph_def()
        self.graph, self.losses = tf.Graph(), []
        with self.graph.as_default():
            v1.import_graph_def(graph_def, name="")
        self.rate, self.train = self.graph.get_tensor_by_name("cond/Merge:0"), self.graph.get_operation_by_name("train")


def test_the_predicate_of_a_cond_with_constants_is_a_choice():
    index = ConstantIndex(ChosenRate(outside=True))
    found = {place_of(constant.name) for constant in index.constants()}
    assert {"boundary", "cond/high", "cond/low"} <= found and index.counted_numbers() == [200]
    # Without Switches for the constants, nothing that flows into the rate comes from the predicate.
    where_they_are = ConstantIndex(ChosenRate(outside=False))
    assert "boundary" not in {constant.name for constant in where_they_are.constants()}


class Cyclic(TwoTowers):
    """w -= floor(1 + step / 16) + (2 + step), of one tower."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            weight = v1.get_variable("w", [], initializer=v1.zeros_initializer(), use_resource=True)
            step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), use_resource=True)
            count = tf.cast(step, tf.float32)
            self.losses = [tf.identity(weight)]
            self.rate = tf.floor(tf.constant(1.0, name="in_floor") + count / tf.constant(16.0, name="length"))
            self.rate += tf.constant(2.0, name="outside") + count
            self.train = v1.assign_sub(weight, self.rate, name="train").op


def test_a_term_of_what_is_rounded_down_is_changed_by_a_half():
    index = ConstantIndex(Cyclic())
    found = {constant.name: constant for constant in index.constants()}
    changes = {name: [words for words, _ in index.changed_values(one)] for name, one in found.items()}
    assert changes["in_floor"] == ["1 -> 1.5"] and changes["outside"] == ["2 -> 2.02"]
    assert changes["length"] == ["16 -> 16.16"]
    [(_, values)] = index.changed_values(found["in_floor"])
    assert {float(value) for value in opposite_change(found["in_floor"], values).values()} == {0.5}
