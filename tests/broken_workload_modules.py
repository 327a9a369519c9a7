"""Each case of `broken_workloads` as an attribute, for `--workload`."""

from tests.broken_workloads import AT_BUILD, AT_RUN

globals().update({case.name: case.workload for case in AT_BUILD + AT_RUN})
