"""Initial values of variables: each is drawn by its own name."""

import pytest

from tests.cases import Everything
from workloads import tracing
from workloads.support.errors import InputError
from workloads.variable_spec import VariableSpec, initial_values


def test_an_initial_value_depends_on_its_own_name_alone():
    specs = tracing.trace(Everything(), 4)
    everything = initial_values(specs, seed=0)
    alone = initial_values(specs[:1], seed=0)
    assert alone["first/weights"].tobytes() == everything["first/weights"].tobytes()
    other_seed = initial_values(specs, seed=1)
    assert other_seed["first/weights"].tobytes() != everything["first/weights"].tobytes()


def test_a_variable_without_initializer_has_no_initial_value():
    with pytest.raises(InputError, match="initial_values: 'w' has no initializer"):
        initial_values([VariableSpec("w", (), "float32", True, None)], 0)
