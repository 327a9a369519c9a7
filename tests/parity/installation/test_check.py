"""States of checks, the first failure, and the table."""

from parity.installation.check import Check, first_failure, table_lines

FINE = Check("installed", "numpy", True, "2.0", remedy="pip install numpy")
ADDED = Check("additions", "matplotlib", False, "not installed", needed=False, remedy="pip install matplotlib")
BROKEN = Check("installed", "rich", False, "not installed", remedy="pip install rich")


def test_only_something_needed_fails():
    assert [check.state for check in (FINE, ADDED, BROKEN)] == ["ok", "-", "FAILS"]
    assert first_failure([FINE, ADDED]) is None
    assert first_failure([FINE, ADDED, BROKEN]) is BROKEN


def test_a_remedy_stands_where_it_is_needed():
    assert list(table_lines([FINE, BROKEN, ADDED])) == [
        "INSTALLED",
        "  ok     numpy                 2.0",
        "  FAILS  rich                  not installed (pip install rich)",
        "",
        "ADDITIONS",
        "  -      matplotlib            not installed (pip install matplotlib)",
    ]
