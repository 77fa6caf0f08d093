"""Observation of a run in progress: its state, as a page and as metrics.

`state` follows the laboratory's events. `metrics` exports it to Prometheus, `page` shows it in a
browser. Nothing here influences a run; all of it costs one short update per second.
"""
