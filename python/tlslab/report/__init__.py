"""Findings as a page, for terminals, as Markdown, CSV and ab's blocks: renders, computes nothing.

Text from a server may be hostile: `domain.plain` removes whatever could control a terminal or
mislead a reader, jinja2 escapes for HTML, `svg` for its drawings.
"""

from tlslab.report.ab import render_ab
from tlslab.report.csv import render_csv
from tlslab.report.facts import resume_command
from tlslab.report.history import (
    render_history_csv,
    render_history_markdown,
    render_history_short,
    render_history_text,
)
from tlslab.report.history_page import render_history_html
from tlslab.report.html import render_html
from tlslab.report.markdown import render_markdown
from tlslab.report.short import render_short
from tlslab.report.text import render_text, warning_lines
from tlslab.words.history import reason as history_reason

__all__ = [
    "history_reason",
    "render_ab",
    "render_csv",
    "render_history_csv",
    "render_history_html",
    "render_history_markdown",
    "render_history_short",
    "render_history_text",
    "render_html",
    "render_markdown",
    "render_short",
    "render_text",
    "resume_command",
    "warning_lines",
]
