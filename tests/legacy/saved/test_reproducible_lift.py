"""Lifting: the same graph gives the same plan, whatever order Python's sets have in the process."""

import os
import subprocess
import sys

import pytest

from legacy.saved import lifting
from tests import old_programs
from tests.house import ROOT
from workloads.support.errors import InputError

SCRIPT = """
import sys
from legacy.saved.lifting import lift_graph
lift_graph(sys.argv[1], sys.argv[2], sys.argv[3])
"""


def plan_in_a_process(seed, folder):
    """The text of a lift's plan, made by a process of its own under a hash seed."""
    graph, checkpoint = (old_programs.path("e_slim_dropout", name) for name in ("graph.meta", "model.ckpt"))
    environment = dict(os.environ, PYTHONHASHSEED=str(seed), PYTHONPATH=str(ROOT))
    subprocess.run([sys.executable, "-c", SCRIPT, graph, str(folder), checkpoint], env=environment, check=True)
    return (folder / "workload.json").read_text()


def test_a_lift_does_not_depend_on_the_hash_seed(tmp_path):
    first, second = (plan_in_a_process(seed, tmp_path / str(seed)) for seed in (1, 2))
    assert first == second


def test_a_graph_that_is_missing_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        lifting.lift_graph(str(tmp_path / "no.meta"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
