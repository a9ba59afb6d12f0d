"""Small cases, each followed through the layers: its plan, the optimised plan, what is known of it, and the query document.

A case is a file in `cases/`. Its text stands first, as `---- sql` or `---- verbs` over the inputs of `inputs.py`; all that follows is
written by `python -m tests.spark.layers --rewrite` and compared by `test_layers.py`. To add a case, write its text and rewrite.
"""
