#!/usr/bin/env python3
"""Writes tests/golden/normal-mixture.json: boundaries of confseq, the oracle of stats.sequence.

    scripts/confseq_golden.py > tests/golden/normal-mixture.json

Needs confseq 0.0.11 (Howard, Waudby-Smith, Ramdas), which has no wheels: Debian's libboost-dev and
a C++ compiler; `pip install scikit-build cmake ninja "pybind11>=2.11,<3" "setuptools<70" numpy`,
then `pip install --no-build-isolation --no-deps confseq==0.0.11`, because its own build requires a
pybind11 that does not support Python 3.11. That is too much for a dependency of the tests, which
read these values instead.
"""

import json
import sys

from confseq.boundaries import normal_mixture_bound

ALPHA_OPT = 0.05

found = [
    {
        "v": v,
        "alpha": alpha,
        "v_opt": v_opt,
        "alpha_opt": ALPHA_OPT,
        "bound": normal_mixture_bound(v, alpha, v_opt, ALPHA_OPT, is_one_sided=False),
    }
    for v in (2_000.0, 20_000.0)
    for alpha in (0.05, 0.01)
    for v_opt in (1.0, 30.0, 1_000.0)
]
json.dump(found, sys.stdout, indent=1)
sys.stdout.write("\n")
