import pytest

from legacy.saved.runs.beside import FROM_THEMSELVES, ROWS_TO_CONSTANTS
from legacy.saved.runs.unused_updates import unused_notes
from tests.legacy.saved.graphs import graph_of

UNUSED = graph_of("a = AssignSub()\nb = AssignSub()\nboth = NoOp(^a, ^b)\nbn/update = AssignSub()\ntrain = NoOp()")


@pytest.mark.parametrize(
    "unused, note",
    [
        (
            {"update ops": ["bn/update"]},
            "1 update op never runs with the train op: bn/update; if the program fetched it beside it, name it: "
            "--with=bn/update",
        ),
        (
            {"moving averages": ["a", "b"]},
            "2 moving averages never run with the train op: a, b; if the program fetched them beside it, name them: "
            "--with=both",
        ),
        (
            {"moving averages": ["a", "bn/update"]},
            "2 moving averages never run with the train op: a, bn/update; if the program fetched them beside it, name "
            "them: --with=OP,...",
        ),
        (
            {FROM_THEMSELVES: ["a", "bn/update"]},
            "2 assignments of weights from themselves, such as clipping, never run with the train op: a, bn/update; "
            "if the program ran them between its steps, that run takes a turn: --train_op=...,a+bn/update",
        ),
        (
            {FROM_THEMSELVES: ["a"]},
            "1 assignment of a weight from itself, such as its clipping, never runs with the train op: a; if the "
            "program ran it between its steps, that run takes a turn: --train_op=...,a",
        ),
        (
            {ROWS_TO_CONSTANTS: ["a"]},
            "1 assignment of constants to rows of a weight never runs with the train op: a; if the program fetched it "
            "beside it, name it: --with=a; a run of its own takes a turn: --train_op=...,a",
        ),
    ],
)
def test_updates_that_never_run_are_named(unused, note):
    assert unused_notes(UNUSED, unused, {"train"}) == [note]
    assert unused_notes(UNUSED, {}, {"train"}) == []


def test_updates_that_only_a_read_loss_runs_are_distinguished_from_those_that_never_run():
    first, second = unused_notes(UNUSED, {"update ops": ["a", "b"]}, {"train", "a"})
    assert first.startswith(
        "1 update op runs where the loss is read beside the train op, and not with the train op alone"
    )
    assert second.startswith("1 update op never runs with the train op: b; ")


@pytest.mark.parametrize("run, others", [("first", ", which updates their variables by other ops"), ("train", "")])
def test_updates_of_variables_that_other_ops_of_the_step_update_are_told_apart(run, others):
    graph = graph_of(
        "v = VariableV2()\nd = Placeholder()\nfirst = AssignSub(v, d)\nlater = AssignSub(v, d)\ntrain = NoOp()"
    )
    (note,) = unused_notes(graph, {"update ops": ["later", "later"]}, {run})
    assert note.startswith(f"2 update ops never run with the train op{others}: ")
