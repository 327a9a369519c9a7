"""Ports of causes that act on some variables or in some steps, put together from made-up ports."""

from parity.confirmation.confined_port import Confined, ConfinedPort, overlay
from parity.confirmation.injected_port import UserStep
from tests.parity.step_records import made_up_state, step_record


def record(value, step=0):
    """A record with this number everywhere, of weights u and v."""
    numbers = {"u": [value], "v": [value]}
    state = made_up_state(numbers, {"u/m": [value], "v/m": [value], "beta1_power": [value]}, {"mean": [value]}, numbers)
    return step_record(step, [value], [numbers], numbers, state=state, proposals=[{"mean": [value]}])


class MadeUpPort:
    setup, first_state = "setup", "state"

    def __init__(self, value):
        self._value = value

    def take_steps(self, steps, given):
        return [record(self._value, step.record.step) for step in steps]


STEPS = [UserStep(made_up_state(), record(0.0, step)) for step in range(3)]


def test_a_cause_of_one_variable_changes_its_tensors_and_the_losses():
    mixed = overlay(record(1.0), record(2.0), ["v"])
    assert mixed.losses == [2.0]
    for arrays in (mixed.gradients[0], mixed.combined, mixed.state.weights, mixed.state.averages):
        assert (arrays["u"], arrays["v"]) == (1.0, 2.0)
    assert {name: float(value[0]) for name, value in mixed.state.slots.items()} == {
        "u/m": 1.0, "v/m": 2.0, "beta1_power": 1.0
    }  # fmt: skip
    assert mixed.state.statistics["mean"] == mixed.proposals[0]["mean"] == 1.0
    statistics = overlay(record(1.0), record(2.0), ["mean"])
    assert statistics.state.statistics["mean"] == statistics.proposals[0]["mean"] == 2.0


def test_a_cause_of_all_variables_changes_everything():
    assert overlay(record(1.0), record(2.0), []).state.weights == record(2.0).state.weights


def test_a_cause_of_some_steps_leaves_the_others_alone():
    port = ConfinedPort(MadeUpPort(1.0), [Confined(MadeUpPort(2.0), (), (1,))])
    assert [float(taken.losses[0]) for taken in port.take_steps(STEPS, True)] == [1.0, 2.0, 1.0]
    assert (port.setup, port.first_state) == ("setup", "state")


def test_two_confined_causes_act_beside_each_other():
    parts = [Confined(MadeUpPort(2.0), ("u",), ()), Confined(MadeUpPort(3.0), ("v",), (2,))]
    taken = ConfinedPort(MadeUpPort(1.0), parts).take_steps(STEPS, True)
    assert [(float(t.combined["u"][0]), float(t.combined["v"][0])) for t in taken] == [
        (2.0, 1.0),
        (2.0, 1.0),
        (2.0, 3.0),
    ]
