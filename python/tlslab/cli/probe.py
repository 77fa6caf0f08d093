"""`tlslab probe`: what does a server accept?"""

import sys

from tlslab.cli.asking import PLACE, Asked, ask
from tlslab.cli.console import conclude
from tlslab.cli.options import AS_JSON, option

EXAMPLE = "tlslab probe localhost:8443"


def command(
    *,
    target: str = PLACE,
    only: str | None = option(
        "Topics to probe, all by default: versions, suites, groups, signature_schemes, "
        "certificates, alpn, resumption, compression, renegotiation, protections.",
        metavar="TOPIC,...",
    ),
    as_json: bool = AS_JSON,
    asked: Asked,
) -> int:
    """Find out what a server accepts, by a series of short connections, one at a time."""
    # The engine has sanitised all text from the server.
    sys.stdout.write(ask(target, asked, only, as_json))
    return conclude("the server was asked", 0)
