"""The settings of a bench from the environment: blocks, a run's length in seconds, the seed."""

import os

BLOCKS = int(os.environ.get("BENCH_BLOCKS", "10"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "5"))
SEED = int(os.environ.get("BENCH_SEED", "20210401"))
