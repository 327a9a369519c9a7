"""The catalogue of causes: for each a rule that names it from `parity.diagnosis`'s facts, and faults that plant it.

One file a subject. A cause says what it is, why it happens and what to do; its rule is a pure function from
`Evidence` to `Found` or None; its faults are one-place changes of a program, so that rule and fault stand side by side.
"""
