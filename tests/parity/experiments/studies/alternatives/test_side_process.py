"""A process that holds the programs of a study, one after another."""

import os

from parity.experiments.studies.alternatives.side_process import Alternative, SideProcess
from tests.cases import Dyadic, setup


def seen(program, name):
    """What a test asks the process: the program's side, its losses, an environment variable."""
    return program.side, [float(loss) for loss in program.run(1)], os.environ.get(name)


def test_programs_are_opened_in_turn_in_one_process():
    made = setup(Dyadic(), 2)
    with SideProcess("a side", {"OF_THE_PROCESS": "set"}) as process:
        process.start_opening(Alternative("towers", "legacy", made), 0)
        process.finish_opening()
        before = process.observe(seen, "OF_THE_PROCESS")
        process.start_opening(Alternative("port", "modern", made), 1)
        process.finish_opening()
        process.run(2)
        process.rest()
        after = process.observe(seen, "NOT_SET")
    assert before == ("legacy", [3.0, 11.0], "set")  # mean(x) * 1 * 2 of 0..3 and 4..7
    assert after[0] == "modern" and after[2] is None and after[1][1] < 11.0  # three steps further
