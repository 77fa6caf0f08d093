"""The engine against itself: two back ends, and one and two workers, on one nginx.

Exit codes: 0 every bar met, 1 a bar missed, 3 could not run.
"""

import sys

from bench.equal_cost import equal_cost
from bench.scaling import scaling
from tlslab.domain.errors import TlslabError


def main() -> int:
    """Runs both; returns the exit code."""
    try:
        met = [equal_cost(), scaling()]
    except TlslabError as error:
        print(f"bench: {error.message}" + (f"; {error.remedy}" if error.remedy else ""))
        return error.exit_code
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
