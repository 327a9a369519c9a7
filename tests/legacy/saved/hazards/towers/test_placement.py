"""Hazards of placement, each with a program that does not have it."""

import pytest

from legacy.saved.hazards.towers import placement
from tests.legacy.saved.hazards.two_towers import G0, G1, TOWERS, hazards

PRODUCTS = TOWERS.replace("Mul(v, w)", "MatMul(v, w)")
ON_ONE_CPU = TOWERS.replace("/gpu:0", "/device:CPU:0").replace("/gpu:1", "/device:CPU:0")


@pytest.mark.parametrize("other, count", [("/device:CPU:0", 0), ("/gpu:1", 1)])
def test_workers_that_update_alone_are_on_one_cpu_on_purpose(other, count):
    """As those of an asynchronous program, each with a thread of its own."""
    text = ON_ONE_CPU.replace(f"sum_v = AddN({G0}, {G1})", f"sum_v = Neg({G0})")
    text = text.replace(f"sum_w = AddN({G0}, {G1})", f"sum_w = Neg({G1})").replace("Mul(v, w)", "MatMul(v, w)")
    text = text.replace("MatMul(v, w) @ /device:CPU:0", f"MatMul(v, w) @ {other}")
    text = text.replace(f"MatMul(v, w) @ {other}", "MatMul(v, w) @ /device:CPU:0", 1)
    names = [name for name, _, _ in hazards(placement.misplaced_towers, text)]
    assert names.count("TOWER_ON_CPU") == count


@pytest.mark.parametrize("used, count", [("", 0), (f", act_{0}, act_{1}", 2)])
def test_copies_that_nothing_trains_may_be_on_the_cpu(used, count):
    """As those that act for two towers, whose training is on GPUs."""
    acting = "".join(f"    tower_{k}/act_{k} = MatMul(v, w) @ /cpu:0\n" for k in range(2))
    sums = f"AddN({G0}, {G1}" + used.replace("act_", "tower_{}/act_").format(0, 1) + ")"
    text = TOWERS.replace(f"sum_v = AddN({G0}, {G1})", acting + f"    sum_v = {sums}")
    found = hazards(placement.misplaced_towers, text)
    assert [name for name, _, _ in found] == ["TOWER_ON_CPU"] * count


@pytest.mark.parametrize("factor, count", [("w", 2), ("filter", 0)])
def test_filters_without_weights_may_be_on_the_cpu(factor, count):
    """As those that prepare images, beside a layer there."""
    text = "filter = Const()\n    image = Placeholder()" + PRODUCTS.replace("MatMul(v, w)", "MatMul(v, ready)")
    for k in range(2):
        ready = f"tower_{k}/ready = MatMul(image, {factor}) @ /cpu:0\n    tower_{k}/y = MatMul"
        text = text.replace(f"tower_{k}/y = MatMul", ready, 1).replace("(v, ready)", f"(tower_{k}/ready, v)", 1)
    assert [name for name, _, _ in hazards(placement.misplaced_towers, text)] == ["TOWER_ON_CPU"] * count


@pytest.mark.parametrize("elsewhere, count", [("Square", 0), ("Tile", 2)])
def test_a_device_function_may_put_types_of_ops_on_the_cpu(elsewhere, count):
    """As all Conv2D, Tile and Pack, of which none is on a GPU; not ops of a scope, whose types are on the GPU, too."""
    text = TOWERS
    for k in range(2):
        on_cpu = f"tower_{k}/m = Conv2D(v, w) @ /cpu:0\n    tower_{k}/n = Tile(tower_{k}/m) @ /cpu:0\n    "
        on_cpu += f"tower_{k}/p = Pack(tower_{k}/n) @ /cpu:0\n    tower_{k}/q = {elsewhere}(tower_{k}/p) @ /gpu:{k}\n"
        text = text.replace(f"tower_{k}/y = Mul(v, w)", f"{on_cpu}    tower_{k}/y = Mul(tower_{k}/q, w)", 1)
    assert [name for name, _, _ in hazards(placement.misplaced_towers, text)] == ["TOWER_ON_CPU"] * count


def test_towers_that_compute_on_one_cpu():
    found = hazards(placement.misplaced_towers, ON_ONE_CPU)
    assert [(name, op) for name, op, _ in found] == [("TOWER_ON_CPU", G0), ("TOWER_ON_CPU", G1)]
    assert "2 of 2 ops and 1 of 1 matrix products and convolutions (their size is unknown)" in found[0][2]


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("/gpu:1", "/gpu:1", []),
        ("/gpu:0", "/cpu:0", [("TOWER_ON_CPU", "tower 0 computes on cpu:0, the others on gpu:1")]),
        (
            "MatMul(v, w) @ /gpu:1",
            "MatMul(v, w) @ /gpu:0",
            [("TOWERS_SHARE_DEVICE", "towers 0, 1 compute on gpu:0, one after the other")],
        ),
        (
            "= MatMul(tower_1/y) @ /gpu:1",
            "= MatMul(tower_1/y) @ /gpu:0",
            [
                (
                    "BACKWARD_ON_ONE_DEVICE",
                    "the forward passes of the 2 towers are on devices of their own, the backward passes all on gpu:0",
                )
            ],
        ),
    ],
)
def test_towers_on_the_wrong_device(old, new, expected):
    found = hazards(placement.misplaced_towers, PRODUCTS.replace(old, new))
    assert [(name, text) for name, _, text in found] == expected


@pytest.mark.parametrize("has_layer, on_cpu", [(False, 0), (True, 2)])
def test_backward_passes_on_the_cpu_are_no_layers_there(has_layer, on_cpu):
    """As of `tf.gradients` under `tf.device('/cpu:0')`: no inner device is to be removed but that of a layer."""
    text = PRODUCTS
    for k in range(2):
        layer = f"tower_{k}/far = MatMul(tower_{k}/y) @ /cpu:0\n    " if has_layer else ""
        before = f"tower_{k}/far" if has_layer else f"tower_{k}/y"
        text = text.replace(
            f"{(G0, G1)[k]} = MatMul(tower_{k}/y) @ /gpu:{k}", f"{layer}{(G0, G1)[k]} = MatMul({before}) @ /cpu:0"
        )
    found = [name for name, _, _ in hazards(placement.misplaced_towers, text)]
    assert found == ["TOWER_ON_CPU"] * on_cpu + ["BACKWARD_ON_ONE_DEVICE"]


def test_a_layer_on_another_towers_device():
    layer = "tower_1/z = MatMul(tower_1/y) @ /gpu:1\n tower_1/far = MatMul(tower_1/y) @ /gpu:0\n"
    assert hazards(placement.misplaced_towers, PRODUCTS + layer.split("\n")[0]) == []
    assert hazards(placement.misplaced_towers, PRODUCTS + layer) == []  # nothing trains it
    used = PRODUCTS.replace("= MatMul(tower_1/y) @", "= MatMul(tower_1/far) @")
    (found,) = hazards(placement.misplaced_towers, used + layer)
    assert found[:2] == ("TOWERS_SHARE_DEVICE", "tower_1/far") and "1 of 2 matrix products" in found[2]
