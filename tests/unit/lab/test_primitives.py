"""Which primitives the lab requests from the engine."""

import json
from collections.abc import Callable
from pathlib import Path

from tlslab.analysis.primitive_costs import cost_us
from tlslab.experiment import load, make_plan
from tlslab.lab.engine import Engine
from tlslab.lab.opening import measure_primitives

Script = Callable[[str], str]


def test_the_engine_is_asked_for_what_the_cells_are_made_of(script: Script, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    primitive = {
        "backend": "rustls", "algorithm": "X25519", "operation": "client", "bytes": None,
        "median_us": 30.0, "low_us": 29.0, "high_us": 31.0, "rounds": 7, "calls": 700,
    }  # fmt: skip
    program = script(
        f"open({str(asked)!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        f"print(json.dumps({{'primitives': [json.loads({json.dumps(primitive)!r})]}}))"
    )
    plan = make_plan(load("groups", "quick"), 1)
    found = measure_primitives(Engine(program), plan, 4788, (3,))
    assert cost_us(found, "X25519", "client") == 30.0
    words = asked.read_text("utf-8").split()
    assert words[:2] == ["--primitives", "--json"]
    options = list(zip(words[2::2], words[3::2], strict=True))
    assert len(set(options)) == len(options)
    groups = [value for name, value in options if name == "--group"]
    assert groups == ["X25519", "P-256", "P-384", "P-521", "X448", "X25519MLKEM768"]
    assert ("--suite", "TLS_AES_256_GCM_SHA384") in options
    assert ("--certificate", "ecdsa-p256") in options
    assert ("--response-bytes", "4988") in options
    assert ("--cpu", "3") in options
