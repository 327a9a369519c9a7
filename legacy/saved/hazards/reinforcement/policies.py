"""Hazards of policy gradients: a differentiated advantage, an entropy that is minimized, a reversed ratio."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.reinforcement.clipped_ratios import bound_at_one
from legacy.saved.hazards.reinforcement.entropies import COPIES, past, sign_of_entropy
from legacy.saved.hazards.reinforcement.normalized_returns import is_fed, sign_of_normalized_returns
from workloads.lifted.tensors.gradient_names import is_gradient_op

_LIKELIHOODS = ("LogSoftmax", "SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")
_SQUARES = ("Square", "SquaredDifference", "Pow")
#: Ops that end a value head.
_VALUES = ("Add", "AddV2", "BiasAdd", "MatMul")


def differentiated_advantages(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds log-probabilities of actions, or ratios that are clipped at 1, times a return less a value; one for all.

    They are named where the gradient reaches the value.
    """
    ratios = set(clipped_ratios(whole))
    for name in _products(whole):
        for place, tensor in enumerate(whole.graph.inputs(name)):
            value = _value_of_advantage(whole, tensor.node)
            other = whole.graph.inputs(name)[1 - place].node
            is_ratio = past(whole, other) in ratios
            is_advantage = value and (is_ratio or _is_log_probability(whole, other))
            if is_advantage and gradient_flow(whole).passes_input(name, place):
                factors = "a ratio of probabilities" if is_ratio else "log-probabilities"
                yield Hazard(
                    "ADVANTAGE_DIFFERENTIATED",
                    name,
                    f"{name} multiplies {factors} by returns less {value}, and the gradient flows through "
                    "both: the policy's loss trains the value function, too",
                    "apply tf.stop_gradient to the advantage; for parity leave it out",
                )
                return


