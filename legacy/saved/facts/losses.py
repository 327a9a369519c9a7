"""Facts of the losses of a training step: the terms that each is the sum of."""

from __future__ import annotations

from legacy.saved.analysis.loss_terms import term_weights, weights_are_known
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.joint_losses import LINEAR, is_linear
from legacy.saved.facts.weights_of_terms import weight_sentence
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated, without_zero
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name, tensor_name
from workloads.lifted.plan import Phase
from workloads.support.wording import SEVERAL, listed

#: What a term of weights alone is, and one that is a multiple of a weight, as of a trained log-variance.
REGULARIZER, MULTIPLE = "depends on weights only: a regularizer", "depends on weights only: a multiple of them"


def loss_rows(analysed: AnalysedStep) -> list[dict[str, str]]:
    """The first tower's loss of each train op, and the terms that it is the sum of."""
    rows = []
    for phase in analysed.phases:
        rows += [{"train op": phase.train_op, "term": name, "is": is_} for name, is_ in _only_loss(analysed, phase)]
        for tensor in phase.losses[:1]:
            is_sum = not phase.shared_loss or is_linear(analysed, phase)
            factor = (
                _weight_text(analysed, phase, phase.loss_scale)
                if is_sum
                else ", of which a function that is no sum is minimized"
            )
            text = _owner_of_loss(analysed) + factor
            terms = [
                (term, _term_text(analysed, term))
                for term in terms_of_sum(analysed.graph, parse_tensor_name(tensor)[0])
            ]
            if phase.shared_loss and analysed.imported.shape(*parse_tensor_name(tensor)) != ():
                text = "the first tower's part of one loss that all towers' results make"
                terms = []  # it may be the logits, which are no sum of terms
            others = [
                (row[0], "another loss of the first tower" + _weight_text(analysed, phase, scale))
                for row, scale in zip(phase.other_losses, phase.scales_of_others)
            ]
            others += _losses_of_one_tower(analysed, phase)
            others += _penalties_of_later_towers(analysed, phase) + _separate_penalties(analysed, phase)
            found = [(tensor, text), *terms, *others, *_terms_of_other_weights(analysed, phase)]
            rows += [{"train op": phase.train_op, "term": name, "is": is_} for name, is_ in found]
        rows += [
            {
                "train op": phase.train_op,
                "term": term,
                "is": f"added to all towers' losses: {_term_text(analysed, term)}",
            }
            for term in _shared_terms(analysed, phase)
        ]
    return rows


def _only_loss(analysed: AnalysedStep, phase: Phase) -> list[tuple[str, str]]:
    """(tensor, what it is) of the losses, and their terms, of the one tower that trains, where others' are dropped."""
    trained = [tower for tower, gradients in enumerate(phase.gradients) if gradients]
    if phase.losses or len(trained) != 1 or analysed.plan.towers == 1:
        return []
    graph, towers = analysed.graph, analysed.context.towers
    targets = [
        without_zero(graph, TensorId(name, 0)) for name in differentiated(graph, graph.ancestors([phase.train_op]))
    ]
    text = f"the loss of tower {analysed.numbers.of(trained[0])}, which alone is differentiated"
    own = [target for target in targets if towers.tower_of(target.node) == trained[0]]
    terms = [term for target in own for term in terms_of_sum(graph, target.node)]
    return [*((target.name, text) for target in own), *((term, _term_text(analysed, term)) for term in terms)]


def _owner_of_loss(analysed: AnalysedStep) -> str:
    """The loss of the first tower that trains, with its number if it is not the first one of the graph."""
    number = analysed.numbers.of(0)
    return f"the loss of tower {number}" if number else "the loss of the first tower"


def _losses_of_one_tower(analysed: AnalysedStep, phase: Phase) -> list[tuple[str, str]]:
    """(loss, the tower that alone differentiates it) of each loss that the other towers have no like of."""
    graph, tower_of = analysed.graph, analysed.context.towers.tower_of
    targets = differentiated(graph, graph.ancestors([phase.train_op])) if phase.losses else []
    losses = [without_zero(graph, TensorId(name, 0)) for name in targets if tower_of(name) is not None]
    known = {parse_tensor_name(loss).node for row in [phase.losses, *phase.other_losses] for loss in row}
    return [
        (loss.name, f"a loss that tower {analysed.numbers.of(tower_of(loss.node) or 0)} alone differentiates")
        for loss in losses
        if loss.node not in known and not phase.shared_loss
    ]


