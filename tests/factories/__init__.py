"""Builders of test data: made-up records, trials, plans and contents of run folders.

`run` makes runs of the kind `matrix`, `capacity` and `benchmarks` those of the other kinds, `data`
figures and tables, `page` the pages for the browser.
"""
