"""The formats in which a run's raw results can be exported."""

from enum import StrEnum


class Format(StrEnum):
    """File formats."""

    parquet = "parquet"
    csv = "csv"
    hgrm = "hgrm"
