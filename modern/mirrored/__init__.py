"""Programs that train a workload under a `tf.distribute` strategy with mirrored variables, and their loop over steps.

Below, each needing only those before it: `state` (variables and the rules that update them), `step` (what one replica
runs), `input` (its batches). Not here: how replicas communicate (`modern.collectives`).
Start with `program.py`.
"""
