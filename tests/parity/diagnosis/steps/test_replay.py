from parity.diagnosis.steps.replay import replay_of_steps
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record

#: The weight counts the steps.
RECORDS = [step_record(i, state=made_up_state({"w": [i + 1.0]}, step=i + 1)) for i in range(2)]


def test_a_replay_can_be_run_again():
    replay = replay_of_steps(MadeUpProgram(RECORDS), 2)
    first = replay.state()
    assert [replay.step().step, replay.step().step] == [0, 1]
    assert replay.state().step == 2
    again = replay.again()
    assert again.state() is first
    assert again.step().step == 0
    assert replay.describe() == {"records": "2"}
    assert [spec.name for spec in again.variables()] == ["w"]
