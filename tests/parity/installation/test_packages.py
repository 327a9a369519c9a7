"""Requirements as the project's folder and an installed distribution name them, and checks of the versions here."""

from importlib import metadata

import pytest

from parity.installation import packages
from parity.installation.packages import Requirement, Requirements, package_checks, read_requirements


def test_the_folder_and_an_installed_distribution_name_the_same(monkeypatch, tmp_path):
    lines = ["numpy<3,>=1.26", 'matplotlib<4,>=3.8; extra == "report"']
    monkeypatch.setattr(metadata, "metadata", lambda name: {"Requires-Python": ">=3.10,<3.14"})
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    installed = read_requirements(tmp_path / "setup.cfg")
    assert installed.packages == [
        Requirement("numpy", "<3,>=1.26", ""),
        Requirement("matplotlib", "<4,>=3.8", "report"),
    ]
    own = read_requirements()
    assert own.python == installed.python == ">=3.10,<3.14"
    assert Requirement("numpy", ">=1.26,<3", "") in own.packages
    assert Requirement("matplotlib", ">=3.8,<4", "report") in own.packages


def test_everything_needed_is_here():
    checks = [check for check in package_checks(read_requirements()) if check.needed]
    assert [check.name for check in checks] == ["Python", "tensorflow", "numpy", "absl-py", "rich"]
    assert all(check.works for check in checks)


@pytest.mark.parametrize(
    "required, found, detail",
    [
        (">=1.26,<3", "2.0", "2.0"),
        (">=1.26,<3", "3.1", "3.1, must be >=1.26,<3"),
        (">=1.26,<3", None, "not installed"),
    ],
)
def test_a_version_is_allowed_or_not(monkeypatch, required, found, detail):
    def version(name):
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(metadata, "version", version)
    _, check = package_checks(Requirements(">=3", [Requirement("numpy", required, "")]))
    assert (check.works, check.detail) == (detail == "2.0", detail)
    assert check.remedy == f'python -m pip install "numpy{required}"'


def test_additions_are_not_needed_and_developers_tools_left_out():
    required = Requirements(">=9", [Requirement("no-such-package", "", extra) for extra in ("report", "dev")])
    python, addition = package_checks(required)
    assert not python.works and python.needed and python.remedy == "make an environment with Python >=9"
    assert not addition.needed and addition.detail == "not installed, for pictures of --report"


def test_every_extra_that_has_a_use_exists():
    assert set(packages.EXTRAS) == {package.extra for package in read_requirements().packages} - {"", "dev", "docs"}
