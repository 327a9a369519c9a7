import pytest

from tests import old_programs
from tests.legacy.random_programs.ports import lifted_program
from tests.legacy.random_programs.traits import Traits
from workloads.lifted.averaging import average_form, division_rounds
from workloads.selection import registry


def form_of(lift):
    return average_form(lift.plan, lift.graph)


def test_the_form_of_the_sum_is_the_graphs():
    lifts = [registry.get(old_programs.lifted(name)) for name in ("a_split_sgd", "b_adam_clip")]
    assert [form_of(lift) for lift in lifts] == ["stack", "add_n"]


@pytest.mark.parametrize(
    "towers, combine, form",
    [(3, "python sum", "add_n_reciprocal"), (3, "add_n", "add_n"), (2, "python sum", "add_n"), (3, "stack", "stack")],
)
def test_a_sum_times_one_third_is_told_from_a_sum_over_three(towers, combine, form, tmp_path):
    assert form_of(lifted_program(Traits(towers=towers, combine=combine), tmp_path, {}).job.workload) == form


def test_only_powers_of_two_divide_without_rounding():
    assert [towers for towers in range(1, 10) if not division_rounds(towers)] == [1, 2, 4, 8]