def _penalties_of_later_towers(analysed: AnalysedStep, phase: Phase) -> list[tuple[str, str]]:
    """(first term, what it is) of weights that no tower before has a term of, as of a decay in the last tower alone."""
    if phase.shared_loss or not analysed.plan.differences:
        return []
    trained = {variable.name for variable in analysed.plan.variables if variable.role == "weight"}
    penalized: set[str] = set()
    found = []
    for tower, loss in enumerate(phase.losses):
        terms = [
            term for term in terms_of_sum(analysed.graph, parse_tensor_name(loss)[0]) if _is_regularizer(analysed, term)
        ]
        weights = {term: analysed.graph.ancestors([term], controls=False) & trained for term in terms}
        own = [term for term in terms if tower and not weights[term] <= penalized]
        text = REGULARIZER if len(own) == 1 else f"with {len(own) - 1} more, regularizers, which depend on weights only"
        found += [(term, f"in the loss of tower {tower}, and of none before it: {text}") for term in own[:1]]
        penalized.update(*weights.values())
    return found


def _separate_penalties(analysed: AnalysedStep, phase: Phase) -> list[tuple[str, str]]:
    """(first term, what it is) of each loss of weights alone that is differentiated by itself, of the first tower's."""
    towers, graph = analysed.context.towers, analysed.graph
    targets = differentiated(graph, graph.ancestors([phase.train_op]))
    known = {parse_tensor_name(loss).node for row in [phase.losses, *phase.other_losses] for loss in row}
    alone = [name for name in targets if name not in known and not towers.masks.get(name, 0)]
    found = []
    for target in [name for name in alone if towers.labels.get(name, 0) == 0] if not phase.shared_loss else []:
        terms = terms_of_sum(analysed.graph, target)
        if terms and all(_is_regularizer(analysed, term) for term in terms):
            more = f"with {len(terms) - 1} more, regularizers, which depend on weights only"
            text = REGULARIZER if len(terms) == 1 else more
            found.append((terms[0], f"differentiated by itself: {text}"))
    return found


def _is_regularizer(analysed: AnalysedStep, term: str) -> bool:
    return _kind_of_term(analysed, term) == REGULARIZER


def _weight_text(analysed: AnalysedStep, phase: Phase, scale: float) -> str:
    """The weight of a tower's loss in what is minimized; none if that is made from all towers' results."""
    graph, towers = analysed.graph, analysed.context.towers
    targets = differentiated(graph, graph.ancestors([phase.train_op])) if phase.shared_loss and scale == 1 else []
    is_known = all(weights_are_known(graph, towers, name) for name in targets if towers.is_shared(name))
    return _factor_text(phase, scale if is_known else 0)


def _factor_text(phase: Phase, scale: float) -> str:
    """The weight of a tower's loss in one loss of all towers, or the constant factor that the loss contains."""
    if scale == 1:
        return ""
    if scale == 0:  # no constant, such as a loss scale that changes
        return ", times a number that the graph computes"
    return f", counted {scale:g} times" if phase.shared_loss else f", with its factor of {scale:g}"


def _terms_of_other_weights(analysed: AnalysedStep, phase: Phase) -> list[tuple[str, str]]:
    """(tensor, its weight in words) of the first tower's further terms of one loss of all, of another weight."""
    graph, towers = analysed.graph, analysed.context.towers
    targets = differentiated(graph, graph.ancestors([phase.train_op])) if phase.shared_loss else []
    if not all(map(towers.is_shared, targets)):  # a tower's own loss, which another tower's may contain
        return []
    weights = [entry for target in targets for entry in term_weights(graph, towers, target).items()]
    known = {name for row in [phase.losses, *phase.other_losses] for name in row}
    return [
        (tensor_name(*tensor), f"another term of the first tower, counted {weight:g} times")
        for tensor, weight in weights
        if towers.tower_of(tensor.node) == 0 and tensor_name(*tensor) not in known
    ]


def _shared_terms(analysed: AnalysedStep, phase: Phase) -> list[str]:
    """Terms of what is differentiated that are made outside of the towers, where that is one loss of all.

    Where a tower's loss only contains those of others, some losses are made in one tower, and none is of all.
    """
    towers, members = analysed.context.towers, analysed.graph.ancestors([phase.train_op])
    targets = differentiated(analysed.graph, members)
    if not all(map(towers.is_shared, targets)):
        return []
    terms = [term for target in targets for term in terms_of_sum(analysed.graph, target)]
    return [term for term in dict.fromkeys(terms) if not towers.masks.get(term, 0)]


