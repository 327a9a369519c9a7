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
print(hash("a text"))
"""


GRAPH, CHECKPOINT = (old_programs.path("e_slim_dropout", name) for name in ("graph.meta", "model.ckpt"))


def test_a_lift_does_not_depend_on_the_hash_seed(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    lifting.lift_graph(GRAPH, str(here), CHECKPOINT)
    environment = dict(os.environ, PYTHONHASHSEED="1", PYTHONPATH=str(ROOT))
    command = [sys.executable, "-c", SCRIPT, GRAPH, str(there), CHECKPOINT]
    process = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert int(process.stdout) != hash("a text")
    assert (here / "workload.json").read_text() == (there / "workload.json").read_text()


def test_a_graph_that_is_missing_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        lifting.lift_graph(str(tmp_path / "no.meta"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
