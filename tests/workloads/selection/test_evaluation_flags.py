"""`--eval_data` of any command."""

from __future__ import annotations

import numpy as np
from absl import flags

from tests.workloads.training.test_evaluation import Measured
from workloads.job import Job
from workloads.selection.evaluation_flags import define_eval_data, examples_from_flags


def test_the_flag_names_examples(tmp_path):
    values = flags.FlagValues()
    define_eval_data(values)
    flags.DEFINE_string("parser", None, "", flag_values=values)
    np.savez(tmp_path / "test.npz", x=np.arange(5))
    job = Job(Measured(), 2, 4)
    values(["command"])
    assert examples_from_flags(job, values) is None
    values(["command", f"--eval_data={tmp_path / 'test.npz'}"])
    found = examples_from_flags(job, values)
    assert found is not None and found.count == 5
