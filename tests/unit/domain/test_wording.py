"""How figures are written in sentences and tables."""

import pytest

from tlslab.domain.wording import (
    difference,
    figure,
    level_label,
    percent,
    ratio_figure,
)


@pytest.mark.parametrize(
    ("ratio", "written"),
    [
        (0.0042, "0.004"),
        (0.078, "0.078"),
        (0.394, "0.39"),
        (0.9, "0.90"),
        (0.9444, "0.944"),
        (1.0, "1.000"),
        (1.1, "1.10"),
        (9.996, "10.00"),
        (10, "10.0"),
        (56.58, "56.6"),
        (1234.5, "1,234"),
    ],
)
def test_ratio_keeps_the_digits_that_it_can_carry(ratio: float, written: str) -> None:
    assert ratio_figure(ratio) == written


@pytest.mark.parametrize("hundredths", range(1, 100))
def test_a_bound_is_rounded_up_and_a_whole_one_stays(hundredths: int) -> None:
    assert difference(hundredths / 100) == f"{hundredths} %"
    assert difference((hundredths + 0.01) / 100) == (
        f"{hundredths + 1} %" if hundredths < 99 else "100 %"
    )


@pytest.mark.parametrize("tenths", range(1, 10))
def test_a_bound_below_one_percent_is_rounded_up_to_tenths(tenths: int) -> None:
    assert difference(tenths / 1000) == f"0.{tenths} %"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (9.38e-23, "9.4e-23"),
        (0.0004, "0.000400"),
        (0.078, "0.078"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (3412.4, "3,412"),
        (-99.96, "-100"),
    ],
)
def test_a_figure_has_three_digits(value: float, written: str) -> None:
    assert figure(value) == written


@pytest.mark.parametrize(
    ("share", "written"),
    [(0.97, "97 %"), (0.0042, "0.42 %"), (-1.2, "-120 %"), (1e-7, "less than 0.01 %")],
)
def test_a_share_is_written_without_an_exponent(share: float, written: str) -> None:
    assert percent(share) == written


def test_levels_of_a_mix_are_written_with_their_units() -> None:
    levels = {"document_bytes": "262144", "resumed": "60%", "requests": "1"}
    assert [level_label(*each) for each in levels.items()] == [
        "262,144 B", "60 % resumed", "1 request",
    ]  # fmt: skip


def test_a_factor_that_is_switched_is_named_by_what_the_server_does() -> None:
    labels = [level_label("ocsp_stapling", level) for level in ("off", "on")]
    assert labels == ["no OCSP stapling", "OCSP stapling"]
    assert level_label("front", "none") == "direct"
    assert level_label("front", "haproxy") == "behind haproxy"
    assert level_label("front", "haproxy-tcp:2") == "2 servers behind haproxy, TLS passed through"
    assert level_label("resume", "none") == "no resumption"
