"""Hazards of placement, each with a program that does not have it."""

import pytest

from legacy.saved.hazards import placement
from tests.legacy.saved.hazards.two_towers import G0, G1, TOWERS, hazards


def test_towers_that_compute_on_one_cpu():
    text = TOWERS.replace("/gpu:0", "/device:CPU:0").replace("/gpu:1", "/device:CPU:0")
    found = hazards(placement.misplaced_towers, text)
    assert [(name, op) for name, op, _ in found] == [("TOWER_ON_CPU", G0), ("TOWER_ON_CPU", G1)]
    assert "2 of 2 ops and 1 of 1 matrix products and convolutions (their size is unknown)" in found[0][2]


PRODUCTS = TOWERS.replace("Mul(v, w)", "MatMul(v, w)")


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


def test_a_layer_on_another_towers_device():
    layer = "tower_1/z = MatMul(tower_1/y) @ /gpu:1\n tower_1/far = MatMul(tower_1/y) @ /gpu:0\n"
    assert hazards(placement.misplaced_towers, PRODUCTS + layer.split("\n")[0]) == []
    (found,) = hazards(placement.misplaced_towers, PRODUCTS + layer)
    assert found[:2] == ("TOWERS_SHARE_DEVICE", "tower_1/far") and "1 of 3 matrix products" in found[2]
