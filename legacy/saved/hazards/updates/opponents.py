"""Hazards of train ops that train the other side besides: of generator, actor and critic."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read, variables_behind
from legacy.saved.hazards.signs.shared_goals import goals_of_outputs, sigmoid_entropies
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

_PRODUCTS = ("MatMul", "Conv2D", "Conv3D")


def generators_that_train_critics(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops that train a critic through what they make, besides its own train op; one hazard for all.

    A critic's own loss has its scores of real examples, too; the head of a network that one train op trains alone, and
    another together with the layers before it, sees nothing else than these layers.
    """
    pairs = (entry for entry in _trained_besides(found) if _scores_real_and_made(whole, *entry))
    for critic, own, generator, makers in itertools.islice(itertools.chain(pairs, _with_one_list(whole, found)), 1):
        yield Hazard(
            "CRITIC_TRAINED_BY_GENERATOR",
            generator.train_op,
            f"{generator.train_op} trains {counted(len(own), 'variable')} of the critic besides "
            f"{counted(len(makers), 'variable')} of the generator ({listed(sorted(own), FEW)}): it "
            f"teaches the critic the opposite of what {critic.train_op} does",
            "give each minimize or compute_gradients its own var_list; for parity keep both",
        )


def critics_that_train_generators(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops of a critic that train what makes the examples, which has a train op of its own; one for all."""
    turned = ((critic, scores, generator, makers) for generator, makers, critic, scores in _trained_besides(found))
    pairs = (entry for entry in turned if _scores_real_and_made(whole, *entry))
    for critic, scores, generator, makers in itertools.islice(itertools.chain(pairs, _with_one_list(whole, found)), 1):
        yield Hazard(
            "GENERATOR_TRAINED_BY_CRITIC",
            critic.train_op,
            f"{critic.train_op} trains {counted(len(makers), 'variable')} of the generator besides "
            f"{counted(len(scores), 'variable')} of the critic ({listed(sorted(makers), FEW)}): it "
            f"teaches the generator the opposite of what {generator.train_op} does",
            "give each minimize or compute_gradients its own var_list; for parity keep both",
        )


def actors_that_train_critics(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops of an actor that raise a critic's values by the critic's weights besides; one hazard for all.

    The critic has a train op of its own, for which the actor makes nothing. The actor's loss is a mean of values; one
    with labels may well train the layers that follow.
    """
    for critic, own, actor, makers in _trained_besides(found):
        if not _is_mean_of_values(whole, actor, own):
            continue
        if not whole.graph.ancestors(_products(whole, critic, own), controls=False) & makers:
            yield Hazard(
                "CRITIC_TRAINED_BY_ACTOR",
                actor.train_op,
                f"{actor.train_op} trains {counted(len(own), 'variable')} of the critic besides "
                f"{counted(len(makers), 'variable')} of the actor ({listed(sorted(own), FEW)}): it changes "
                "the values themselves, and not only the actions, without regard to rewards",
                "give the actor's minimize or compute_gradients its own var_list; for parity keep both",
            )
            return


def _trained_besides(found: Analysis) -> Iterator[tuple[Phase, set[str], Phase, set[str]]]:
    """Yields (train op, its variables, a second one that trains them all, too, variables of the second alone)."""
    trained = [(phase, _trained(found, phase)) for phase in found.plan.phases]
    for (phase, own), (other, more) in itertools.product(trained, trained):
        if own and own < more:
            yield phase, own, other, more - own


def _is_mean_of_values(whole: WholeGraph, phase: Phase, weights: Collection[str]) -> bool:
    """Whether a train op's loss is a linear function of products with some weights, and of nothing else of data."""
    name = parse_tensor_name(phase.losses[0]).node if phase.losses else ""
    linear = linear_signs(whole, name) if name in whole.graph.nodes else {}
    return bool(set(linear) & _products(whole, phase, weights))


def _trained(found: Analysis, phase: Phase) -> set[str]:
    rules = found.context.state.rules
    return {effect.writes[0] for effect in phase.effects if effect.node in rules}


def _with_one_list(whole: WholeGraph, found: Analysis) -> Iterator[tuple[Phase, set[str], Phase, set[str]]]:
    """Yields (train op of a critic, the critic's weights, that of its generator, its weights) that train all of both.

    The losses push an output opposite ways, and the critic's own loss pushes another output of the same layer, of
    real examples, where the generator's pushes the first. What only the first is made by is the generator.
    """
    entropies: dict[str, CrossEntropy] | None = None
    for critic, generator in itertools.permutations(found.plan.phases, 2):
        every = _trained(found, critic)
        if not every or every != _trained(found, generator) or not (critic.losses and generator.losses):
            continue
        entropies = sigmoid_entropies(whole) if entropies is None else entropies
        own, others = (
            goals_of_outputs(whole, parse_tensor_name(phase.losses[0]).node, entropies) for phase in (critic, generator)
        )
        for made, (weight, goal) in others.items():
            opposed = goal != 0 and own.get(made) == (weight, -goal)
            real = [name for name in own if name not in others and own[name] == (weight, goal)] if opposed else []
            makers = every & variables_behind(whole.graph, made)
            makers -= set().union(*(variables_behind(whole.graph, name) for name in real))
            if real and makers:
                yield critic, every - makers, generator, makers


def _scores_real_and_made(
    whole: WholeGraph, critic: Phase, weights: Collection[str], generator: Phase, makers: Collection[str]
) -> bool:
    """Whether both losses have a critic's products of made examples, and its own loss those of others as well.

    Args:
      whole: the graph.
      critic: trains the weights.
      weights: of the critic.
      generator: trains both.
      makers: variables of the generator.
    """
    own, other = _products(whole, critic, weights), _products(whole, generator, weights)
    made = {name for name in other if whole.graph.ancestors([name], controls=False) & set(makers)}
    real = {name for name in own - other if not whole.graph.ancestors([name], controls=False) & set(makers)}
    return bool(made & own) and bool(real) and made == other


def _products(whole: WholeGraph, phase: Phase, weights: Collection[str]) -> set[str]:
    """The products with some weights that a train op's loss is computed from."""
    ends = [parse_tensor_name(loss).node for loss in phase.losses[:1]]
    before = whole.graph.ancestors([name for name in ends if name in whole.graph.nodes], controls=False)
    return {
        name
        for name in before
        if whole.graph.type(name) in _PRODUCTS
        and not is_gradient_op(name)
        and variable_read(whole.graph, whole.graph.inputs(name)[1].node, READS_IN_BRANCHES) in weights
    }
