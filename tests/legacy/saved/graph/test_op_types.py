import doctest
import pathlib

import pytest

import legacy
from legacy.saved.graph import op_types


@pytest.mark.parametrize(
    "op_type, rule",
    [("ApplyAdam", "Adam"), ("SparseApplyAdagrad", "Adagrad"), ("ResourceApplyMomentum", "Momentum")],
)
def test_update_rules_are_recognised_and_named(op_type, rule):
    assert op_types.is_apply(op_type) and op_types.rule_name(op_type) == rule


@pytest.mark.parametrize("op_type", ["Assign", "AssignSub", "ScatterAdd", "ReapplyAdam"])
def test_plain_assignments_are_no_update_rules(op_type):
    assert not op_types.is_apply(op_type)


@pytest.mark.parametrize(
    "op_type", ["SparseApplyMomentum", "ResourceSparseApplyAdagrad", "ScatterSub", "ResourceScatterAdd"]
)
def test_sparse_updates_take_indices(op_type):
    assert op_types.is_sparse(op_type)


@pytest.mark.parametrize("op_type", ["ApplyMomentum", "SparseSoftmaxCrossEntropyWithLogits", "AssignAdd", "GatherV2"])
def test_other_ops_take_no_indices_to_update(op_type):
    assert not op_types.is_sparse(op_type)


def test_sources_random_and_unsafe_ops_are_distinguished():
    assert op_types.is_source("QueueDequeueManyV2") and not op_types.is_source("FIFOQueueV2")
    assert op_types.is_random("RandomUniform") and op_types.is_random("RandomShuffle")
    assert not op_types.is_random("Placeholder")
    assert op_types.is_unsafe("PyFuncStateless") and op_types.is_unsafe("SaveV2") and not op_types.is_unsafe("MatMul")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(op_types).failed == 0


def test_what_knows_a_quotient_knows_that_of_old_graphs():
    """TensorFlow 0.12 writes a quotient of floats as `Div`, later ones as `RealDiv`."""
    root = pathlib.Path(legacy.__file__).parent
    texts = {path: path.read_text() for path in root.rglob("*.py")}
    of_new = [path for path, text in texts.items() if '"RealDiv"' in text]
    lacking = [path.name for path in of_new if '"Div"' not in texts[path] and "op_types.QUOTIENTS" not in texts[path]]
    assert of_new and not lacking
