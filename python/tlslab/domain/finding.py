"""Results of the analysis: estimates, comparisons, findings, and the summary that holds them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tlslab.contract.record import Facts
from tlslab.domain.estimate import Estimate
from tlslab.domain.estimates import RATIO, quantity
from tlslab.domain.figure import DataTable, Figure, TextBlock
from tlslab.domain.names import NO_TLS
from tlslab.domain.plan import Excluded
from tlslab.domain.proof import Proof
from tlslab.domain.run import Environment
from tlslab.domain.stacks import Flame, Why
from tlslab.domain.trial import RunKind


@dataclass(frozen=True)
class Tile:
    """One figure beside the answer; `bound`: the estimate is a lower bound and is shown as `≥`."""

    title: str
    estimate: Estimate
    bound: bool = False


@dataclass(frozen=True)
class Lacking:
    """The reason that a run does not answer its question, and what would suffice.

    `command` repeats the run with enough trials for an answer; `minutes` is its estimated duration,
    None if the trials of this run allow no estimate. `few`: the run has fewer than five blocks, so
    that no sentence of the report may quote a figure of the run. `why` is the sentence of `code`
    with its `values`. The analysis leaves it empty, `words` fills it.
    """

    why: str = ""
    command: tuple[str, ...] = ()
    minutes: float | None = None
    few: bool = False
    code: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer, or its line of confidence: a code with the values of its words.

    `text` is the sentence, if it has words already.
    """

    code: str
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    text: str = ""


@dataclass(frozen=True)
class Answer:
    """The question of an experiment and its answer, for a reader who reads nothing else.

    `sentences`: two at most, each supported by the intervals of the run; empty if the run does not
    answer. The second may go on: it quotes the recommendation if that names another level than the
    first, and has the known clients of a proof. `confidence` states the certainty of the answer in
    one line: blocks, intervals, families. `opening`: what a study says by its own measure, before
    the sentences; `picture` shows that, in place of `figure`, if it is not empty. `lacking` is
    present if there are no sentences; beside a sentence it is of the rest of the answer. `tiles`:
    three to five, or none. `figure`: the id of the summary's figure that shows the answer, or
    empty.

    `statements` and `certainty` are what `sentences` and `confidence` say, by code. The analysis
    leaves the texts empty, `words` fills them.
    """

    question: str
    sentences: tuple[str, ...] = ()
    confidence: str = ""
    lacking: Lacking | None = None
    tiles: tuple[Tile, ...] = ()
    figure: str = ""
    statements: tuple[Statement, ...] = ()
    certainty: Statement | None = None
    opening: Statement | None = None
    picture: str = ""

    @property
    def drawn(self) -> str:
        """The id of the figure beside the answer, or empty."""
        return self.picture or self.figure


@dataclass(frozen=True)
class HostUse:
    """One host: its hardware, its share of the load, the precision of its clock.

    `runs`: the number of runs with a record of this host; `lost`: the number in which the host was
    lost, with the `reason` of the first. `processors`: those of its workers. `handshakes_per_s`:
    the rate of these processors in memory, before the load. The following are the largest over all
    runs: `clock_error_s`, the uncertainty of its clock at the start; `clock_moved_s`, the movement
    of its clock beyond that uncertainty; `drift_ppm`, the rate of its clock against the leader's;
    `start_skew_s`, the delay of its start behind the first host's. `objections`: the verdicts of
    its own runs by code, other than `valid`, with their numbers.
    """

    name: str
    processor: str
    processors: tuple[int, ...]
    runs: int
    lost: int = 0
    reason: str = ""
    handshakes_per_s: float | None = None
    clock_error_s: float | None = None
    clock_moved_s: float | None = None
    drift_ppm: float | None = None
    start_skew_s: float | None = None
    objections: Mapping[str, int] = field(default_factory=dict)


CellVerdict = Literal["valid", "at_least", "invalid", "unsupported", "failed"]
# `equivalent`: the interval lies within the margin of equivalence. `cannot_tell`: the interval
# contains 1 and reaches beyond the margin, or there is no interval, or the adjustment removes the
# difference.
ComparisonVerdict = Literal[
    "faster", "slower", "more", "less", "equivalent", "cannot_tell", "not_comparable"
]

# The verdicts that establish a difference.
DIFFERS: tuple[ComparisonVerdict, ...] = ("faster", "slower", "more", "less")


# What a code states: numbers, names, keys of cells, estimates, lists of these. Whoever writes the
# sentence knows which keys a code has.
Values = Mapping[str, Any]


# What a note may be on: a kind of run, a trial that failed.
NoteOf = Literal["", "trial", RunKind]


