"""Statements: which definitions get a line of their own, and which stand inside the expression that uses them."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Counter, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.expressions import (
    Call,
    Expression,
    Infix,
    Item,
    Lambda,
    Listing,
    Name,
    Value,
    Variable,
    calls,
    children,
    replace,
    values_used,
)
from legacy.source.basics.rendering import expression_text
from legacy.source.lines.affine_terms import affine_terms
from legacy.source.lines.name_hints import list_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from collections.abc import Set as AbstractSet

    from legacy.source.basics.expressions import Definition

#: Functions that begin a layer: what one of them takes from another one stands on a line of its own.
LAYERS = {
    "tf.matmul",
    "tf.tensordot",
    "tf.nn.conv2d",
    "tf.nn.conv2d_transpose",
    "tf.nn.depthwise_conv2d",
    "tf.nn.max_pool2d",
    "tf.nn.avg_pool2d",
    "tf.nn.conv3d",
    "tf.nn.max_pool3d",
    "tf.nn.avg_pool3d",
    "tf.nn.local_response_normalization",
    "tf.nn.batch_normalization",
    "tf.compat.v1.nn.fused_batch_norm",
    "fused_batch_norm",
    "tf.nn.embedding_lookup",
    "tf.nn.sparse_softmax_cross_entropy_with_logits",
    "tf.nn.softmax_cross_entropy_with_logits",
    "tf.nn.sigmoid_cross_entropy_with_logits",
    "tf.nn.moments",
    "tf.concat",
    "tf.reshape",
}
#: Layers whose tensors have names, so that layers that are alike look alike.
TAKE_NAMES = {name for name in LAYERS if name.startswith(("tf.nn.conv", "tf.nn.dep", "tf.nn.batch", "tf.compat"))}
TAKE_NAMES |= {"fused_batch_norm", "tf.matmul", *(name for name in LAYERS if "_pool" in name)}
#: Asks for a variable that was asked for before, by its name alone.
GET = "scope.get"
#: The longest text of an expression that another one is put into.
MOST_TEXT = 100


class Statement(NamedTuple):
    """One line of a function.

    Attributes:
      targets: the tensors that it assigns; none for a call that is made for its effect.
      expression: what it computes.
    """

    targets: Tuple[str, ...]
    expression: Expression


def build_statements(definitions: Sequence[Definition], results: Collection[str] = ()) -> list[Statement]:
    """Turns definitions into statements, and puts those that are used once into the expressions that use them.

    Args:
      definitions: each after those that it uses; those without targets are made for their effect, the last of them
        is the result if `results` are none.
      results: tensors that have a line of their own, since they are used after the last statement, or in turn.

    Returns:
      The statements.
    """
    uses: Counter[str] = collections.Counter([*results, *results, *affine_terms(definitions)])
    for definition in definitions:
        uses.update(values_used(definition.expression))
    waiting: Dict[str, Expression] = {}
    names: Dict[str, Expression] = {}
    long = _long_names(definitions)
    result: List[Statement] = []
    for targets, expression in definitions:
        expression = replace(expression, lambda part: names.get(part.tensor) if isinstance(part, Value) else None)
        expression = _with_inlined(expression, waiting, result, long)
        used = [target for target in targets if uses[target]]
        if len(targets) == 1 and isinstance(expression, Name):
            names[targets[0]] = expression
        elif len(used) == 1 and len(targets) == 1 and uses[used[0]] == 1:
            waiting[used[0]] = expression
        else:
            result.append(Statement(targets if len(targets) > 1 else tuple(used), expression))
    return reads_where_they_are_used(result)


def shared_data_first(statements: Sequence[Statement], of_steps: AbstractSet[str] = frozenset()) -> list[Statement]:
    """Returns statements in which what is made of data alone and used in several places comes first.

    A mask that is made where the first layer needs it would make that layer unlike those that use it again. No gradient
    goes through these lines, so that their place changes no sum of gradients.

    Args:
      statements: of a function, the last one its result.
      of_steps: tensors that stay where they are, since unrolled steps make them.

    Returns:
      The statements.
    """
    fixed: Dict[str, int] = {}  # {target: number of its statement}
    for number, (targets, expression) in enumerate(statements[:-1]):
        stays = uses_scope(expression) or not of_steps.isdisjoint(targets)
        if targets and not stays and all(tensor in fixed for tensor in values_used(expression)):
            fixed.update(dict.fromkeys(targets, number))
    uses = collections.Counter(tensor for s in statements for tensor in set(values_used(s.expression)))
    todo = [fixed[tensor] for tensor in fixed if uses[tensor] > 1]
    first: Set[int] = set()
    while todo:
        number = todo.pop()
        if number not in first:
            first.add(number)
            todo += [fixed[tensor] for tensor in values_used(statements[number].expression)]
    return [statements[n] for n in sorted(first)] + [s for n, s in enumerate(statements) if n not in first]


def uses_scope(expression: Expression) -> bool:
    """Returns whether an expression asks the scope for a variable, random numbers or anything else."""
    return bool(re.search(r"\bscope\b", expression_text(expression)))


def reads_where_they_are_used(statements: Sequence[Statement]) -> list[Statement]:
    """Returns statements in which each variable is asked for just before the first line that uses it.

    A penalty that stands first in a sum would otherwise bring the variables of the last layers before the first layer.
    """
    waiting: Dict[str, Statement] = {}
    result: List[Statement] = []
    for statement in statements:
        if isinstance(statement.expression, Variable) and len(statement.targets) == 1:
            waiting[statement.targets[0]] = statement
            continue
        used = dict.fromkeys(tensor for tensor in values_used(statement.expression) if tensor in waiting)
        result += [*(waiting.pop(tensor) for tensor in used), statement]
    return [*result, *waiting.values()]


def _long_names(definitions: Sequence[Definition]) -> Dict[str, str]:
    """Returns {tensor: what stands for its name} of the items of a list of many parts and of the inputs."""
    found: Dict[str, str] = {}
    for targets, expression in definitions:
        listed = list_name(Statement(targets, expression))
        if listed:
            found.update((target, f"{listed}[00]") for target in targets)
        elif len(targets) == 1 and isinstance(expression, Item) and expression.base == Name("batch"):
            found[targets[0]] = expression.key.strip('"')
    return found


def _with_inlined(
    expression: Expression, waiting: Dict[str, Expression], result: List[Statement], long: Mapping[str, str]
) -> Expression:
    """Puts the definitions that wait for their only use into an expression, or makes them statements before it.

    Args:
      expression: the expression.
      waiting: {tensor: its expression} of these definitions; those that are used are taken out.
      result: the statements so far.
      long: see `_long_names`.

    Returns:
      The expression.
    """
    heavy = isinstance(expression, Call) and expression.function in LAYERS
    alone = isinstance(expression, Call) and expression.function in TAKE_NAMES
    inside: Dict[str, Expression] = {}
    kept, listed = _in_functions(expression), _listed(expression)
    is_product = isinstance(expression, Infix) and expression.symbol == "*"
    parts = [_sketch(waiting[tensor], long) for tensor in dict.fromkeys(values_used(expression)) if tensor in waiting]
    whole = len(_sketch(expression, long)) + sum(map(len, parts))
    for tensor in values_used(expression):
        if tensor not in waiting:
            continue
        made = waiting.pop(tensor)
        too_long = len(_sketch(expression, long)) + len(_sketch(made, long)) > MOST_TEXT
        simple = isinstance(made, (Item, Variable, Name)) and not (alone and too_long)
        simple = simple or (tensor in listed or is_product) and asks_by_name(made)
        needs_line = alone or _is_layer(made) and (heavy or whole > MOST_TEXT) or too_long
        if tensor in kept or needs_line and not simple:
            if alone and isinstance(made, Variable):
                expression = _with_lines_of_weights(expression, inside, result)
            result.append(Statement((tensor,), made))
        else:
            inside[tensor] = made
            expression = replace(expression, lambda part: inside.get(part.tensor) if isinstance(part, Value) else None)
    return expression


def _with_lines_of_weights(
    expression: Expression, inside: Dict[str, Expression], result: List[Statement]
) -> Expression:
    """Takes the weights out of an expression again, and gives each a line: weights are asked for in their order in it.

    Args:
      expression: the expression.
      inside: {tensor: what was put into the expression in its place}; the weights are removed from it.
      result: the statements so far.

    Returns:
      The expression.
    """
    asked = {tensor: inside.pop(tensor) for tensor in list(inside) if isinstance(inside[tensor], Variable)}
    result += [Statement((tensor,), weight) for tensor, weight in asked.items()]

    def taken_out(part: Expression) -> Optional[Expression]:
        return next((Value(tensor) for tensor, weight in asked.items() if part == weight), None)

    return replace(expression, taken_out)


def _listed(expression: Expression) -> Set[str]:
    """Returns the tensors that are items of lists in an expression: in a long list each has a line of its own."""
    parts = children(expression)
    items = {part.tensor for part in parts if isinstance(part, Value)} if isinstance(expression, Listing) else set()
    return items.union(*map(_listed, parts))


def asks_by_name(expression: Expression) -> bool:
    """Returns whether an expression asks for a variable that was asked for before, as penalties do."""
    return any(part.function == GET for part in calls(expression))


def _in_functions(expression: Expression) -> Set[str]:
    """Returns the tensors that functions in an expression use, which are computed once, before the functions run."""
    if isinstance(expression, Lambda):
        return set(values_used(expression))
    return {tensor for part in children(expression) for tensor in _in_functions(part)}


def _is_layer(expression: Expression) -> bool:
    return any(part.function in LAYERS for part in calls(expression))


def _sketch(expression: Expression, long: Mapping[str, str]) -> str:
    """Returns the text of an expression with short names for values, as long for each of several layers that are alike.

    Items of lists, such as `parts[3]`, and inputs have names as long as theirs.

    So the lines of layers that differ by their names and sizes alone end at the same places.
    """
    text = expression_text(
        replace(expression, lambda part: Name(long.get(part.tensor, "x")) if isinstance(part, Value) else None)
    )
    return re.sub(r"\d+", "00", re.sub(r'"[^"]*/', '"name/', text))
