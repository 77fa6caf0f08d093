"""What a run's raw results can be exported as."""

from enum import StrEnum


class Format(StrEnum):
    """The forms of files."""

    parquet = "parquet"
    csv = "csv"
    hgrm = "hgrm"
