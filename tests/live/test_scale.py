"""Connections held open by both back ends, with the memory of both sides."""

import json

import pytest

from live.harness import Own, Tlslab

KIB = 1024


@pytest.mark.parametrize("target", ["reference", "nginx"])
def test_what_is_held_is_counted_on_both_sides(tlslab: Tlslab, target: str) -> None:
    ended = tlslab.run("scale", "--levels", "100,500", "--target", target, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert [each["backend"] for each in found["backends"]] == ["rustls", "openssl"]
    for each in found["backends"]:
        assert (each["attempts"], each["alive"], each["lost"]) == (500, 500, 0)
        assert [reading["connections"] for reading in each["readings"]] == [100, 500]
        slopes = {slope["what"]: slope["value"] for slope in each["slopes"]}
        assert set(slopes) == {"client", "server", "kernel"}
    # The project's bar; here it is measured with a few hundred connections only.
    rustls = found["backends"][0]["slopes"][0]
    assert rustls["what"] == "client"
    assert rustls["value"] <= 16 * KIB


def test_a_server_that_the_lab_did_not_start_keeps_its_memory_to_itself(
    tlslab: Tlslab, own_reference: Own
) -> None:
    arguments = ["--target", own_reference.url, "--ca", str(own_reference.ca), "--levels", "20,40"]
    sources = ["--source", "127.0.0.31,127.0.0.32", "--backend", "rustls"]
    ended = tlslab.run("scale", *arguments, *sources)
    assert ended.code == 0, ended.err
    assert "client: " in ended.out
    assert "server: " not in ended.out


def test_levels_that_fall_are_refused(tlslab: Tlslab) -> None:
    ended = tlslab.run("scale", "--levels", "100,50")
    assert (ended.code, len(ended.errors)) == (2, 1)
