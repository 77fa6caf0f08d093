"""A run that can be watched: its state, as a page and as metrics, while the laboratory works.

`state` follows the laboratory's events. `metrics` gives it to Prometheus, `page` and `server` show
it in a browser. Nothing here influences a run; all of it costs one short update a second.
"""
