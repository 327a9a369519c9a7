"""Examples to evaluate on: the user's own, and made-up ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests import old_programs
from tests.cases import Dyadic
from tests.workloads.training.test_evaluation import Measured
from workloads.data.evaluation import made_up_examples, own_examples
from workloads.job import Job
from workloads.support.errors import InputError


@pytest.mark.parametrize("replicas", [2, 4])
def test_made_up_examples_leave_a_batch_that_the_replicas_do_not_divide(replicas):
    batches = made_up_examples(Job(Measured(), replicas, 4))
    assert batches.batch(1)["x"].tolist() == [4, 5, 6, 0]  # filled up, so that every batch is full
    assert batches.count == 7 and (batches.count - 4) % replicas


def test_own_examples_keep_their_order(tmp_path):
    np.savez(tmp_path / "test.npz", x=np.arange(5))
    batches = own_examples(Job(Measured(), 2, 4), str(tmp_path / "test.npz"))
    assert batches.count == 5 and batches.batch(0)["x"].tolist() == [0, 1, 2, 3]


def test_a_workload_without_metrics_is_refused():
    with pytest.raises(InputError, match="--eval_data: got 'test.npz', workload 'dyadic' defines no metrics"):
        own_examples(Job(Dyadic(), 2, 4), "test.npz")


def test_a_lift_is_refused_with_the_way_to_metrics():
    with pytest.raises(InputError, match="a lift has no metrics: `legacy.lift --source=port.py` writes its source"):
        own_examples(old_programs.setup("b_adam_clip").job, "test.npz")
