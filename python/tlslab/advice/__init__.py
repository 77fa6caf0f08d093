"""Advice from a summary: the security of settings, and configurations to paste.

`policy` reads dated data files, `grade` applies them, `preference` takes the order of a summary
without the levels that policies object to, `emit` writes the order in each server's syntax,
`advise` adds all of this to the summary.
"""

from tlslab.advice.advise import advised

__all__ = ["advised"]
