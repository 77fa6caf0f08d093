"""The question of `--vary`: what is measured of each combination, and the mix that weighs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# A new connection, one that resumes a session, a request on a connection kept open; and the
# connections of a mix, with all their requests.
Measure = Literal["new", "resumed", "request", "mix"]
MEASURED: tuple[Measure, ...] = ("new", "resumed", "request")

# The level of the factor `resumed` of the cells in which new and resumed connections are measured.
SHARES: Mapping[Measure, str] = {"new": "0%", "resumed": "100%"}

# The column of the combinations' table with the reasons of what has no value.
NO_RESULT = "no result"


@dataclass(frozen=True)
class Mix:
    """The connections of a load: the share that resumes a session, and the requests of each."""

    resumed: float
    requests: int
