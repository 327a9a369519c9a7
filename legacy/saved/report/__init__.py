"""The page of `legacy.inspect`, for people and as JSON: facts, hazards and the next commands.

Here: texts made from `legacy.saved.facts` and `legacy.saved.hazards`.
Start with `page.py`."""
