#!/usr/bin/env python3
"""Renders kept reports anew by today's code: docs/reports/NAME/report.html and figures.json.

    .venv/bin/python scripts/render_kept.py [NAME...]

Without names: all. A report whose trials are kept is analysed anew. For the others the kept summary
is rendered; `scripts/keep-report.sh RUN_FOLDER NAME` analyses the run folder anew.
"""

import sys

import kept_figures
from kept_pages import REPORTS, kept_names, kept_page


def main(names: list[str]) -> int:
    """Writes the named pages and their content as data."""
    if unknown := set(names) - set(kept_names()):
        sys.stderr.write(f"render_kept.py: no kept report {', '.join(sorted(unknown))}\n")
        return 2
    for name in names or kept_names():
        (REPORTS / name / "report.html").write_text(kept_page(name), "utf-8")
    return kept_figures.main(names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
