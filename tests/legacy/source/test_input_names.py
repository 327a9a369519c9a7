"""Names of what enters a program."""

import pytest

from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.input_names import input_names
from tests.legacy.source.tiny import plan_of
from workloads.lifted.plan import Input


def test_fed_scalars_of_one_name_are_numbered():
    plan = plan_of({"x": [3]})
    names = ["D/keep_prob", "G/keep_prob", "E/keep_prob"]
    plan.common.extend(Input(name, "float32", [], "setting", 0, [name + ":0"], name) for name in names)
    found = input_names(plan).settings
    assert found == {"KEEP_PROB": names[0], "KEEP_PROB_2": names[1], "KEEP_PROB_3": names[2]}


def test_inputs_without_a_telling_name_are_named_after_what_their_type_and_shape_mostly_are():
    plan = plan_of({"x": [3]})
    kinds = {"Placeholder": ("bool", [2, 24]), "Placeholder_1": ("float32", [2, 8]), "Placeholder_2": ("int32", [2])}
    plan.inputs[:] = [
        Input(name, dtype, shape, "batch", 0, [f"{name}:0", f"{name}_1:0"], name)
        for name, (dtype, shape) in kinds.items()
    ]
    found = {name: entry.name for name, entry in input_names(plan).inputs.items()}
    assert found == {"flags": "Placeholder", "features": "Placeholder_1", "labels": "Placeholder_2"}


@pytest.mark.parametrize("second, name", [("train_1__1", "train_1__1"), ("test_1__1", "test_1")])
def test_a_short_name_is_no_other_inputs_name(second, name):
    """Of the outputs of one batch op, "train_1" and "train_1__1": `--against` would take the one for the other."""
    plan = plan_of({"x": [3]})
    kinds = {"train_1": ("float32", [2, 28, 28, 1]), second: ("int32", [2])}
    plan.inputs[:] = [
        Input(name, dtype, shape, "batch", 0, [f"{name}:0", f"{name}_1:0"], name)
        for name, (dtype, shape) in kinds.items()
    ]
    found = {name: entry.name for name, entry in input_names(plan).inputs.items()}
    assert found == {"train": "train_1", name: second}


@pytest.mark.parametrize(
    "sizes, names",
    [
        (([2], [2, 1]), ["ids", "labels"]),  # words and one neighbor of each, as losses of sampled classes take them
        (([2, 1], [2]), ["labels", "ids"]),
        (([2], [2, 5]), ["labels", "ids"]),  # classes of sentences
    ],
)
def test_a_column_beside_a_vector_of_whole_numbers_is_labels(sizes, names):
    plan = plan_of({"x": [3]})
    plan.inputs[:] = [
        Input(name, "int32", list(shape), "batch", 0, [f"{name}:0", f"{name}_1:0"], name)
        for name, shape in zip(["Placeholder", "Placeholder_1"], sizes)
    ]
    assert list(input_names(plan).inputs) == names


def test_the_shape_of_a_sparse_tensor_is_no_batch_of_examples():
    plan = plan_of({"x": [3]})
    parts = {"indices": ("int64", [None, 2]), "values": ("float32", [None])}
    for part, (dtype, shape) in parts.items():
        name = "words/" + part
        plan.inputs.append(Input(name, dtype, shape, "batch", 0, [name + ":0"], name, sparse=name))
    assert set(input_names(plan).inputs) == {"x", "indices", "data"}
    name = "words/shape"
    plan.inputs.append(Input(name, "int64", [None], "batch", 0, [name + ":0"], name, sparse=name))
    with pytest.raises(Unwritten, match="'words/shape' is the shape of a sparse tensor, which has no row for each"):
        input_names(plan)


def test_texts_are_no_inputs_of_a_source():
    plan = plan_of({"x": [3]})
    plan.inputs.append(Input("words", "string", [None], "batch", 0, ["words:0"], "words"))
    with pytest.raises(Unwritten, match="'words' holds texts, and a source computes with numbers"):
        input_names(plan)
