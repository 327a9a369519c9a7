"""The text by which another process finds a workload."""

import pathlib

import pytest

from parity.library.workload_names import workload_text
from workloads.models import regression
from workloads.support.errors import InputError

MINE = regression.Regression(name="mine")


def test_text_and_paths_stay_as_they_are():
    assert workload_text("mine:JOB") == "mine:JOB"
    assert workload_text(pathlib.Path("lifted")) == "lifted"


def test_an_object_is_found_in_its_module():
    assert workload_text(regression.SMALL) == "workloads.models.regression:SMALL"
    assert workload_text(MINE).endswith(("test_workload_names:MINE", "test_workload_names.py:MINE"))


def test_an_object_that_no_module_has_is_refused():
    with pytest.raises(InputError, match="workload: got Regression 'hidden', expected a variable of a module"):
        workload_text(regression.Regression(name="hidden"))
