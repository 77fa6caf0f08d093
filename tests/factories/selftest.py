"""A made-up self-test."""

from tlslab.domain.selftest import SCHEMA, Ability, Detectable, Planted, Selftest, Tries


def made_selftest() -> Selftest:
    """Nine tries: 5 % is found in all of them by the rate, 2 % in four."""
    return Selftest(
        schema=SCHEMA,
        created="2026-03-14T09:26:53+00:00",
        tlslab="0.1.0",
        machine={"kernel": "6.1.0", "processor": "A processor", "processors": 2},
        blocks=5,
        measure_ms=500,
        by=(
            Ability(
                "connections_per_s",
                Tries(0, 9, 0.0, 0.336),
                (
                    Planted(0.02, Tries(4, 9, 0.137, 0.788), 0.983, 0.975, 0.991),
                    Planted(0.05, Tries(9, 9, 0.664, 1.0), 0.952, 0.946, 0.958),
                ),
                0.012,
                (Detectable(5, 0.025), Detectable(10, 0.014)),
            ),
            Ability(
                "server_cpu_us_per_connection",
                Tries(1, 9, 0.003, 0.482),
                (Planted(0.02, Tries(8, 9, 0.517, 0.997), 1.019, None, None),),
                None,
                (),
            ),
        ),
    )
