"""Changes of variables in branches of 1.x's `cond`, written as functions that train with the old graph's bits."""

import pytest

from tests.legacy.source import conditional
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted
from tests.marks import slow_after

#: The arguments of a `tf.cond` whose other branch changes nothing, and the same branch in the other case.
ONE_BRANCH, OTHER_CASE = "apply_gradients, lambda: None)", "lambda: None, apply_gradients)"
#: {program: (a line of its source, a change of the source that its steps show)}.
PROGRAMS = {
    conditional.scaled_loss: ("        def update_scale():", ("* 0.5", "* 0.25")),
    conditional.applied_every_other_step: (
        '\n    tf.cond(tf.equal(variables["micro"].read_value() % 2, 0), apply_gradients, lambda: None)\n',
        ("% 2", "% 3"),
    ),
    conditional.applied_if_finite: (
        '\n    tf.cond(tf.reduce_all(tf.math.is_finite(gradients["net/w"])), ',
        (ONE_BRANCH, OTHER_CASE),
    ),
    conditional.rate_outside_of_the_branch: ("    def apply_gradients():", (ONE_BRANCH, OTHER_CASE)),
    conditional.finite_on_each_tower: ("    def skip_update():", ("* 0.25", "* 0.5")),
    conditional.rules_in_turn: (
        "apply_gradients, apply_gradients_2)",
        ("apply_gradients, apply_gradients_2)", "apply_gradients_2, apply_gradients)"),
    ),
    conditional.adam_every_other_step: ("        tf.raw_ops.ResourceApplyAdam(", ("% 2, 1)", "% 2, 0)")),
    conditional.decayed_in_the_branch: (
        '        gradient = gradients["net/w"] + 0.25 * values["net/w"]\n',
        ("0.25 * values", "0.125 * values"),
    ),
    conditional.average_every_other_step: (
        '        x = (values["net/w/average"] - variables["net/w"].read_value()) * 0.5',
        ('variables["net/w"].read_value()', 'values["net/w"]'),
    ),
    conditional.warm_up_in_a_variable: (
        '    tf.cond(values["global_step"] < 2, update_rate, lambda: None)\n'
        '    variables["net/w"].assign_sub(variables["rate"].read_value() * ',
        ('variables["rate"].read_value()', 'values["rate"]'),
    ),
    conditional.clipped_if_the_norm_is_finite: (
        "    tf.cond(tf.math.is_finite(global_norm), ",
        ("9.536743e-7", "1e-6"),
    ),
    conditional.averages_of_a_branch: (
        "            variables[name + ",
        ("variables[name].read_value()", "values[name]"),
    ),
    conditional.flag_in_a_variable: ('    tf.cond(values["flag"], apply_gradients, ', (ONE_BRANCH, OTHER_CASE)),
}


@pytest.mark.parametrize("build", slow_after(3, PROGRAMS))
def test_branches_are_functions_and_train_alike(build, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup)
    assert PROGRAMS[build][0] in source.text
    assert_trains_alike(setup, tmp_path, source)


@pytest.mark.parametrize("build", slow_after(6, PROGRAMS))
def test_a_workload_has_the_same_branches_and_a_changed_one_fails(build, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    assert PROGRAMS[build][0] in source.text
    assert_port_verified(setup, tmp_path, source)
    before, after = PROGRAMS[build][1]
    changed = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace(before, after))
    assert not changed.passed


def test_a_count_of_some_steps_is_not_the_number_of_the_step(tmp_path):
    text = source_of(lifted(conditional.scaled_loss, tmp_path), "workload").text
    assert "counter: str" not in text
    text = source_of(lifted(conditional.adam_every_other_step, tmp_path), "workload").text
    assert 'counter: str = "global_step"' in text
