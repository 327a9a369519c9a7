"""Candidate explanations that facts are fitted against: forms of the combined gradients, owners of moving statistics.

Here: the candidates and the arrays that each predicts. Not here: which of them a run agrees with (`parity.diagnosis`).
Start with `combined_forms.py`."""