def minimized_policies(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses to which log-probabilities of actions times returns or advantages are added; one hazard for all."""
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            inputs = [tensor.node for tensor in whole.graph.inputs(name)] if whole.graph.type(name) == "Mul" else []
            for one, other in zip(inputs, reversed(inputs)):
                orientation = _sign_of_advantage(whole, other) if _is_log_probability(whole, one) else 0
                if orientation * sign_of_likelihood(whole, one) * sign > 0 and gradient_flow(whole).passes(name):
                    turned = ", in which the returns have a minus sign," if orientation < 0 else ""
                    weight = "a negative weight" if turned else "a positive weight"
                    factors = "high returns" if turned else "positive factors"
                    yield Hazard(
                        "POLICY_MINIMIZED",
                        name,
                        f"{target} contains the sum of {name}, log-probabilities of actions times "
                        f"{past(whole, other)}{turned or ','} with {weight}: it falls where actions with {factors} get "
                        "less likely, which is right for costs alone",
                        "subtract the term if these are returns or advantages; for parity keep the sign",
                    )
                    return


def _sign_of_advantage(whole: WholeGraph, name: str) -> int:
    """1 of numbers that data bring, perhaps less a value, -1 of their negatives, 0 of anything else."""
    graph, sign = whole.graph, 1
    while graph.type(name) in (*COPIES, "StopGradient"):
        sign = -sign if graph.type(name) == "Neg" else sign
        name = graph.inputs(name)[0].node
    value = _value_of_advantage(whole, name, is_stopped=True)
    if value:
        return -sign if graph.inputs(name)[0].node == value else sign
    is_given = name in whole.data and not _weights(whole, name) and whole.value(name) is None
    return sign if is_given and is_fed(whole, name) else sign * sign_of_normalized_returns(whole, name)


def minimized_entropies(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with log-probabilities of actions that also contain their entropy with a positive weight.

    The entropy of other results, as of examples without labels beside weighted labels, is that of no policy.
    """
    policies = [name for name in _products(whole) if _is_policy_gradient(whole, name)] + clipped_ratios(whole)
    if not policies:
        return
    of_policies = whole.graph.ancestors(policies, controls=False)
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            of_entropy, logits = sign_of_entropy(whole, name)
            if sign * of_entropy > 0 and logits in of_policies:
                less = "less " if of_entropy < 0 else ""
                yield Hazard(
                    "ENTROPY_MINIMIZED",
                    name,
                    f"{target} contains the entropy of the policy ({less}{name}) with a positive weight: it falls "
                    "where the policy explores less",
                    "subtract the entropy; for parity keep the sign",
                )
                return


def reversed_ratios(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds clipped ratios exp(old - new) of probabilities, new over old being meant; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Exp"):
        difference = past(whole, graph.inputs(name)[0].node)
        if is_gradient_op(name) or graph.type(difference) != "Sub" or not _is_clipped_at_one(whole, name):
            continue
        old, new = (tensor.node for tensor in graph.inputs(difference))
        if _is_given(whole, new):  # new less old, of negative logarithms
            old, new, turned = new, old, -1
        else:
            turned = 1
        if _is_given(whole, old) and turned * sign_of_likelihood(whole, new) > 0:
            yield Hazard(
                "RATIO_REVERSED",
                name,
                f"{name} is the ratio of the fed {old} to {new}, and is clipped at 1: it rises where actions of a "
                "positive advantage become less likely",
                "use exp(new - old); for parity keep it",
            )
            return


def _is_given(whole: WholeGraph, name: str) -> bool:
    return name in whole.data and not _weights(whole, name)


def clipped_ratios(whole: WholeGraph) -> list[str]:
    """Returns the ratios of the probabilities of actions that are clipped at 1."""
    graph = whole.graph
    names = [
        name for name in whole.minimized_ops("Exp") if not is_gradient_op(name) and _is_clipped_at_one(whole, name)
    ]
    inner = {name: past(whole, graph.inputs(name)[0].node) for name in names}
    return [
        name
        for name, difference in inner.items()
        if graph.type(difference) == "Sub"
        and any(sign_of_likelihood(whole, tensor.node) for tensor in graph.inputs(difference))
    ]


def _products(whole: WholeGraph) -> list[str]:
    graph = whole.graph
    return [n for n in graph.of_types("Mul") if n in whole.minimized and not is_gradient_op(n)]


def _is_policy_gradient(whole: WholeGraph, product: str) -> bool:
    """Whether a node multiplies log-probabilities of actions by what is no constant and comes from data."""
    inputs = [tensor.node for tensor in whole.graph.inputs(product)]
    return any(
        _is_log_probability(whole, one) and other in whole.data and whole.value(other) is None
        for one, other in zip(inputs, reversed(inputs))
    )


def _is_log_probability(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds the logarithms of the probabilities of actions that data bring, or their negatives."""
    graph, name = whole.graph, past(whole, name)
    scaled = constant_factor(whole, name)
    if scaled is not None:
        return _is_log_probability(whole, scaled[0])
    if graph.type(name) in _LIKELIHOODS[1:]:
        return True
    if graph.type(name) == "Log":
        return _is_chosen_probability(whole, name)
    product = past(whole, graph.inputs(name)[0].node) if graph.type(name) == "Sum" else ""
    inputs = [past(whole, tensor.node) for tensor in graph.inputs(product)] if product else []
    if not product or graph.type(product) != "Mul":
        return False
    for one, other in zip(inputs, reversed(inputs)):
        logarithm = graph.type(one) == "LogSoftmax" or (
            graph.type(one) == "Log" and any(graph.type(n) == "Softmax" for n in graph.ancestors([one], controls=False))
        )
        if logarithm and other in whole.data and not _weights(whole, other):
            return True
    return False


def _is_chosen_probability(whole: WholeGraph, logarithm: str) -> bool:
    """Whether a logarithm is of the sum of a softmax's results times the codes of the chosen actions, or one of them.

    A constant may be added, and bounds be put on it, to keep it from zero.
    """
    graph = whole.graph
    name = past(whole, graph.inputs(logarithm)[0].node)
    while graph.type(name) in ("Add", "AddV2", "Maximum", "Minimum"):
        others = [tensor.node for tensor in graph.inputs(name) if whole.value(tensor.node) is None]
        if len(others) != 1:
            return False
        name = past(whole, others[0])
    product = past(whole, graph.inputs(name)[0].node) if graph.type(name) == "Sum" else ""
    inputs = [past(whole, tensor.node) for tensor in graph.inputs(product)] if product else []
    if not product or graph.type(product) != "Mul":
        return False
    pairs = zip(inputs, reversed(inputs))
    return any(
        graph.type(one) == "Softmax" and other in whole.data and not _weights(whole, other) for one, other in pairs
    )


def sign_of_likelihood(whole: WholeGraph, name: str) -> int:
    """Returns 1 of a node that grows with the likelihood of actions, -1 of its negative, 0 where that is not known.

    That of a normal distribution has less the square of a distance; any other is a logarithm or a cross entropy.
    """
    signs = linear_signs(whole, name)
    weighed = {node: sign for node, sign in signs.items() if _weights(whole, node)}
    squares = {-sign for node, sign in weighed.items() if whole.graph.type(node) in _SQUARES}
    logarithms = {sign for node, sign in weighed.items() if _is_logarithm(whole, node)}
    logarithms |= {-sign for node, sign in weighed.items() if whole.graph.type(node) in _LIKELIHOODS[1:]}
    known = squares or logarithms
    return known.pop() if len(known) == 1 else 0


def _is_logarithm(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds logarithms, perhaps times the codes of the chosen actions or those gathered at them."""
    kind = whole.graph.type(name)
    if kind in ("Mul", *op_types.PICKS):
        inputs = [past(whole, tensor.node) for tensor in whole.graph.inputs(name)]
        trained = [before for before in inputs if _weights(whole, before)]
        return len(trained) == 1 and _is_logarithm(whole, trained[0])
    return kind in op_types.LOGARITHMS


def _value_of_advantage(whole: WholeGraph, name: str, is_stopped: bool = False) -> str:
    """The value that data are lessened by, or the other way round; "" if a node is no such difference.

    Args:
      whole: the graph.
      name: of the node.
      is_stopped: whether the value may be behind `tf.stop_gradient`.
    """
    graph, name = whole.graph, past(whole, name)
    inputs = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) == "Sub" else []
    for returns, value in zip(inputs, reversed(inputs)):
        head = past(whole, value)
        while graph.type(head) == "StridedSlice" or (is_stopped and graph.type(head) == "StopGradient"):
            head = past(whole, graph.inputs(head)[0].node)  # the one column of a value head
        if (
            returns in whole.data
            and not _weights(whole, returns)
            and graph.type(head) in _VALUES
            and _weights(whole, head)
        ):
            return value
    return ""


def _is_clipped_at_one(whole: WholeGraph, name: str) -> bool:
    """Whether a node is bounded by numbers below and above 1, as by `tf.clip_by_value`."""
    graph, bounds, todo = whole.graph, set(), [name]
    while todo:
        for user in [use.node for use in graph.users(todo.pop())]:
            is_bound = graph.type(user) in op_types.BOUNDS
            numbers = [bound_at_one(whole, tensor.node) for tensor in graph.inputs(user)] if is_bound else []
            if any(n is not None for n in numbers):
                bounds |= {number for number in numbers if number is not None}
                todo.append(user)
    return any(0.5 <= bound < 1 for bound in bounds) and any(1 < bound <= 2 for bound in bounds)


def _weights(whole: WholeGraph, name: str) -> set[str]:
    return whole.graph.ancestors([name], controls=False) & whole.trainable
