"""Compares documents with the kept reports: each number of a run has a reference, which is looked
up.

`docs/reports/README.md` has the grammar of the references. `document` reads a document, `figures`
the kept figures, `numbers` the numbers in a text; `lookup` compares a number with its reference,
`check` a whole document. `proof_verdict` derives a proof's verdict from its intervals.
"""
