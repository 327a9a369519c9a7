"""Loops as text: a function of one iteration, and the call of `tf.while_loop` that repeats it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Set

from legacy.source.basics.expressions import (
    BATCH_SIZE,
    OMIT,
    Argument,
    Call,
    Definition,
    Expression,
    Infix,
    Lambda,
    Listing,
    Name,
    Value,
    call,
    leaves,
    replace,
    values_used,
)
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.cell_kinds import cell_kind
from legacy.source.definitions.drawing_in_loops import with_seeds
from legacy.source.functions.function_lines import function_lines, signature_lines
from legacy.source.lines.identifiers import words_of_paths
from legacy.source.lines.statements import Statement, build_statements
from legacy.source.lines.widened_once import widened_once
from legacy.source.ops.tensor_arrays import FLOWS

if TYPE_CHECKING:
    import tensorflow as tf

    from legacy.source.basics.loops import Loop
    from legacy.source.definitions.recovery import Recovery

#: Names of an LSTM cell's two states; others are numbered.
_LSTM_STATES = ("c", "h")
#: {kind of a cell: what the function of its step does}.
_CELLS = {
    "lstm": "Runs an LSTM cell for one step of time",
    "gru": "Runs a GRU cell for one step of time",
    "rnn": "Runs a recurrent cell for one step of time",
    "loop": "Runs one iteration",
}


class LoopFunction(NamedTuple):
    """The function of one iteration.

    Attributes:
      name: of the function.
      lines: its text.
      statements: its statements.
    """

    name: str
    lines: List[str]
    statements: List[Statement]


class LoopText(NamedTuple):
    """A loop as text.

    Attributes:
      function: of one iteration.
      expression: the call that repeats it; gives the last states.
    """

    function: LoopFunction
    expression: Expression


def write_loop(
    loop: Loop,
    inside: Recovery,
    outside: Sequence[Expression],
    variables: Sequence[str],
    made: Dict[str, LoopFunction],
) -> LoopText:
    """Writes a loop.

    Args:
      loop: the loop.
      inside: the definitions of its inside.
      outside: expressions of what its states start from, and of its invariants.
      variables: of each of these, the name of the variable that it is the value of, or "".
      made: {text without a name: function} of the loops before it; a function that is there is used again.

    Returns:
      The loop.

    Raises:
      Unwritten: the inside uses the number of examples, which none of its values tells.
    """
    results: List[Expression] = [inside.expression_of(tensor) for tensor in loop.results]
    seeds: Dict[str, Expression] = {}
    definitions = [with_seeds(one, seeds) for one in inside.ordered(results)]
    statements = build_statements(_with_masks([*definitions, Definition((), Listing(tuple(results)))], inside))
    used = {tensor for statement in statements for tensor in values_used(statement.expression)}
    given = [number for number, name in enumerate(loop.given) if name + ":0" in used]
    starts, invariants = list(outside[: len(loop.starts)]), list(outside[len(loop.starts) :])
    parameters = _parameters(loop, inside, given, variables[len(starts) :], list(seeds))
    weights = {loop.given[number] + ":0" for number in given if variables[len(starts) + number]}
    function = _function(inside, statements, parameters, weights, made)
    names = [parameters[state + ":0"] for state in loop.states]
    again: Expression = Name(function.name)
    if given or seeds:
        own = [_added_first(inside, statements, loop.given[number], invariants[number]) for number in given]
        arguments = (*own, *seeds.values(), Name("*state"))
        again = Lambda("*state", Call(function.name, tuple(Argument("", value) for value in arguments)))
    condition = _condition(loop, inside, names, invariants)
    in_order = any(name.startswith("seed") for name in seeds)  # such random numbers are drawn one after the other
    turns = 1 if in_order else OMIT
    return LoopText(
        function, call("tf.while_loop", condition, again, Listing(tuple(starts)), parallel_iterations=turns)
    )


def _with_masks(definitions: Sequence[Definition], inside: Recovery) -> List[Definition]:
    """Returns the definitions of one iteration, in which masks of rows have the shape of what they choose among."""
    single = [one.targets[0] for one in definitions if len(one.targets) == 1 and not one.targets[0].startswith("!")]
    return widened_once(definitions, [name for name in single if inside.operation(name).outputs[0].dtype.is_bool])


def _added_first(
    inside: Recovery, statements: Sequence[Statement], placeholder: str, invariant: Expression
) -> Expression:
    """Returns an invariant as a loop is given it: a copy, where an iteration has two or more parts of its gradient.

    1.x adds the parts of an iteration before it adds their sum to that of the iterations after it. The gradient of
    `tf.while_loop` adds part after part to the sum, unless the iteration has a tensor of its own.

    Args:
      inside: the definitions of the loop's inside.
      statements: of one iteration.
      placeholder: of the invariant.
      invariant: its expression outside.

    Returns:
      The expression.
    """
    tensor = inside.operation(placeholder + ":0").outputs[0]
    uses = sum(leaf == Value(tensor.name) for statement in statements for leaf in leaves(statement.expression))
    return call("tf.identity", invariant) if tensor.dtype.is_floating and uses > 1 else invariant


def _parameters(
    loop: Loop, inside: Recovery, given: Sequence[int], variables: Sequence[str], seeds: Sequence[str]
) -> Dict[str, str]:
    """Returns {tensor of the inside: parameter}: the invariants, then seeds, then the states.

    Args:
      loop: the loop.
      inside: the definitions of its inside.
      given: numbers of the invariants that are parameters.
      variables: of each invariant, the name of the variable that it is the value of, or "".
      seeds: parameters for seeds.

    Returns:
      The parameters, in order.
    """
    parameters: Dict[str, str] = {}

    def add(tensor: str, wanted: str) -> None:
        name, number = wanted, 2
        while name in parameters.values():
            name, number = f"{wanted}{number}", number + 1
        parameters[tensor] = name

    operations = {name: inside.operation(name + ":0") for name in loop.states + loop.given}
    arrays = {name for name, operation in operations.items() if _is_array(operation)}
    words = words_of_paths({number: variables[number] for number in given if variables[number]})
    for number in given:
        placeholder = loop.given[number]
        if variables[number]:
            add(placeholder + ":0", words[number])
        else:
            integer = operations[placeholder].outputs[0].dtype.is_integer
            add(placeholder + ":0", "inputs" if placeholder in arrays else "length" if integer else "x")
    parameters.update(("!" + name, name) for name in seeds)
    plain = [s for s in loop.states if s not in arrays and not operations[s].outputs[0].dtype.is_integer]
    is_lstm = len(plain) == len(_LSTM_STATES) and cell_kind(inside.operations()) == "lstm"
    usual = dict(zip(plain, _LSTM_STATES if is_lstm else ("state",) * len(plain)))
    for state in loop.states:
        counter = "time" if arrays else "turn"
        add(state + ":0", "outputs" if state in arrays else usual.get(state, counter))
    return parameters


def _is_array(operation: tf.Operation) -> bool:
    """Returns whether a placeholder of the inside is a tensor array."""
    for user in operation.outputs[0].consumers():
        if FLOWS.get(user.type) is not None and user.inputs[FLOWS[user.type]].op in (operation, *_copies(operation)):
            return True
        if user.type == "Identity" and _is_array(user):
            return True
    return False


def _copies(operation: tf.Operation) -> List[tf.Operation]:
    return [user for user in operation.outputs[0].consumers() if user.type == "Identity"]


def _function(
    inside: Recovery,
    statements: List[Statement],
    parameters: Dict[str, str],
    weights: Set[str],
    made: Dict[str, LoopFunction],
) -> LoopFunction:
    """Returns the function with these statements: one that is there, or a new one.

    Args:
      inside: the definitions of the loop's inside.
      statements: of one iteration.
      parameters: {tensor of the inside: parameter}.
      weights: those of these tensors that are values of variables.
      made: the functions that are there; gets a new one.

    Returns:
      The function.

    Raises:
      Unwritten: the statements use the number of examples, which no parameter tells.
    """
    telling, rows = "", {"": 1}
    if any(leaf == BATCH_SIZE for statement in statements for leaf in leaves(statement.expression)):
        rows = {name: inside.rows_per_example(t) for t, name in parameters.items() if t not in weights}
        telling = min((name for name in rows if rows[name]), key=lambda name: rows[name], default="")
        if not telling:
            raise Unwritten("model: a loop uses the number of examples, which none of its values tells")
    kind = cell_kind(inside.operations())
    name = kind + "_step"
    signature = f"({', '.join(parameters.values())})"
    doc = _CELLS[kind] + "; returns the next values of what the loop carries."
    lines = function_lines(
        name + signature, doc, statements, inside.shape, parameters, telling, rows_per_example=rows[telling]
    )
    text = "\n".join(lines)
    if text not in made:
        free, number = name, 2
        while free in {function.name for function in made.values()}:
            free, number = f"{name}{number}", number + 1
        head = len(signature_lines(name + signature))
        made[text] = LoopFunction(free, [*signature_lines(free + signature), *lines[head:]], statements)
    return made[text]


def _condition(loop: Loop, inside: Recovery, names: Sequence[str], invariants: Sequence[Expression]) -> Lambda:
    """Returns the condition as a function of the states."""
    tensors: Dict[str, Expression] = {state + ":0": Name(name) for state, name in zip(loop.states, names)}
    tensors.update((name + ":0", invariants[number]) for number, name in enumerate(loop.given))

    def opened(part: Expression) -> Expression | None:
        if isinstance(part, Infix) and part.symbol == "&" and part.left == part.right:
            return part.left
        if not isinstance(part, Value):
            return None
        definition = inside.definition(part.tensor)
        return tensors.get(part.tensor) or (replace(definition.expression, opened) if definition else None)

    return Lambda(", ".join(names), replace(inside.expression_of(loop.condition), opened))
