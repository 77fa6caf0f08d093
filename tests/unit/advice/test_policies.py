"""The policies' data files: dated, with sources, and not older than they state."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from typing import Any

import pytest

from tlslab.advice.policy import (
    GRADES,
    GRADING,
    Policy,
    Rule,
    all_policies,
    digest,
    policy_data,
    policy_named,
    read_policy,
)
from tlslab.domain.errors import UsageError
from tlslab.domain.grading import RECOMMENDING, TOPICS, age_words

HEADERS = {
    "schema", "name", "title", "short", "date", "as_of", "basis", "source", "successor", "for",
    "everyone", "http", "sha256", "dh", *TOPICS,
}  # fmt: skip


@pytest.mark.parametrize("name", GRADING)
def test_a_file_is_not_older_than_it_says(name: str) -> None:
    """An edit changes the hash; `scripts/policies.py --record` writes the hash and the date."""
    data = policy_data(name)
    assert data["sha256"] == digest(data), f"hold it against its source, then --record {name}"
    looked_up = date.fromisoformat(data["as_of"])
    assert looked_up <= datetime.now(UTC).date() + timedelta(days=1)
    assert data["date"] <= data["as_of"]


@pytest.mark.parametrize("field", ["date", "as_of", "suite"])
def test_an_edit_of_the_content_or_of_a_date_is_noticed(field: str) -> None:
    data = policy_data("rfc9325")
    edited: dict[str, Any] = {**data, field: [] if field == "suite" else "2030-01-01"}
    assert digest(edited) != data["sha256"]
    assert digest({**data, "sha256": ""}) == data["sha256"]


def test_all_files_are_known_and_have_nothing_that_is_passed_over() -> None:
    folder = resources.files("tlslab") / "advice" / "policies"
    assert {path.name.removesuffix(".toml") for path in folder.iterdir()} == set(GRADING)
    assert set(RECOMMENDING) <= set(GRADING)
    for name in GRADING:
        assert set(policy_data(name)) <= HEADERS, name


def test_every_rule_is_cited_and_every_step_is_to_a_worse_grade() -> None:
    for policy in all_policies():
        assert policy.about.source.startswith("https://")
        assert len(policy.about.short) <= 5
        for rule in (rule for rules in policy.rules.values() for rule in rules):
            assert rule.section, policy.name
            assert rule.words, policy.name
            grades = [rule.grade, *(step.grade for step in rule.later)]
            assert grades == sorted(grades, key=GRADES.index), policy.name
            days = [step.since for step in rule.later]
            assert days == sorted(days)
            assert all(date.fromisoformat(day) for day in days)


def test_sizes_limit_a_rule() -> None:
    policy = policy_named("rfc9325")
    small, large = policy.of("key", "RSA-1024"), policy.of("key", "RSA-2048")
    assert small is not None
    assert small.grade == "forbidden"
    assert large is not None
    assert large.grade == "acceptable"
    assert policy.of("key", "Ed25519") is None
    prime = policy.of("group", "DH-1024")
    assert prime is not None
    assert prime.reason == ("section 4.5: Diffie-Hellman keys of 2048 bits at least are required")
    assert policy.of("group", "DH-2048") is None
    mozilla = policy_named("mozilla-intermediate")
    assert mozilla.of("lifetime", "366 days") is None
    assert mozilla.of("lifetime", "367 days") is not None


def test_grades_change_on_their_day() -> None:
    rule = policy_named("nist-ir8547").of("key", "RSA-2048")
    assert rule is not None
    assert rule.on(date(2030, 12, 31)) == "acceptable"
    assert rule.on(date(2031, 1, 1)) == "discouraged"
    assert rule.on(date(2036, 1, 1)) == "forbidden"


def test_an_unknown_policy_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="unknown policy 'rfc9352'") as raised:
        policy_named("rfc9352")
    assert "did you mean 'rfc9325'?" in raised.value.remedy
    assert "cnsa2" in raised.value.remedy


def test_an_unknown_grade_to_come_is_refused() -> None:
    data = policy_data("nist-ir8547")
    data["key"][0]["later"] = [{"from": "2031-01-01", "grade": "bad"}]
    with pytest.raises(ValueError, match="unknown grade 'bad'"):
        read_policy(data)


# The publication date of each document that the rules cite; of Internet-Drafts by their text.
CITED = {
    "RFC 5746": "2010-02",
    "RFC 8470": "2018-09",
    "RFC 9151": "2022-04",
    "RFC 10015": "2026-07",
    "SP 800-56A": "2018-04",
    "FIPS 203": "2024-08",
    "draft-becker-cnsa2-tls-profile-03": "2026-04",
}
DOCUMENT = re.compile(r"RFC \d+|SP 800-\w+|FIPS \d+|draft-[a-z0-9-]+")


def all_rules(policy: Policy) -> list[Rule]:
    found = [rule for rules in policy.rules.values() for rule in rules]
    return [*found, policy.dh] if policy.dh else found


def test_no_policy_cites_what_is_newer_than_its_date() -> None:
    cited = set()
    for policy in all_policies():
        for rule in all_rules(policy):
            for document in DOCUMENT.findall(rule.reason):
                assert CITED[document] <= policy.date, f"{policy.name} cites {document}"
                cited.add(document)
    assert cited == set(CITED)


# `until the end of 2031`, `until 2033` and `after 2030` all name the last year of a grade.
LAST_YEAR = re.compile(r"(?:until(?: the end of)?|after) (\d{4})")


def test_grades_change_after_the_years_that_their_reasons_name_and_after_the_policys_date() -> None:
    seen = 0
    for policy in all_policies():
        for rule in all_rules(policy):
            days = [step.since for step in rule.later]
            assert all(day[:7] > policy.date for day in days), policy.name
            named = [f"{int(year) + 1}-01-01" for year in LAST_YEAR.findall(rule.words)]
            coming = [day for day in named if day[:7] > policy.date]
            assert days == coming, f"{policy.name}, {rule.reason}"
            seen += len(days)
    assert seen >= 15


ARCHIVED = re.compile(r"archived on (\d{4}-\d\d-\d\d)")


def test_a_successor_is_that_of_a_source_that_has_ended() -> None:
    ended = 0
    folder = resources.files("tlslab") / "advice" / "policies"
    by_source: dict[str, set[str | None]] = {}
    for policy in all_policies():
        about = policy.about
        by_source.setdefault(about.source, set()).add(about.successor)
        said = ARCHIVED.search((folder / f"{about.name}.toml").read_text("utf-8"))
        assert (about.successor is None) == (said is None), about.name
        if about.successor is not None and said is not None:
            ended += 1
            assert about.successor.startswith("https://")
            assert about.successor != about.source
            assert about.date <= said[1] <= about.as_of
    assert ended == 2
    assert all(len(successors) == 1 for successors in by_source.values())


@pytest.mark.parametrize(
    ("day", "old"),
    [("2026-11-24", False), ("2028-05-24", False), ("2028-05-25", True), ("2028-06-01", True)],
)
def test_policies_are_old_eighteen_months_after_the_newest_was_looked_up(
    day: str, old: bool
) -> None:
    about = policy_named("rfc9325").about
    sources = [replace(about, as_of=looked_up) for looked_up in ("2020-01-31", "2026-11-24")]
    words = age_words(sources, date.fromisoformat(day))
    assert bool(words) == old
    if old:
        assert "last held against their sources on 2026-11-24, more than 18 months" in words
