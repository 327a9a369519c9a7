"""Checks of Python and of the packages that the project asks for. Needs the standard library only."""

from __future__ import annotations

import configparser
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from parity.installation.check import Check

#: Name under which the project is installed.
PROJECT = "tower-parity"

#: What an extra is for; those of developers are left out.
EXTRAS = {"report": "pictures of --report", "gpu": "links between GPUs", "study": "scanned digits"}

#: Settings of the project's own folder, which an installed project does not have.
_SETTINGS = Path(__file__).resolve().parents[2] / "setup.cfg"


class Requirement(NamedTuple):
    """A package that the project asks for.

    Attributes:
      name: of the distribution.
      versions: that are allowed, such as ">=1.26,<3".
      extra: that asks for it; empty for what is always needed.
    """

    name: str
    versions: str
    extra: str


class Requirements(NamedTuple):
    """All that the project asks for.

    Attributes:
      python: allowed versions of Python.
      packages: in order.
    """

    python: str
    packages: list[Requirement]


def read_requirements(settings: Path = _SETTINGS) -> Requirements:
    """Returns what the project asks for, from its folder's settings or else from its installed distribution.

    Args:
      settings: the project's setup.cfg.
    """
    if settings.exists():
        parser = configparser.ConfigParser()
        parser.read(settings, encoding="utf-8")
        sections = {"": parser["options"]["install_requires"], **parser["options.extras_require"]}
        packages = [
            _requirement(line, extra) for extra, text in sections.items() for line in text.splitlines() if line.strip()
        ]
        return Requirements(parser["options"]["python_requires"], packages)
    about = metadata.metadata(PROJECT)
    return Requirements(about["Requires-Python"], [_requirement(line) for line in metadata.requires(PROJECT) or []])


def package_checks(required: Requirements) -> Iterator[Check]:
    """Yields a check of Python, and one for each package that is needed or that an extra of `EXTRAS` adds."""
    python = platform.python_version()
    remedy = f"make an environment with Python {required.python}"
    yield Check("installed", "Python", _allows(required.python, python), python, remedy=remedy)
    for package in required.packages:
        if not package.extra:
            remedy = f'python -m pip install "{package.name}{package.versions}"'
            yield _package_check("installed", package, "", True, remedy)
    for package in required.packages:
        if package.extra in EXTRAS:
            remedy = f'pip install "{PROJECT}[{package.extra}]"'
            yield _package_check("additions", package, f", for {EXTRAS[package.extra]}", False, remedy)


def _package_check(subject: str, package: Requirement, use: str, needed: bool, remedy: str) -> Check:
    try:
        found = metadata.version(package.name)
    except metadata.PackageNotFoundError:
        return Check(subject, package.name, False, "not installed" + use, needed, remedy)
    allowed = _allows(package.versions, found)
    detail = found if allowed else f"{found}, must be {package.versions}"
    return Check(subject, package.name, allowed, detail + use, needed, remedy)


def _requirement(line: str, extra: str = "") -> Requirement:
    """Returns the requirement of a line as in "name >=1,<2", or with `; extra == "..."` behind it."""
    text, _, condition = line.partition(";")
    name = re.match(r"\s*[\w.-]+", text)
    found = re.search(r"extra == [\"']([\w-]+)", condition)
    assert name is not None
    return Requirement(name.group().strip(), text[name.end() :].replace(" ", ""), found.group(1) if found else extra)


def _allows(versions: str, version: str) -> bool:
    """Whether a version is one of those allowed; without the package `packaging`, which TensorFlow brings: yes."""
    try:
        from packaging.specifiers import SpecifierSet
    except ImportError:
        return True
    return SpecifierSet(versions).contains(version, prereleases=True)
