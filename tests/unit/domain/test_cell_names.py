"""Names of cells in a report."""

from tlslab.domain.cell_names import cell_names

CELL = {"processors": "1", "tls": "1.3", "key": "ecdsa-p256"}
OBSOLETE = {"server": "reference", "processors": "1", "tls": "ssl3", "key": "rsa-1024"}


def test_cells_are_called_by_what_tells_them_apart() -> None:
    assert cell_names([CELL, {**CELL, "processors": "2"}]) == ["1 processor", "2 processors"]
    assert cell_names([CELL]) == ["the server"]
    assert cell_names([{**CELL, "server": "nginx"}]) == ["nginx"]
    assert cell_names([]) == []


def test_an_obsolete_cell_leaves_the_names_of_the_others_short() -> None:
    names = cell_names([CELL, {**CELL, "processors": "2"}, OBSOLETE])
    assert names == ["1 processor", "2 processors", "SSL 3.0, RSA-1024"]