@dataclass(frozen=True)
class Note:
    """A message that the reader must see: a stable `code`, and the `values` of its sentence.

    `message` is the sentence. The analysis leaves it empty, `words` fills it. `of`: the measurement
    that the note is on, if it is not the one that loads the server; the code begins with it.
    """

    code: str
    message: str = ""
    values: Values = field(default_factory=dict, hash=False)
    of: NoteOf = ""

    @classmethod
    def on(cls, of: NoteOf, code: str, values: Values | None = None) -> "Note":
        """The note with this code on a measurement."""
        return cls(f"{of}_{code}" if of else code, values=values or {}, of=of)

    @property
    def bare(self) -> str:
        """The code without the measurement."""
        return self.code.removeprefix(f"{self.of}_") if self.of else self.code

    def in_trials(self, count: int, trials: int) -> "Note":
        """The note of several trials, of which it applies to `count`."""
        return replace(self, values={**self.values, "in": count, "of": trials})


@dataclass(frozen=True)
class TimesRow:
    """One row of ab's table of connection times, in milliseconds."""

    min_ms: float
    mean_ms: float
    sd_ms: float
    median_ms: float
    max_ms: float


@dataclass(frozen=True)
class AbBlock:
    """Everything that ApacheBench prints for one cell, over all its capacity runs.

    `times` has the rows `connect`, `processing`, `waiting`, `total`. Strings may come from the
    server.
    """

    server_software: str
    host: str
    port: int
    tls: str
    suite: str
    server_key: str
    server_key_bits: int | None
    cipher_bits: int | None
    temporary_key: str | None
    temporary_key_bits: int | None
    server_name: str
    path: str
    document_bytes: int
    concurrency: int
    seconds: float
    complete: int
    failed: int
    non_2xx: int
    total_bytes: int
    html_bytes: int
    requests_per_s: float
    ms_per_request: float
    ms_per_request_across: float
    transfer_kib_per_s: float
    times: Mapping[str, TimesRow]


@dataclass(frozen=True)
class CpuSeries:
    """Processor use over the measurement of a cell, as the mean over its trials.

    `at_s` are the ends of the slices in seconds; `user` and `system` are shares of one processor,
    one value per slice.
    """

    at_s: tuple[float, ...]
    user: tuple[float, ...]
    system: tuple[float, ...]


@dataclass(frozen=True)
class CellSummary:
    """One cell: its verdict with the reasons, its estimates by name, and ApacheBench's block.

    `lower_bounds` names estimates that are only lower bounds: the generator was the limit, the
    search for a maximum was inconclusive, or no higher load could be judged. `unsaturated` names
    rates that are the limit of neither server nor generator: both had time left, or other programs
    used a part of the server's processor. `left_open` names rates that the run does not know
    exactly, with the reason: the search for the maximum was inconclusive, the maximum was
    disturbed, or the rate was not steady. The run's own sentences hedge such rates; comparisons of
    runs leave them out.
    """

    key: str
    factors: Mapping[str, str]
    verdict: CellVerdict
    reasons: tuple[Note, ...]
    trials: int
    estimates: Mapping[str, Estimate]
    not_measurable: Mapping[str, str] = field(default_factory=dict)
    ab: AbBlock | None = None
    cpu_over_time: Mapping[str, CpuSeries] = field(default_factory=dict)
    backend: str | None = None
    negotiated: Facts | None = None
    lower_bounds: tuple[str, ...] = ()
    unsaturated: tuple[str, ...] = ()
    left_open: Mapping[str, str] = field(default_factory=dict)

    @property
    def without_tls(self) -> bool:
        """Whether the cell is the baseline of what TLS costs: it has no rank and is no advice."""
        return self.factors.get("tls") == NO_TLS

    def is_bound(self, estimate: str) -> bool:
        """Whether an estimate is a lower bound, because the generator was the limit.

        The verdict is that of new connections. It is all that old summaries have.
        """
        by_verdict = self.verdict == "at_least" and quantity(estimate).is_bounded_by_verdict
        return by_verdict or estimate in self.lower_bounds


@dataclass(frozen=True)
class Published:
    """A published ratio and its source."""

    ratio: float
    source: str


