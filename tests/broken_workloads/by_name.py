"""Each broken workload as an attribute, for `--workload`."""

from tests.broken_workloads.all_cases import AT_BUILD, AT_RUN

globals().update({case.name: case.workload for case in AT_BUILD + AT_RUN})
