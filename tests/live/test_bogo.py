"""BoringSSL's TLS 1.3 client cases with the engine's three clients: each case is accounted for."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.stage("bogo")

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
def test_every_case_is_accounted_for() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "bogo.sh"], capture_output=True, text=True, timeout=590, check=False
    )
    assert done.returncode == 0, done.stderr[-20_000:]
    counts = re.findall(
        r"^(\w+): (\d+) passed, (\d+) unimplemented, (\d+) disabled$", done.stdout, re.M
    )
    assert [name for name, *_ in counts] == ["minimal", "rustls", "openssl"]
    totals = {sum(map(int, numbers)) for _, *numbers in counts}
    assert len(totals) == 1, counts
    assert all(int(passed) > 100 for _, passed, *_ in counts)
