"""Manual pages: one for each command, with all its options, in roff that man understands."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tlslab.cli.app import app
from tlslab.cli.manual import pages, write

ROOT: Any = get_command(app)


def test_every_command_has_a_page_with_all_its_options() -> None:
    found = pages()
    assert set(found) == {"tlslab.1", *(f"tlslab-{name}.1" for name in ROOT.commands)}
    for name, command in ROOT.commands.items():
        text = found[f"tlslab-{name}.1"].replace("\\-", "-")
        for param in command.params:
            for option in param.opts if param.param_type_name == "option" else []:
                assert option in text, (name, option)
        assert f"tlslab-{name}" in found["tlslab.1"].replace("\\-", "-")


@pytest.mark.skipif(shutil.which("man") is None, reason="no man here")
def test_man_shows_them_without_a_complaint(tmp_path: Path) -> None:
    write(tmp_path)
    for page in sorted(tmp_path.iterdir()):
        line = ["man", "--warnings=mac", "--encoding=UTF-8", "-l", str(page)]
        done = subprocess.run(line, capture_output=True, text=True, env={"MANWIDTH": "80"})
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert "EXIT STATUS" in done.stdout
