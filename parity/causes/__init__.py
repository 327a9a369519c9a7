"""The catalogue of causes: why a port does not train as its towers did.

Here: one file a subject. Each cause has its page (signature, reason, fix), its criterion (a pure function from the
`Evidence` of `parity.diagnosis` to a `Finding` or None), and faults: one-place changes of a program that inject the
cause, so that a test can prove that the criterion recognizes it. Not here: how the evidence is measured
(`parity.diagnosis`), and runs of the faults (`parity.fault_injection`). Start with `cause.py` and `catalogue.py`.
"""
