import json

import numpy as np
import pytest

from parity.comparison.difference import compare
from parity.comparison.result import Failure, Verification
from parity.reports import tables
from workloads.support import json_file
from workloads.support.errors import InputError


def test_json_is_written_in_one_piece(tmp_path):
    path = tmp_path / "out.json"
    json_file.write_json(str(path), {"a": (np.float32(0.5), float("nan"), np.int64(3))})
    assert json.loads(path.read_text()) == {"a": [0.5, "nan", 3]}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["no/such/folder.json", "."])
def test_a_path_that_cannot_be_written_is_refused_before_the_work(tmp_path, name):
    with pytest.raises(InputError, match="--json"):
        json_file.require_writable(str(tmp_path / name), "--json")


def test_a_failure_names_the_place():
    difference = compare("conv/weights", np.float32([[1, 2]]), np.float32([[1, 4]]))
    first = Failure(3, "weights", difference, 0.0)
    line = tables.verdict_line(Verification("exact", "free", 5, False, first=first))
    assert "first at step 3, stage weights: conv/weights[0,1] at step 3: 2.0 | 4.0" in line
