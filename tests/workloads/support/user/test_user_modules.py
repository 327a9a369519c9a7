"""Import of the user's modules; `tests/test_broken_workloads.py` has those that fail."""

import sys

import pytest

from workloads.support.errors import InputError, UserError
from workloads.support.user import user_modules


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


def test_a_file_is_imported_by_its_path(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "users_port.py").write_text(f"import users_{folder}\nX = users_{folder}.NAME\n")
        (tmp_path / folder / f"users_{folder}.py").write_text(f"NAME = {folder!r}\n")
    files = [str(tmp_path / folder / "users_port.py") for folder in ("one", "two")]
    first, second = (user_modules.import_users_file(file, "--workload") for file in files)
    assert (first.X, second.X) == ("one", "two") and first.__name__ == "users_port" != second.__name__
    assert user_modules.import_users_file(files[0], "--workload") is first
    assert sys.modules[second.__name__] is second
    for name in ("users_port", second.__name__, "users_one", "users_two"):
        sys.modules.pop(name, None)


def test_a_file_that_is_not_there_or_fails_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(InputError, match="--workload: got .*no_such.py', there is no such file"):
        user_modules.import_users_file(str(tmp_path / "no_such.py"), "--workload")
    (tmp_path / "users_bad.py").write_text("1 / 0\n")
    with pytest.raises(UserError, match="users_bad.py:1: .*ZeroDivisionError"):
        user_modules.import_users_file(str(tmp_path / "users_bad.py"), "--workload")
    assert "users_bad" not in sys.modules


@pytest.mark.parametrize("has_other", [False, True])
def test_a_file_whose_name_has_a_dot_is_imported_and_not_the_module_before_the_dot(has_other, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    if has_other:
        (tmp_path / "users_old.py").write_text("1 / 0\n")
    (tmp_path / "users_old.port.py").write_text("X = 5\n")
    module = user_modules.import_users_file(str(tmp_path / "users_old.port.py"), "--workload")
    assert module.X == 5 and "users_old" not in sys.modules
    sys.modules.pop(module.__name__)
