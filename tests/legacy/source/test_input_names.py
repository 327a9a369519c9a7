"""Names of what enters a program."""

from legacy.source.step.input_names import input_names
from tests.legacy.source.tiny import plan_of
from workloads.lifted.plan import Input


def test_fed_scalars_of_one_name_are_numbered():
    plan = plan_of({"x": [3]})
    names = ["D/keep_prob", "G/keep_prob", "E/keep_prob"]
    plan.common.extend(Input(name, "float32", [], "setting", 0, [name + ":0"], name) for name in names)
    found = input_names(plan).settings
    assert found == {"KEEP_PROB": names[0], "KEEP_PROB_2": names[1], "KEEP_PROB_3": names[2]}
