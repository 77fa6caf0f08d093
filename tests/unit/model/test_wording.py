"""How figures are written in sentences and tables."""

import pytest

from tlslab.model.wording import ratio_figure


@pytest.mark.parametrize(
    ("ratio", "written"),
    [
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
