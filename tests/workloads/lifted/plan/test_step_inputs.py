"""Inputs of a step, read from JSON."""

import json

from workloads.lifted.plan.json_records import plain
from workloads.lifted.plan.records import LoopCounter
from workloads.lifted.plan.step_inputs import Input, Noise


def test_random_numbers_in_a_loop_keep_its_counter():
    noise = Noise("u", "RandomUniform", "keyed", ["u", None], True, {"u": LoopCounter("while", "turn:0")})
    again = Noise.from_json(json.loads(json.dumps(plain(noise))))
    assert again == noise and again.loops["u"].counter == "turn:0"


def test_the_json_of_a_dense_input_is_that_of_earlier_folders():
    keys = set(plain(Input("x", "float32", [None, 2], "batch", 0, ["x:0"], "x:0")))
    assert keys == {"name", "dtype", "shape", "kind", "limit", "tensors", "origin"}
    assert set(plain(Input("i", "int32", [None], "batch", 4, ["i:0"], "i:0", low=1))) == keys | {"low"}


def test_an_input_tells_which_towers_take_one_part():
    entry = Input("y", "float32", [4], "batch", 0, ["y:0", "y:1", "y:1"], "y:0")
    assert entry.shares_parts and [entry.first_taker(tower) for tower in range(4)] == [0, 1, 1, 3]
    for tensors in (["y:0", "y:1"], ["y:0", "y:0"], ["y:0"]):
        assert not Input("y", "float32", [4], "batch", 0, tensors, "y:0").shares_parts
