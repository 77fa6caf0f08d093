"""Holds documents to the kept reports: each number of a run has a reference that is looked up.

`docs/reports/README.md` has the grammar of the references. `document` reads a document, `figures`
the kept figures, `numbers` what a number is; `lookup` compares a number with its reference, `check`
a whole document. `proof_verdict` reads a proof's verdict off its intervals.
"""
