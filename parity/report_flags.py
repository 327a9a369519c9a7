"""`--report` of commands whose page has pictures; see `workloads.html.report_flag`."""

from __future__ import annotations

from absl import flags

from workloads.html import report_flag
from workloads.html.report_flag import define_report, write_report

__all__ = ["check_report", "define_report", "write_report"]


def check_report(flag_values: flags.FlagValues) -> None:
    """Raises `InputError` if `--report` names a file that could not be written, or nothing can draw its pictures."""
    report_flag.check_report(flag_values)
    if flag_values["report"].value is not None:
        from parity.html.charts import require_matplotlib

        require_matplotlib("--report", flag_values["report"].value)
