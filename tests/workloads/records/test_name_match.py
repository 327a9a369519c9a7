"""Names of a port's variables: what is matched how, what is ambiguous, and files that cannot be used."""

import json

import numpy as np
import pytest

from workloads.records.name_match import NAME, ORDER, SHAPE, VALUE, match_names, read_names
from workloads.support.errors import InputError

LEGACY = {
    "one/weights": np.float32([[1.0, 2.0], [3.0, 4.0]]),
    "two/weights": np.float32([[5.0, 6.0], [7.0, 8.0]]),
    "one/biases": np.zeros(2, np.float32),
    "two/biases": np.zeros(2, np.float32),
    "scale": np.float32(1.0),
    "step": np.zeros(3, np.float32),
}


def test_values_tell_weights_apart_and_order_their_biases():
    port = {
        "dense_1/kernel": LEGACY["two/weights"],
        "dense/kernel": LEGACY["one/weights"],
        "dense/bias": LEGACY["one/biases"],
        "dense_1/bias": LEGACY["two/biases"],
        "gain": np.float32(2.0),
        "step": LEGACY["step"],
    }
    found = match_names(LEGACY, port)
    assert found.names["dense/kernel"] == "one/weights" and found.names["dense_1/kernel"] == "two/weights"
    assert found.names["dense/bias"] == "one/biases" and found.names["dense_1/bias"] == "two/biases"
    assert [found.ways[name] for name in port] == [VALUE, VALUE, ORDER, ORDER, SHAPE, NAME]
    assert [line.split()[0] for line in found.ambiguous()] == ["dense/bias", "dense_1/bias"] and not found.unmatched


def test_what_has_no_counterpart_is_listed():
    found = match_names({"a": np.zeros(2), "b": np.zeros(3)}, {"x": np.zeros(2), "y": np.zeros(4)})
    assert found.names == {"x": "a"} and found.unmatched == ["y (port)", "b (legacy)"]


def test_a_transposed_variable_is_named_as_such():  # as PyTorch has the weights of a dense layer
    found = match_names({"a": np.zeros((2, 3)), "b": np.zeros(2)}, {"x": np.zeros((3, 2)), "y": np.zeros(4)})
    assert found.unmatched == [
        "x (port), whose axes are in another order than those of a",
        "y (port)",
        "a (legacy)",
        "b (legacy)",
    ]


@pytest.mark.parametrize(
    "content, reason",
    [
        ("{", "cannot read"),
        ("[]", "must be JSON with"),
        ('{"names": {"x": 1}}', "must be JSON with"),
        ('{"names": {"z": "a"}}', "'z' is no variable of the port"),
        ('{"names": {"x": "c"}}', "'c' is no variable of the legacy"),
        ('{"names": {"x": "a", "y": "a"}}', "'a' is named twice"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, content, reason):
    path = tmp_path / "names.json"
    path.write_text(content)
    with pytest.raises(InputError, match=f"--names: .*{reason}"):
        read_names(str(path), ["a", "b"], ["x", "y"])


def test_a_file_is_read_back(tmp_path):
    path = tmp_path / "names.json"
    path.write_text(json.dumps(match_names({"a": np.zeros(2)}, {"x": np.zeros(2)}).to_json()))
    assert read_names(str(path), ["a"], ["x"]) == {"x": "a"}
