"""`--report`: which files are refused, and that nothing is made without it."""

import pytest
from absl import flags

from workloads.html.report_flag import check_report, define_report, write_report
from workloads.support.errors import InputError


def values(*arguments):
    made = flags.FlagValues()
    define_report(made)
    made(["command", *arguments])
    return made


def test_a_page_is_written_where_it_is_asked_for(tmp_path):
    path = tmp_path / "out.html"
    given = values(f"--report={path}")
    check_report(given)
    write_report(lambda: "<p>", given)
    assert path.read_text() == "<p>"
    without = values()
    check_report(without)
    write_report(lambda: pytest.fail("made in vain"), without)


@pytest.mark.parametrize("path, reason", [("out.json", "must be the path of an .html file"), ("no/such/o.html", "")])
def test_other_files_are_refused(path, reason):
    with pytest.raises(InputError, match=f"--report: got '{path}'.*{reason}"):
        check_report(values(f"--report={path}"))
