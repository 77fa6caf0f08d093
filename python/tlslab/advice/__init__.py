"""What to do with what was found: the security of settings, and configurations to be pasted.

`policy` reads dated data files, `grade` applies them, `preference` takes the order of a summary and
leaves out what no policy would have, `emit` writes it in each server's syntax, `advise` joins it
all to the summary.
"""

from tlslab.advice.advise import advised

__all__ = ["advised"]
