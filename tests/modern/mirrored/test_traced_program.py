"""A closed program is freed: its traced step holds the input, and the input's threads run as long as it lives."""

import gc
import weakref

import pytest

from modern.mirrored.traced_program import TracedProgram
from tests.cases import Everything, setup


@pytest.mark.parametrize("all_reduce", ["auto", "tower_order"])
def test_the_traced_step_of_a_closed_program_is_freed(all_reduce):
    program = setup(Everything(), modern={"all_reduce": all_reduce}).modern_program()
    assert isinstance(program, TracedProgram)
    program.step()
    graph = weakref.ref(program._observed.get_concrete_function().graph)
    gc.collect()
    assert graph() is not None  # an open program keeps it
    program.close()
    gc.collect()
    assert graph() is None
