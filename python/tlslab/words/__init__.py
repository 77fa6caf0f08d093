"""English: the sentences of a summary's codes.

The analysis and the advice state codes with values; `worded` fills in the sentences, once, for the
page, the terminal and Markdown. One module has the sentences of one kind of run.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tlslab.domain.effects import NO_RESULT
from tlslab.domain.figure import DataTable
from tlslab.domain.finding import (
    Answer,
    CellSummary,
    Finding,
    Lacking,
    Note,
    Statement,
    Summary,
    Values,
)
from tlslab.words import (
    benchmark,
    capacity,
    compare,
    costs,
    effects,
    matrix,
    proof,
    reasons,
    recommendation,
    round_trips,
    validity,
    why,
)
from tlslab.words.sentence import Sentence

# The sentences of findings, statements and lacks, by kind of run and code.
_OF_KIND: Mapping[str, Mapping[str, Sentence]] = {
    "benchmark": benchmark.SENTENCES,
    "capacity": capacity.SENTENCES,
    "comparison": compare.SENTENCES,
    "costs": costs.SENTENCES,
    "effects": effects.SENTENCES,
    "matrix": matrix.SENTENCES,
    "proof": proof.SENTENCES,
}
# How runs are measured and judged, of the kinds whose analysis does not say it.
_METHODS: Mapping[str, Callable[[Summary], tuple[str, ...]]] = {
    "effects": effects.method,
    "proof": proof.method,
}
_OF_ALL: Mapping[str, Sentence] = {
    **reasons.SENTENCES,
    **recommendation.SENTENCES,
    **why.SENTENCES,
}


def worded(summary: Summary) -> Summary:
    """The summary with the sentences of all codes that have values; other texts stay as they are.

    Raises KeyError for a code without words.
    """
    return replace(
        summary,
        cells=tuple(_cell(summary, cell) for cell in summary.cells),
        findings=tuple(_finding(summary, finding) for finding in summary.findings),
        tables=tuple(_table(summary, table) for table in summary.tables),
        method=summary.method or _METHODS.get(summary.experiment.kind, _unsaid)(summary),
        answer=None if summary.answer is None else _answer(summary, summary.answer),
    )


def sentence(summary: Summary, code: str, values: Values, cells: tuple[str, ...] = ()) -> str:
    """The sentence of a code in a run of the summary's kind. Raises KeyError for a code without."""
    kind = _OF_KIND.get(summary.experiment.kind, {})
    return (kind.get(code) or _OF_ALL[code])(values, cells, summary)


def _cell(summary: Summary, cell: CellSummary) -> CellSummary:
    def note(found: Note) -> Note:
        if found.message:
            return found
        text = validity.message(found)
        if text is None:
            text = sentence(summary, found.code, found.values, (cell.key,))
        return replace(found, message=text)

    return replace(cell, reasons=tuple(map(note, cell.reasons)))


def _unsaid(summary: Summary) -> tuple[str, ...]:
    return ()


def _table(summary: Summary, table: DataTable) -> DataTable:
    if NO_RESULT in table.columns:
        return effects.with_reasons(table, summary)
    if table.caption:
        return table
    if table.id == "round_trips":
        return replace(table, caption=round_trips.caption(table))
    caption = proof.CAPTIONS.get(table.id) if summary.proof is not None else None
    return table if caption is None else replace(table, caption=caption(summary))


def _finding(summary: Summary, finding: Finding) -> Finding:
    if finding.text:
        return finding
    text = sentence(summary, finding.code, finding.values, finding.cells)
    return replace(finding, text=text)


def _answer(summary: Summary, answer: Answer) -> Answer:
    def said(found: Statement) -> str:
        return found.text or sentence(summary, found.code, found.values)

    sentences = answer.sentences
    statements = answer.statements
    if answer.opening is not None:
        statements = (answer.opening, *statements)
    if statements:
        # Two sentences at most: the second may go on.
        first, *more = map(said, statements)
        sentences = (first, " ".join(more)) if more else (first,)
    confidence = answer.confidence if answer.certainty is None else said(answer.certainty)
    return replace(
        answer,
        sentences=sentences,
        confidence=confidence,
        lacking=None if answer.lacking is None else _lacking(summary, answer.lacking),
    )


def _lacking(summary: Summary, lacking: Lacking) -> Lacking:
    if lacking.why:
        return lacking
    return replace(lacking, why=sentence(summary, lacking.code, lacking.values))
