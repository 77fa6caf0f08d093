"""Builders of test data: records, trials, plans and run folders' contents, all made up.

`run` has runs of the kind `matrix`, `capacity` and `benchmarks` those of the other kinds, `data`
figures and tables, `page` the pages for the browser.
"""
