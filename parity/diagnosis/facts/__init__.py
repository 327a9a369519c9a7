"""Facts measured from the compared steps alone: batches, dropout masks, replica gradients, learning rates and so on.

Here: one kind of fact a file, a pure function of steps or states. Not here: facts that need other facts, such as the
form of the combined gradients (`parity.diagnosis`: they take the whole `Evidence`). Start with `replica_gradients.py`.
"""
