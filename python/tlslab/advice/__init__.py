"""Advice from a summary: the security of settings, and configurations to paste.

`policy` reads dated data files, `setting_grade` applies them, `preference` takes the order of a
summary without what policies object to, `emit` writes it in each server's syntax, `advise` joins
all of this to the summary.
"""

from tlslab.advice.advise import advised

__all__ = ["advised"]
