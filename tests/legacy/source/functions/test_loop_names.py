"""Names of a loop's results: they avoid the names around the loop, and unused results have none."""

from legacy.source.basics.expressions import Name, Value, call
from legacy.source.functions.loop_names import name_results, surroundings_of
from legacy.source.functions.step_bodies import Unrolled, before_name, own_name
from legacy.source.lines.statements import Statement

TURNS = 3
#: A step: `c` from the `c` of the step before, and `h` from `c`.
BODY = (call("cell", before_name(0, 0)), call("tf.tanh", own_name(0, 0)))


def unrolled():
    """The steps of `BODY` behind a statement that makes the first state."""
    statements = [Statement(("zeros:0",), call("tf.zeros", Name("shape")))]
    for n in range(TURNS):
        before = Value(f"c{n - 1}:0" if n else "zeros:0")
        statements.append(Statement((f"c{n}:0",), call("cell", before)))
        statements.append(Statement((f"h{n}:0",), call("tf.tanh", Value(f"c{n}:0"))))
    return Unrolled(1, len(BODY), TURNS, BODY, {(0, 0): Value("zeros:0")}, {}, 1), statements


def names_of(results, **others):
    run, statements = unrolled()
    names = {"zeros:0": "state", **{f"{word}{n}:0": f"{word}{n}" for n in range(TURNS) for word in "ch"}, **others}
    around = surroundings_of(run, statements, results, names)
    return name_results(run, statements, around, names)


def test_a_result_of_the_last_step_keeps_its_name_after_the_loop():
    named = names_of(["h2:0"])
    assert named.local == {(0, 0): "state", (1, 0): "h"} and named.kept == {"h2:0": "h"} and not named.lists


def test_a_first_value_that_is_used_again_keeps_its_name_to_itself():
    assert names_of(["h2:0", "zeros:0"]).local[0, 0] == "c"


def test_results_of_several_steps_are_in_a_list():
    named = names_of(["h0:0", "h1:0", "h2:0"])
    assert named.lists == [((1, 0), ["h0:0", "h1:0", "h2:0"], "outputs")] and not named.kept


def test_a_result_that_nothing_uses_has_no_name():
    assert names_of(["c2:0"]).local[1, 0] == "_"


def test_a_name_of_a_parameter_is_not_taken():
    assert names_of(["h2:0"], **{"p:0": "h"}).local[1, 0] not in ("h", "state")