@dataclass(frozen=True)
class Comparison:
    """A cell against its baseline by one estimate: ratio candidate / baseline, paired by block.

    `low` and `high` are the 95 % interval of this ratio alone. `p` is the p-value of its difference
    from 1; `adjusted_p` is adjusted for all ratios of the table and decides the verdict.
    `may_differ` is the largest difference that the interval leaves open, as a share (0.03: 3 %
    either way).

    If the two sides are independent runs, or two servers of one run, `error` is the standard error
    of the ratio's logarithm, with its `degrees` of freedom (null: infinite). `by_block`: the ratio
    in each block, of two servers whose run did not end by its values.

    With `n` 0 there is no ratio (`ratio` is 0): a side has no value. `method` says why; the key of
    a side without such a cell is empty. In a comparison of two runs, `method` gives the reason for
    `not_comparable`. `bounded`: the one side whose rate is a lower bound, if nothing else keeps the
    ratio from being compared: the other is slower than it at least by this much. `across_runs`: the
    sides are two runs, one after the other.
    """

    baseline: str
    candidate: str
    estimate: str
    ratio: float
    low: float | None
    high: float | None
    n: int
    method: str
    verdict: ComparisonVerdict
    published: Published | None = None
    p: float | None = None
    adjusted_p: float | None = None
    may_differ: float | None = None
    error: float | None = None
    degrees: float | None = None
    by_block: tuple[float, ...] | None = None
    bounded: Literal["baseline", "candidate"] | None = None
    across_runs: bool = False

    @property
    def differs(self) -> bool:
        """Whether a difference is established."""
        return self.verdict in DIFFERS

    @property
    def as_estimate(self) -> Estimate:
        """The ratio, with its interval."""
        return Estimate(self.ratio, self.low, self.high, self.n, RATIO, self.method)


@dataclass(frozen=True)
class RankRange:
    """A cell's place in a ranking: the best and the worst rank that the trials leave open.

    `beats`: the places, counted from 0, of the cells that are detectably worse. `may_differ`: the
    largest difference, as a share, that the trials leave open between this cell and the cells that
    cannot be told apart from it; null if there are none, or if it is not known. Older summaries
    lack both.
    """

    cell: str
    best: int
    worst: int
    beats: tuple[int, ...] = ()
    may_differ: float | None = None


@dataclass(frozen=True)
class Ranking:
    """Cells that share `setting`, from the best to the worst by one estimate.

    Every pair of cells is tested (Holm's adjustment within the ranking). A cell's best rank is one
    more than the number of cells that are detectably better; its worst rank is the number of cells
    that are not detectably worse. A lower bound is placed by its value, and nothing is better than
    it; `bounds` lists these cells. Cells that may not be ranked are absent.
    """

    setting: Mapping[str, str]
    estimate: str
    places: tuple[RankRange, ...]
    bounds: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells' keys, in the order of the ranking."""
        return tuple(place.cell for place in self.places)


@dataclass(frozen=True)
class Finding:
    """What the numbers support: a stable `code` with the `values` of its sentence.

    `cells` are the cells that the sentence mentions. `text` is the sentence. The analysis leaves it
    empty, `words` fills it.
    """

    code: str
    text: str = ""
    cells: tuple[str, ...] = ()
    values: Values = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class ExperimentSummary:
    """The experiment in short; `workload` has the settings of its `kind`."""

    name: str
    title: str
    target: str
    seed: int
    blocks: int
    planned_cells: int
    factors: Mapping[str, tuple[str, ...]]
    baseline: Mapping[str, str]
    workload: Mapping[str, Any]
    kind: str = "matrix"


@dataclass(frozen=True)
class Summary:
    """The content of `summary.json`, the only input of every report.

    `figures`, `tables` and `texts` are drawn unchanged, in their order. `method` describes the
    measurement in paragraphs; empty for the kind `matrix`, whose method the report knows.
    `server_side` gives the source of the server's processor time and the energy used, as names and
    values. `answer` comes first in every report. If requested, `why` has the parts of costs by
    samples of the server's call stacks, and `flames` their flame graphs. `proof` is the result of a
    proof. `hosts` are the load generators, if there were several.
    """

    experiment: ExperimentSummary
    environment: Environment
    cells: tuple[CellSummary, ...]
    excluded: tuple[Excluded, ...]
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    rankings: tuple[Ranking, ...] = ()
    recommendation: Mapping[str, Any] | None = None
    figures: tuple[Figure, ...] = ()
    tables: tuple[DataTable, ...] = ()
    texts: tuple[TextBlock, ...] = ()
    method: tuple[str, ...] = ()
    schema: str = "tlslab.summary/3"
    server_side: Mapping[str, str] = field(default_factory=dict)
    answer: Answer | None = None
    why: Why | None = None
    flames: tuple[Flame, ...] = ()
    proof: Proof | None = None
    hosts: tuple[HostUse, ...] = ()

    def cell(self, key: str) -> CellSummary:
        """The cell with this key. Raises KeyError when there is none."""
        for cell in self.cells:
            if cell.key == key:
                return cell
        raise KeyError(key)
