"""`tlslab prove`: is a configuration better than the present one?"""

from tlslab.cli.options import YES, Output
from tlslab.cli.proof_options import Options
from tlslab.cli.watching import Watching

EXAMPLE = "tlslab prove --for nginx --baseline nginx.conf --candidate new.conf"


def command(
    given: Options,
    watching: Watching,
    output: Output,
    yes: bool = YES,
) -> int:
    """Compare a configuration with the present one, on the same server, in turns.

    Measures full and resumed handshakes and requests, and finds what changes for known clients.
    Ends with 0 for "deploy" and "no difference", with 1 for "do not", with 4 for "cannot tell".
    """
    from tlslab.cli.proving import prove

    return prove(given, watching, output, yes)