def terms_of_sum(graph: Graph, name: str) -> list[str]:
    """Returns the terms of a loss that is a sum, without constants; a sum times a constant has the terms of the sum.

    So has one with the opposite sign; and a difference has two terms.

    Args:
      graph: a graph.
      name: a node of it; where it is no sum, it is the only term.
    """
    if graph.type(name) in ("Identity", "RealDiv", "Div", "ExpandDims", "Reshape", "Squeeze") and graph.inputs(name):
        return terms_of_sum(graph, graph.inputs(name)[0][0])
    if graph.type(name) == "Neg":
        terms = terms_of_sum(graph, graph.inputs(name)[0][0])
        return terms if len(terms) > 1 else [name]
    if graph.type(name) in (*op_types.ADDITIONS, "Sub"):
        return [term for before, _ in graph.inputs(name) for term in terms_of_sum(graph, before)]
    if graph.type(name) == "Mul":
        factors = [before for before, _ in graph.inputs(name) if graph.type(before) != "Const"]
        terms = terms_of_sum(graph, factors[0]) if len(factors) == 1 else []
        return terms if len(terms) > 1 else [name]
    return [name] if graph.type(name) != "Const" else []


def _term_text(analysed: AnalysedStep, term: str) -> str:
    kind = _kind_of_term(analysed, term)
    fed = sorted(analysed.graph.ancestors([term], controls=False) & _settings(analysed)) if kind == REGULARIZER else []
    if fed:
        return f"depends on weights and on {listed(fed, SEVERAL)}, a number that is fed: a regularizer"
    return kind + weight_sentence(analysed, term)


def _kind_of_term(analysed: AnalysedStep, term: str) -> str:
    """Returns what a term depends on, in words; a weight of it that is fed is no data."""
    before = analysed.graph.ancestors([term], controls=False)
    inputs = {parse_tensor_name(tensor).node for tensor in _input_tensors(analysed)}
    if before & (inputs | set(analysed.plan.sources) - _settings(analysed)):
        return "depends on data"  # also of an input that is drawn unless it is fed
    if before & analysed.context.random:
        return "depends on random numbers"
    trained = {variable.name for variable in analysed.plan.variables if variable.role == "weight"}
    data = before & {variable.name for variable in analysed.plan.variables} - trained
    if before & trained and not data and not _has_input(analysed):
        return "depends on weights, and on no input: no loss of this step has any"
    if before & trained and data and not any(map(analysed.is_changed, data)):
        return f"depends on weights and on {listed(sorted(data), SEVERAL)}, and on no input"
    if not before & trained and data and not any(map(analysed.is_changed, data)):
        return "depends on variables that the step does not change"
    if not before & trained or data:
        return "depends on no input"
    return MULTIPLE if _is_multiple(analysed, before) else REGULARIZER


def _is_multiple(analysed: AnalysedStep, nodes: set[str]) -> bool:
    """Whether what some nodes compute is a linear function of weights, which is no penalty."""
    graph, imported = analysed.graph, analysed.imported
    for name in nodes:
        kind, inputs = graph.type(name), graph.inputs(name)
        if kind in ("Mul", "RealDiv", "Div"):
            if all(imported.constant(*tensor) is None for tensor in inputs[int(kind != "Mul") :]):
                return False
        elif kind not in (*LINEAR, *op_types.VARIABLES, "ReadVariableOp", "Const"):
            return False
    return True


def _input_tensors(analysed: AnalysedStep) -> list[str]:
    entries = [entry for entry in analysed.plan.inputs + analysed.plan.common if entry.kind != "setting"]
    return [tensor for entry in entries for tensor in entry.tensors]


def _settings(analysed: AnalysedStep) -> set[str]:
    """Returns the scalar inputs, such as a rate of weight decay."""
    entries = [entry for entry in analysed.plan.inputs + analysed.plan.common if entry.kind == "setting"]
    return {parse_tensor_name(tensor).node for entry in entries for tensor in entry.tensors}


def _has_input(analysed: AnalysedStep) -> bool:
    """Whether data enter the step: if not, its examples are constants, and a loss cannot be told from a regularizer."""
    return bool(_input_tensors(analysed))
