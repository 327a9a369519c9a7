"""Paths from two towers' gradients to the update rule, on graphs of a few nodes."""

from legacy.saved.analysis.reduction.meeting_tensors import meeting_tensors, nearest_tensors
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

TOWER_NODES = {"g0": 0, "g1": 1, "h0": 0, "h1": 1}

NEAREST = """
    g0 = Const()
    g1 = Const()
    h0 = Mul(g0)
    other = Const()
    mean = AddN(h0, g1)
    norm = L2Norm(other)
    clipped = Mul(mean, norm)
    """


def test_the_nearest_tensors_of_each_tower_are_taken():
    graph = graph_of(NEAREST)
    found = nearest_tensors(graph, TensorId("clipped", 0), dict(TOWER_NODES, other=1), lambda *_: True, 2)
    assert found == [[("h0", 0)], [("g1", 0), ("other", 0)]]
    like = nearest_tensors(graph, TensorId("clipped", 0), dict(TOWER_NODES, other=1), lambda n, _: n != "other", 2)
    assert like == [[("h0", 0)], [("g1", 0)]]


def test_a_tower_without_a_like_tensor_has_none():
    graph = graph_of(NEAREST)
    found = nearest_tensors(graph, TensorId("clipped", 0), TOWER_NODES, lambda name, _: name == "g1", 2)
    assert found == [[], [("g1", 0)]]


def meetings(text, *flat):
    tensors = [TensorId(name, 0) for name in flat]
    return [tensor.node for tensor in meeting_tensors(graph_of(text), tensors, TensorId("clipped", 0), TOWER_NODES)]


def test_gradients_meet_in_the_first_tensor_that_depends_on_all():
    assert meetings(NEAREST, "h0", "g1") == ["mean"]
    assert meetings(NEAREST, "h0", "g0") == []  # the target has g0 by way of h0 alone, and g1 besides


def test_they_meet_behind_a_loop():
    loop = """
        g0 = Const()
        g1 = Const()
        merge = Merge(g0, next)
        next = NextIteration(merge)
        mean = AddN(merge, g1)
        clipped = Neg(mean)
        """
    assert meetings(loop, "g0", "g1") == ["mean"]


def test_they_meet_before_many_ops():
    chain = "".join(f"op{n} = Neg({f'op{n - 1}' if n else 'mean'})\n" for n in range(3000))
    ends = "g0 = Const()\ng1 = Const()\nmean = AddN(g0, g1)\n" + chain + "clipped = Neg(op2999)\n"
    assert meetings(ends, "g0", "g1") == ["mean"]


def test_they_do_not_meet_where_one_goes_around():
    around = """
        g0 = Const()
        g1 = Const()
        mean = AddN(g0, g1)
        clipped = Mul(mean, g1)
        """
    assert meetings(around, "g0", "g1") == []
