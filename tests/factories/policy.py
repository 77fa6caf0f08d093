"""A made-up policy that forbids groups."""

from tlslab.advice.policy import SCHEMA, Policy, read_policy


def forbidding(*groups: str) -> tuple[Policy, ...]:
    """A policy of 2026 that forbids these groups and accepts all others."""
    rules = [{"names": groups, "grade": "forbidden", "section": "section 1", "reason": "broken"}]
    about = {"as_of": "2026-01-01", "basis": "text", "source": "https://example.org/", "for": "all"}
    names = {"name": "made-up", "title": "A policy", "short": "A", "date": "2026"}
    others = {"names": ["*"], "grade": "acceptable", "section": "section 2", "reason": "other"}
    settings = {"group": [*rules, others], "suite": [others]}
    return (read_policy({"schema": SCHEMA, **names, **about, **settings}),)
