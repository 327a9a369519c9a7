"""Train ops in turn: the number of the next one, and a run over several."""

from types import SimpleNamespace

import pytest

from modern.mirrored.in_turn_program import InTurnProgram
from tests.modern.steps.test_program import program


class Numbered(InTurnProgram):
    """Three train ops, of which none runs."""

    _steps = (abs, abs, abs)


@pytest.mark.parametrize("step, number", [(0, 0), (4, 1), (5, 2)])
def test_a_steps_train_op_is_its_number_modulo_theirs(step, number):
    assert InTurnProgram._number.fget(SimpleNamespace(_step=step, _steps=Numbered._steps)) == number


def test_a_run_goes_on_with_the_train_op_whose_turn_it_is():
    with program() as made:
        made.run(1)
        before = made.state().weights["w"]
        made.run(1)  # halves the weight
        assert made.state().weights["w"].tolist() == (before / 2).tolist()
