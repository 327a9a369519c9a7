from parity.causes.inputs.step_factors import StepFactors, clean_factors, differing_sometimes, factor_table
from tests.parity.causes.facts import step_gradients
from tests.parity.step_records import compared_step, made_up_evidence, step_record

WHOLE, HALF = [1.0, 1.0], [0.5, 1.0]


def evidence_of(*steps):
    """Evidence of steps in which the two replicas' gradients have these factors."""
    compared = [compared_step(step_record(number), step_record(number)) for number in range(len(steps))]
    return made_up_evidence(compared, gradients=step_gradients(*steps), batches=[])


def test_a_step_differs_only_beside_steps_that_do_not():
    some, all_steps = evidence_of(WHOLE, HALF), evidence_of(HALF, HALF)
    assert differing_sometimes(some, clean_factors(some)) == [StepFactors(1, HALF)]
    assert differing_sometimes(all_steps, clean_factors(all_steps)) == []


def test_the_table_holds_the_steps_that_differ():
    assert factor_table(evidence_of(WHOLE, HALF))["factors"] == ((1, (0.5, 1.0)),)
    assert factor_table(evidence_of(WHOLE, WHOLE))["factors"] == ()
