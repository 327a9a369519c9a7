"""Experiments: plans of runs, the measurements that are taken of them, and the conclusions.

Here: the libraries behind the commands `clean_runs`, `sensitivity` and `study`, whose measurements of programs are in
`studies`. Not here: flags and child processes.
Start with `false_alarms.py`."""
