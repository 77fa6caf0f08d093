"""Options that several commands have in common."""

from pathlib import Path
from typing import Annotated

import typer

Target = Annotated[str, typer.Option(help="reference, nginx, or a URL https://HOST[:PORT]/PATH.")]
Allow = Annotated[list[str] | None, typer.Option(metavar="HOST", help="A host that may be loaded.")]
Authorities = Annotated[
    Path | None, typer.Option("--ca", help="PEM file of the authorities to trust.")
]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Trust any certificate; signatures are checked.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON, and nothing else.")]
