"""`python -m tlslab`."""

from tlslab.cli import main

main()
