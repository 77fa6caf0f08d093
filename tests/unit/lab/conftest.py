"""Stand-ins for the engine: small Python scripts that follow its JSON contract."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RECORD: dict[str, Any] = {
    "schema": "tlslab.record/1",
    "spec": {"url": "https://127.0.0.1:1/"},
    "backend": "rustls",
    "versions": {"tlslab-load": "0.1.0"},
    "environment": {"kernel": "6", "processor": "p", "processors": 2},
    "address": "127.0.0.1:1",
    "preflight": {
        "facts": {
            "tls": "1.3",
            "suite": "TLS_AES_256_GCM_SHA384",
            "group": "X25519",
            "signature_scheme": "ecdsa_secp256r1_sha256",
            "kind": "full",
            "hello_retry_request": False,
            "alpn": None,
        },
        "certificate": {
            "subject": "CN=localhost",
            "issuer": "CN=authority",
            "key": "ECDSA P-256",
            "not_before": 0,
            "not_after": 1,
            "chain_length": 1,
            "chain_bytes": 500,
        },
        "status": 200,
        "body_bytes": 4788,
        "server": "fake",
    },
    "outcomes": {
        "attempts": 104,
        "completed": 100,
        "in_flight_at_stop": 4,
        "failed": {},
        "unexpected": {},
    },
    "facts": [],
    "authenticated": 1,
    "requests": 100,
    "seconds": 0.1,
    "cpu": {"user_us": 10, "system_us": 5},
    "workers": [],
    "bytes": {
        "handshake_sent": 1,
        "handshake_received": 1,
        "sent": 1,
        "received": 1,
        "head": 1,
        "body": 1,
    },
    "histograms": {},
    "summaries": {},
    "intervals": [],
    "verdicts": [{"code": "valid", "message": ""}],
}

Script = Callable[..., str]

# A server that accepts every offer, except groups that it refuses or does not answer.
PROBE = """\
if '--probe' in sys.argv:
    refusal = {'class': 'alert_handshake_failure', 'words': 'answered handshake_failure (40)'}
    silence = {'class': 'timeout_handshake', 'words': 'gave no answer in 5 s, nor in 15 s'}
    offers = [
        {'accepted': False, 'refusal': refusal}
        if set(offer['groups']) & set(refused)
        else {'accepted': None, 'refusal': silence}
        if set(offer['groups']) & set(silent)
        else {'accepted': True, 'refusal': None}
        for offer in json.load(sys.stdin)['offers']
    ]
    certificates = [{
        'key': 'ECDSA P-256', 'versions': ['1.3', '1.2'], 'not_before': 0, 'not_after': 1,
        'signature_algorithm': 'ecdsa-with-SHA256',
    }]
    found = {
        'schema': 'tlslab.probe/1', 'target': 'localhost', 'address': '127.0.0.1:9', 'versions': [],
        'suites': [], 'groups': [], 'signature_schemes': [], 'offers': offers,
        'certificates': certificates,
    }
    print(json.dumps({**found, **more}))
    sys.exit()
"""


@pytest.fixture
def record() -> dict[str, Any]:
    """A record as the engine writes it."""
    copy: dict[str, Any] = json.loads(json.dumps(RECORD))
    return copy


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Makes a program from Python code; `emit` writes an event, `record` is a record.

    Asked to probe, the program reports that the server refuses the groups in `refused`, does not
    answer those in `silent`, and accepts all else. `more` are other fields of its record.
    """

    def make(
        body: str, refused: tuple[str, ...] = (), silent: tuple[str, ...] = (), **more: Any
    ) -> str:
        path = tmp_path / f"program{len(list(tmp_path.iterdir()))}"
        path.write_text(
            f"#!{sys.executable}\n"
            "import json, os, signal, sys, time\n"
            f"record = json.loads({json.dumps(RECORD)!r})\n"
            "def emit(**event):\n"
            "    print(json.dumps(event), file=sys.stderr, flush=True)\n"
            f"refused, silent, more = {refused!r}, {silent!r}, {more!r}\n"
            f"{PROBE}"
            f"{body}\n",
            "utf-8",
        )
        path.chmod(0o755)
        return str(path)

    return make
