"""An update that no named field of a workload describes, written as the old graph computes it.

`paths` finds how the towers' gradients reach it, `row_paths` how their rows do, and `shared` which other results of the
towers it uses; `loss_of_all` and `losses_of_others` are for losses that contain several towers' results. `changes`
writes the changes of variables. Start with `recovered`, which makes a `WrittenStep` of all.
"""
