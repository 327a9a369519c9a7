from parity.diagnosis.context.job_context import Context
from parity.diagnosis.signatures.passes import compare_passes
from tests.parity.causes.facts import batch
from tests.parity.causes.statistics_facts import moving_statistics
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

G = {"a": [1.0, 0.0, 2.0], "b": [3.0, 4.0, 5.0]}


def passes(gradient=None, loss=1.0, gaps=None, batches=(), names=("a", "b")):
    first, second = (dict(zip(names, g.values())) for g in (G, {**G, **(gradient or {})}))
    state = made_up_state(first, statistics=dict.fromkeys(["two/mean", "one/mean", *(gaps or ())], [0.0]))
    left = step_record(losses=[1.0], gradients=[first], state=state)
    right = step_record(losses=[loss], gradients=[second], state=state)
    facts = moving_statistics(gaps=gaps) if gaps is not None else None
    return compare_passes(
        made_up_evidence([compared_step(left, right, state)], Context(1, 4), statistics=facts, batches=list(batches))
    )


def test_equal_passes_agree_everywhere():
    found = passes(gaps={"two/mean": 0.0, "one/mean": 0.0})
    assert found.losses_agree and found.unequal_gradients == found.revived == found.unequal_norms == []
    assert found.equal_gradients == ["a", "b"] and found.equal_norms == ["two", "one"]


def test_losses_agree_within_rounding():
    assert passes(loss=1 + 1e-6).losses_agree
    assert not passes(loss=1 + 3e-6).losses_agree
    assert not passes(loss=float("nan")).losses_agree


def test_replicas_with_another_loss_are_found_where_others_have_none():
    def replicas(*losses):
        state = made_up_state(G)
        left, right = (step_record(losses=row, gradients=[G, G], state=state) for row in ([1.0, 2.0], losses))
        return compare_passes(made_up_evidence([compared_step(left, right, state)], Context(2, 4))).replicas

    assert replicas(1.0, 2.5) == (1,)
    assert replicas(1.5, 2.0) == (0,)
    assert replicas(1.0, 2.0) == replicas(1.5, 2.5) == ()


def test_steps_with_other_gradients_are_found_where_others_have_none():
    def steps(*differing):
        state = made_up_state(G)
        other = {name: [number * 1.5 for number in value] for name, value in G.items()}
        pairs = []
        for number, differs in enumerate(differing):
            gradients = (G, other if differs else G)
            records = (step_record(number, losses=[1.0], gradients=[its], state=state) for its in gradients)
            pairs.append(compared_step(*records, state))
        return compare_passes(made_up_evidence(pairs, Context(1, 4))).steps

    assert steps(False, True, False) == (1,)
    assert steps(True, True) == steps(False, False) == ()


def test_the_first_layer_with_other_moments_is_found_in_the_models_order():
    found = passes(gaps={"one/mean": 0.5, "two/mean": 0.0})
    assert (found.equal_norms, found.unequal_norms, found.first_gap) == (["two"], ["one"], 0.5)


def test_units_without_a_gradient_are_revived():
    found = passes({"a": [1.0, 0.5, 2.0]})
    assert (found.revived, found.unequal_gradients) == (["a"], ["a"])
    assert passes({"a": [1.5, 0.0, 2.0]}).revived == []


def test_another_activation_revives_units_in_every_step():
    state = made_up_state(G)

    def revived(*elements):
        steps = []
        for number, element in enumerate(elements):
            left = step_record(number, losses=[1.0], gradients=[G], state=state)
            right = step_record(number, losses=[1.5], gradients=[{**G, "a": [1.5, element, 2.0]}], state=state)
            steps.append(compared_step(left, right, state))
        return compare_passes(made_up_evidence(steps, Context(1, 4))).revived

    assert revived(0.5, 0.25) == ["a"]
    assert revived(0.5, 0.0) == []  # now and then, as other inputs do


def test_units_behind_other_moments_may_be_revived_by_them():
    revived, behind, before = {"a": [1.0, 0.5, 2.0]}, {"a/mean": 0.5}, {"b/mean": 0.5}
    assert passes(revived, gaps=behind, names=("a/weights", "b/weights")).revived == []
    assert passes(revived, gaps=before, names=("a/weights", "b/weights")).revived == ["a/weights"]


def test_other_batches_are_not_compared():
    assert passes(batches=[batch()]) is None


def test_units_that_are_revived_in_some_weights_only_have_other_inputs():
    state = made_up_state({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    left = step_record(losses=[1.0], gradients=[{"a": [0.0, 1.0], "b": [0.0, 1.0]}], state=state)

    def revived(first, second):
        right = step_record(losses=[1.5], gradients=[{"a": [first, 1.5], "b": [second, 1.5]}], state=state)
        return compare_passes(made_up_evidence([compared_step(left, right, state)], Context(1, 4))).revived

    assert revived(0.5, 0.5) == ["a", "b"]
    assert revived(0.5, 0.0) == revived(0.0, 0.5) == []


def test_rows_of_sparse_gradients_are_as_many_as_each_replica_has():
    state = made_up_state(G)
    left, right = (
        step_record(losses=[1.0, loss], gradients=[{"a": [0.0, loss]}, {"a": [0.0, loss, 2.0]}], state=state)
        for loss in (1.0, 2.0)
    )
    found = compare_passes(made_up_evidence([compared_step(left, right, state)], Context(2, 4)))
    assert found.revived == [] and found.replicas == (1,)
