"""Import of the user's modules; `tests/test_broken_workloads.py` has those that fail."""

import sys

import pytest

from workloads.support import user_modules
from workloads.support.errors import InputError, UserError


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Function that writes a module below the current folder; returns its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(text):
        (tmp_path / "users_own.py").write_text(text)
        return "users_own"

    yield write
    sys.modules.pop("users_own", None)


def test_a_module_is_found_below_the_current_folder(module):
    assert user_modules.import_users_module(module("X = 3\n"), "--workload").X == 3


def test_a_module_that_is_not_there_is_refused(module):
    with pytest.raises(InputError, match="--data: importing 'no_such' failed: ModuleNotFoundError"):
        user_modules.import_users_module("no_such", "--data")


def test_a_name_that_this_project_uses_is_pointed_out(module):
    with pytest.raises(UserError, match="users_own.py:1: .*workloads is a package of tower-parity; rename yours"):
        user_modules.import_users_module(module("import workloads.no_such\n"), "--workload")
