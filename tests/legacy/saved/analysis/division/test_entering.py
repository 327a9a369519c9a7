"""Tensors that bring data into towers, on graphs whose nodes are labelled by hand."""

import pytest

from legacy.saved.analysis.division.entering import brings_data, find_common_cuts, find_cuts
from tests.legacy.saved.analysis.division.labelled_step import STEP, STEP_TOWERS, labelled_step


def of_step(text=STEP, **options):
    return labelled_step(text, STEP_TOWERS, **options)


def test_each_tower_has_its_own_cuts_and_returns_are_none():
    assert find_cuts(of_step(), STEP_TOWERS, [[], []]) == [[("x0", 0)], [("x1", 0)]]
    assert find_cuts(of_step(), STEP_TOWERS, [[("x0", 0)], []]) == [[], [("x1", 0)]]


def test_data_reach_a_tower_through_nodes_of_no_tower():
    text = STEP.replace("Mul(x0, w)", "Mul(scaled, w)") + "scaled = Neg(x0)\n"
    assert find_cuts(of_step(text), STEP_TOWERS, [[], []])[0] == [("x0", 0)]


def test_common_cuts_are_those_of_update_ops_and_losses():
    text = STEP.replace("rate = Const()", "rate = Placeholder()") + "loss = Neg(x1)\n"
    assert find_common_cuts(of_step(text), STEP_TOWERS, []) == [("rate", 0)]
    assert find_common_cuts(of_step(text, losses=["loss"]), STEP_TOWERS, []) == [("rate", 0), ("x1", 0)]


@pytest.mark.parametrize("producer, expected", [("x0", True), ("rate", False), ("a", False)])
def test_data_come_from_placeholders_and_nothing_that_a_tower_computes(producer, expected):
    step = of_step()
    assert brings_data(step.graph, step.towers, producer) == expected


def test_gradients_of_data_are_no_data_themselves():
    """That of labels times the logarithm of all towers' shares, as in Keras' `multi_gpu_model`, is made of labels."""
    text = (
        STEP
        + """
    labels = Placeholder()
    gradients/loss/mul_grad/Mul = Neg(labels)
"""
    )
    step = of_step(text, data=("x0", "x1", "labels", "gradients/loss/mul_grad/Mul"))
    assert brings_data(step.graph, step.towers, "labels")
    assert not brings_data(step.graph, step.towers, "gradients/loss/mul_grad/Mul")
    assert find_common_cuts(step, STEP_TOWERS, [("gradients/loss/mul_grad/Mul", 0)])[0] == ("labels", 0)


@pytest.mark.parametrize("shape_of, cuts", [("sum", []), ("x0", [("noise", 0)])])
def test_noise_of_the_shape_of_combined_gradients_is_no_data(shape_of, cuts):
    """That of the shape of a batch follows the batch."""
    noise = f"""
    size = Shape({shape_of})
    drawn = RandomStandardNormal(size)
    spread = Const()
    noise = Mul(drawn, spread)
    noisy = Add(sum, noise)
    """
    step = of_step(STEP.replace("rate, sum)", "rate, noisy)") + noise, data=("x0", "x1", "drawn", "noise"))
    step.towers.masks["sum"] = step.towers.masks["a"] | step.towers.masks["b"]
    assert find_common_cuts(step, STEP_TOWERS, []) == cuts


@pytest.mark.parametrize("moved, cuts", [("centers", ["y"]), ("w", ["rows"])])
def test_what_reads_a_variable_that_the_step_changes_is_no_data(moved, cuts):
    """As the rows of class centers, which the update moves towards the towers' results."""
    text = (
        STEP.replace("rate, sum)", "rate, sum)")
        + """
    centers = VariableV2()
    y = Placeholder()
    rows = GatherV2(centers, y)
    moving = ScatterSub(centers, y, rows)
    """
    )
    writes = {"train": ["w"], "moving": [moved]}
    step = of_step(text, writes=writes, reads={"rows": ["centers"]}, data=("x0", "x1", "y", "rows"))
    found = [name for name, _ in find_common_cuts(step, STEP_TOWERS, []) if name != "y" or cuts == ["y"]]
    assert found == cuts


def test_a_statistic_that_is_added_to_data_is_read_by_the_update():
    """As a moving average of observations, outside of the towers."""
    text = (
        STEP
        + """
    mean = VariableV2()
    y = Placeholder()
    kept = Neg(mean)
    new = AddV2(kept, y)
    moving = Assign(mean, new)
    """
    )
    writes = {"train": ["w"], "moving": ["mean"]}
    step = of_step(text, writes=writes, reads={"kept": ["mean"]}, data=("x0", "x1", "y", "new"))
    assert find_common_cuts(step, STEP_TOWERS, []) == [("y", 0)]
