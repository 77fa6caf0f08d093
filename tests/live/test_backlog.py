"""A keep_alive server with a tiny backlog: connections wait until their SYN is sent again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from live.harness import Tlslab, setting
from tlslab.servers import Nginx


class Narrow(Nginx):
    """The lab's nginx with a backlog for two connections."""

    def _configure(self, *arguments: Any) -> Path:
        config = super()._configure(*arguments)
        text = config.read_text()
        assert " backlog=4096;" in text
        config.write_text(text.replace(" backlog=4096;", " backlog=1;"))
        return config


def test_cells_are_not_invalid_for_connections_that_wait(
    tlslab: Tlslab, small: Callable[..., str], tmp_path: Path
) -> None:
    target = Narrow(setting(tmp_path, "ecdsa-p256"))
    target.prepare()
    ca = tmp_path / "ca.pem"
    ca.write_text(target.trust_pem)
    running = target.start()
    try:
        name = small(blocks=1, measure_ms=1500, connections=400)
        command = ["run", name, "--target", running.url, "--ca", str(ca), "--out", "r"]
        tlslab.run(*command)
    finally:
        running.stop()
    summary = json.loads((tlslab.folder / "r" / "summary.json").read_text())
    codes = [{reason["code"] for reason in cell["reasons"]} for cell in summary["cells"]]
    assert all("littles_law" not in each for each in codes), summary["cells"]
    assert any("backlog" in each for each in codes), codes
    said = [
        reason["message"]
        for cell in summary["cells"]
        for reason in cell["reasons"]
        if reason["code"] == "backlog"
    ]
    assert "waited 1 s or more to connect: the server's backlog is too short" in said[0]
    assert "ListenOverflows" in said[0]
