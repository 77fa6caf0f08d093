"""Instructions under callgrind: the values that are read from its file, and the report on them."""

import pytest

from bench import instructions
from bench.instructions import Found, inclusive, total

CODE = "x86_64-1 rustc-1"

# In callgrind's format: a name once and then by number; the costs of calls follow `calls=` lines.
FILE = """\
fl=(1) exchange.rs
fn=(10) tlslab_microbench::in_memory::exchange::exchange
12 5
cfn=(11) tlslab_microbench::in_memory::exchange::client_step
calls=2 40
13 700
cfi=(2)
cfn=(12) tlslab_microbench::in_memory::exchange::server_step'2
calls=1 +3
14 250
* 3
cfn=(11)
calls=1 40
15 50

fn=(11)
40 9
cfn=(13) tlslab_tls::rustls::something::else
calls=9 1
41 640
totals: 1000
"""


def test_the_calls_of_each_side_are_added_up_with_all_that_they_call() -> None:
    assert inclusive(FILE.split("\n")) == {"client": 750, "server": 250, "seal": 0, "open": 0}


def test_the_total_is_of_the_whole_program() -> None:
    assert total(FILE.split("\n")) == 1000


def found(client: float, code: str = CODE) -> dict[str, Found]:
    return {"rustls full": Found({"client": client}, code)}


KNOWN = {CODE: {"rustls full": {"client": 1000.0}}}


@pytest.mark.parametrize(("client", "code"), [(1009, 0), (991, 0), (1011, 1), (989, 1)])
def test_more_than_a_percent_in_either_direction_is_a_change(client: float, code: int) -> None:
    assert instructions.compare(found(client), KNOWN) == code
