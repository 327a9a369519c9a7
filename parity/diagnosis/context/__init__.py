"""Context of a diagnosis: what is known about the job besides its step records.

Here: the job's settings, from a `Job` or from the texts in a recording. Not here: anything measured from step records.
Start with `job_context.py`."""
