"""The catalogue of causes: why a port does not train as its towers did.

Each cause has its page (signature, reason, fix), its criterion (a pure function from the `Evidence` of
`parity.diagnosis` to a `Finding` or None), and faults: one-place changes of a program that inject the cause, so that a
test can prove that the criterion recognizes it. The causes lie in a folder for each part of a training step, in the
order in which a step reaches it: `inputs`, `gradients`, `penalties`, `combining`, `update`, `statistics`; `basics` is
what they share. Here: the catalogue of all of them, and what is done with it. Not here: how the evidence is measured
(`parity.diagnosis`), and runs of the faults (`parity.fault_injection`). Start with `basics/cause.py` and
`catalogue.py`.
"""
