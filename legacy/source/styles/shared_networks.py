"""Functions of networks that one loss or several use more than once, and the statements that call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Sequence

from legacy.source.basics.cut import example_sizes
from legacy.source.basics.expressions import Definition, Value, replace
from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.complements import with_names
from legacy.source.lines.penalties import with_shapes_first
from legacy.source.repeats.mere_calls import without_mere_calls
from legacy.source.repeats.network_functions import with_networks
from legacy.source.repeats.outlining import outline_parts
from legacy.source.step.model import statements_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.lines.statements import Statement
    from legacy.source.repeats.abstraction import Function
    from legacy.source.step.model import Model


class SharedNetworks(NamedTuple):
    """Functions that losses share, and the rest.

    Attributes:
      functions: each after those that it calls.
      statements: of each loss.
      shape: returns a tensor's static shape, or None.
    """

    functions: List[Function]
    statements: List[List[Statement]]
    shape: Callable[[str], Optional[List[int]]]


class _Shapes:
    """Shapes of the tensors of several models.

    The name of a tensor of a later model ends with "#" and its number; that of a function's has the function after "@".
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models
        #: {parameter of a function: its shape}.
        self.parameters: Dict[str, Optional[List[int]]] = {}

    def __call__(self, tensor: str) -> Optional[List[int]]:
        if tensor in self.parameters:
            return self.parameters[tensor]
        name, _, number = tensor.partition("@")[0].partition("#")
        if name.startswith("batch:"):
            return [self._models[0].batch, *example_sizes(self._models[0].inputs[name[len("batch:") :]])]
        return self._models[int(number or 0)].recovery.shape(name)


def share_networks(models: Sequence[Model]) -> Optional[SharedNetworks]:
    """Makes functions of the networks that models use several times, and of what is repeated in these and the models.

    Args:
      models: the losses.

    Returns:
      The functions and the statements that call them; None if there is no such network.
    """
    rates = {name: rate for model in models for name, rate in model.rates.items()}
    same_rates = all(rates[name] == rate for model in models for name, rate in model.rates.items())
    same_data = all(model.inputs == models[0].inputs and model.batch == models[0].batch for model in models)
    if not same_data or not same_rates or any(model.others or not model.definitions for model in models):
        return None
    shape, batch = _Shapes(models), models[0].batch
    parts = [_numbered(model.definitions, f"#{number}" if number else "") for number, model in enumerate(models)]
    try:
        found = with_networks(parts, shape, batch)
    except Unwritten:
        return None
    if not found.functions:
        return None
    shape.parameters.update(found.shapes)
    names = {value: name for name, (value, _) in rates.items()}
    bodies = [with_names(function.statements, names) for function in found.functions]
    losses = [
        with_shapes_first(with_names(statements_of(part, found.updating), names), all_of)
        for part, all_of in zip(found.parts, parts)
    ]
    taken = [function.name for function in found.functions]
    of_parts = [(body, function.results) for body, function in zip(bodies, found.functions)] + [
        (one, ()) for one in losses
    ]
    repeated, written = outline_parts(of_parts, shape, batch, taken)
    networks = [function._replace(statements=body) for function, body in zip(found.functions, written)]
    functions, rest = without_mere_calls([*repeated, *networks], written[len(networks) :])
    return SharedNetworks(functions, rest, shape)


def _numbered(definitions: Sequence[Definition], ending: str) -> List[Definition]:
    """Returns definitions whose tensors have names that end so."""

    def renamed(part: Expression) -> Expression | None:
        return Value(part.tensor + ending) if isinstance(part, Value) else None

    return [Definition(tuple(t + ending for t in d.targets), replace(d.expression, renamed)) for d in definitions]
