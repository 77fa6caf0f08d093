"""Preflight: each fault has its level and its remedy."""

import os
import resource
import sys
from pathlib import Path

import psutil
import pytest

from tlslab.lab import preflight
from tlslab.lab.preflight import Check


@pytest.mark.parametrize(
    ("limits", "level", "remedy"),
    [
        ((128, 128), "ok", ""),
        ((127, 4096), "hard", "ulimit -n 128"),
        ((32, 32), "hard", "raise the hard limit"),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), "ok", ""),
    ],
)
def test_the_file_limit_must_hold_the_connections(
    limits: tuple[int, int], level: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits)
    check = preflight.check_files(64)
    assert check.level == level
    assert check.remedy.startswith(remedy)


def test_a_missing_program_is_hard_and_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    faults = {check.name: check for check in preflight.check_programs(("reference",), True)}
    assert faults["setpriv"].level == faults["taskset"].level == "hard"
    assert "util-linux" in faults["setpriv"].remedy


def test_more_connections_than_ports_cannot_be() -> None:
    assert preflight.check_ports(70_000).level == "hard"
    assert preflight.check_ports(1).level == "ok"


def company(monkeypatch: pytest.MonkeyPatch, **passed: float) -> dict[str, Check]:
    """The checks for a window with this much processor time of each kind."""
    times = psutil.cpu_times()._replace(user=0.0, idle=0.0, iowait=0.0, steal=0.0)
    readings = iter([times, times._replace(**passed)])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(readings))
    monkeypatch.setattr(preflight, "COMPANY_WINDOW_S", 0)
    return {check.name: check for check in preflight.check_company()}


def test_other_work_on_the_machine_is_reported_while_it_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Work that has ended is in the load average of the last minute, and disturbs nothing."""
    monkeypatch.setattr(os, "getloadavg", lambda: (9.0, 9.0, 9.0))
    checks = company(monkeypatch, user=0.1, idle=0.9)
    assert [check.level for check in checks.values()] == ["ok", "ok"]


def test_work_that_takes_the_processors_now_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    check = company(monkeypatch, user=0.5, idle=0.5)["load"]
    assert check.level == "warning"
    assert check.message.startswith("other programs use ")
    assert check.remedy


def test_a_single_processor_is_reported_where_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert preflight.check_processors(managed=True).level == "warning"
    assert preflight.check_processors(managed=False).level == "ok"


def test_stolen_time_is_reported_and_is_nobodys_work_here(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = company(monkeypatch, steal=0.5, idle=0.5)
    assert checks["steal"].level == "warning"
    assert checks["steal"].remedy
    assert checks["load"].level == "ok"


def test_a_saving_governor_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    governor = tmp_path / "scaling_governor"
    governor.write_text("powersave\n")
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([governor]))
    assert [check.level for check in preflight.check_governor()] == ["warning"]
    governor.write_text("performance\n")
    assert [check.level for check in preflight.check_governor()] == ["ok"]


def test_a_check_reads_as_one_line() -> None:
    assert Check("x", "hard", "too few", "get more").text == "too few: get more"
    assert Check("x", "ok", "enough").text == "enough"


def test_programs_without_openssl_are_reported_unless_nothing_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Programs are looked for beside Python.
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    for name in ("tlslab-load", "tlslab-serve"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{name} 1.2 (without OpenSSL)'\n", "utf-8")
        (tmp_path / name).chmod(0o755)

    def checks(target: str) -> dict[str, Check]:
        return {check.name: check for check in preflight.check_programs((target,), True)}

    assert {check.level for check in checks("reference-rustls").values()} == {"ok"}
    assert checks("reference")["reference"].level == "hard"
    assert "make setup" in checks("reference")["reference"].remedy
    assert checks("https://localhost/")["tlslab-load"].level == "warning"
