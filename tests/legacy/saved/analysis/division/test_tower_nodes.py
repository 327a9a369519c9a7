"""Nodes that towers compute, on graphs whose nodes are labelled by hand; `test_parts.py` has what follows from them."""

import pytest

from legacy.saved.analysis.division.tower_nodes import find_tower_nodes
from tests.legacy.saved.analysis.division.labelled_step import STEP, STEP_TOWERS, labelled_step
from workloads.support.errors import InputError


def tower_nodes(*arguments, **options):
    """{node: tower} of a step; see `labelled_step`."""
    return find_tower_nodes(labelled_step(*arguments, **options))


def test_what_depends_on_one_tower_is_its_own_and_what_depends_on_both_is_not():
    assert tower_nodes(STEP, STEP_TOWERS) == {"a": 0, "b": 1}


def test_a_tower_that_trains_on_a_changed_variable_is_refused():
    with pytest.raises(InputError, match="'a': tower 0 uses 'w' after the step changed it"):
        tower_nodes(STEP, STEP_TOWERS, versions={("a", "w"): 1})


def test_a_late_read_that_trains_nothing_is_computed_once():
    text = STEP + "late = Neg(w, ^train)\nm = VariableV2()\nmove = AssignSub(m, late)\n"
    writes = {"train": ["w"], "move": ["m"]}
    found = tower_nodes(text, dict(STEP_TOWERS, late=0), writes=writes, versions={("late", "w"): 1})
    assert "late" not in found


def test_an_optimizer_may_read_the_slot_that_it_has_changed():
    """With one tower, all between gradient and update is that tower's, and what a change precedes is computed once."""
    step = """
        w = VariableV2()
        m = VariableV2()
        x = Placeholder()
        loss = Mul(x, w)
        gradients/loss_grad/Mul = Mul(x, w)
        keep = ScatterAdd(m, gradients/loss_grad/Mul)
        moved = Sqrt(m, ^keep)
        part = Mul(moved, gradients/loss_grad/Mul)
        train = AssignSub(w, part)
        """
    towers = dict.fromkeys(["loss", "gradients/loss_grad/Mul", "part"], 0)
    options = dict(writes={"keep": ["m"], "train": ["w"]}, versions={("moved", "m"): 1}, data=("x",))
    assert tower_nodes(step, towers, losses=["loss"], **options) == {"loss": 0, "gradients/loss_grad/Mul": 0}
    as_gradient = step.replace("part", "gradients/part_grad/part")
    with pytest.raises(InputError, match="uses 'm' after the step changed it"):
        tower_nodes(as_gradient, dict(towers, **{"gradients/part_grad/part": 0}), losses=["loss"], **options)


@pytest.mark.parametrize("taken_by_both", [False, True])
def test_a_sum_of_a_towers_own_part_of_a_gradient_and_one_of_all_is_the_towers(taken_by_both):
    """The tower uses `a` itself, and a loss of all towers does, too; another tower's use of the sum makes it common."""
    user = 1 if taken_by_both else 0
    text = """
        w = VariableV2()
        rate = Const()
        x0 = Placeholder()
        x1 = Placeholder()
        a = Mul(x0, w)
        b = Mul(x1, w)
        joined = ConcatV2(a, b)
        gradients/a_grad/Neg = Neg(a)
        gradients/joined_grad/Slice = Slice(joined)
        gradients/AddN = AddN(gradients/a_grad/Neg, gradients/joined_grad/Slice)
        gradients/a_grad/Mul = Mul(gradients/AddN, x0)
        gradients/other_grad/Mul = Mul(gradients/AddN, x0)
        sum = AddN(gradients/a_grad/Mul, gradients/other_grad/Mul)
        train = ApplyGradientDescent(w, rate, sum)
        """
    of_first = dict.fromkeys(["a", "gradients/a_grad/Neg", "gradients/a_grad/Mul"], 0)
    found = tower_nodes(text, {**of_first, "b": 1, "gradients/other_grad/Mul": user})
    assert found.get("gradients/AddN") == (None if taken_by_both else 0)


@pytest.mark.parametrize("of_the_tower", [False, True])
def test_a_gradient_enters_a_branch_outside_of_the_towers_behind_its_tower(of_the_tower):
    """What a Switch gives has no value where its branch is not taken; a `cond` that a tower computes is its own."""
    text = (
        STEP.replace("AddN(a, b)", "AddN(chosen, b)")
        + """
        few = Const()
        entering = Switch(a, few)
        changed = Mul(entering:1, b)
        chosen = Merge(entering:0, changed)
        """
    )
    towers = dict(STEP_TOWERS, entering=0, **({"chosen": 0} if of_the_tower else {}))
    assert tower_nodes(text, towers) == (towers if of_the_tower else STEP_TOWERS)


@pytest.mark.parametrize("is_applied", [True, False])
def test_a_gradient_that_a_run_keeps_for_another_ones_update_is_the_towers(is_applied):
    """It may depend on a statistic that the run moves, by which batch normalization of 0.12 shifts its moments."""
    step = """
        w = VariableV2()
        mean = VariableV2()
        total = VariableV2()
        rate = Const()
        x = Placeholder()
        shifted = Sub(x, mean)
        loss = Mul(shifted, w)
        gradients/loss_grad/Mul = Mul(shifted, w)
        keep = AssignAdd(total, gradients/loss_grad/Mul)
        move = AssignSub(mean, x)
        kept = Identity(total)
        train = ApplyGradientDescent(w, rate, kept)
        """
    step = step if is_applied else step.replace("rate, kept", "rate, rate")
    towers = dict.fromkeys(["shifted", "loss", "gradients/loss_grad/Mul"], 0)
    writes = {"keep": ["total"], "move": ["mean"], "train": ["w"]}
    found = tower_nodes(step, towers, losses=["loss"], writes=writes, reads={"shifted": ["mean"]}, data=("x",))
    assert ("gradients/loss_grad/Mul" in found) == is_applied
