"""The figures that are extracted from a kept page are those of the page."""

import json

from kept.scripts import script

kept_figures = script("kept_figures")

PAGE = """<!doctype html><html><head><style>td {}</style></head><body>
<section class="answer"><p class="headline">X25519 carries 3,906 <span class="ci">(95 %: 3,819 to
4,037)</span>.</p><p class="note">The tiles.</p></section>
<section id="setting-1"><h2>TLS 1.3</h2>
<table class="ranking"><thead><tr><th>#</th><th></th><th>connections/s</th></tr></thead><tbody>
<tr class="valid first"><td>1</td><th class="name">X25519</th><td><span class="value">3,906</span>
<span class="interval">3,819–4,037</span><span class="interval">99 % busy</span></td></tr>
<tr class="at_least"><td></td><th>P-256<span class="verdict">lower bound</span></th>
<td><span class="none">–</span></td></tr></tbody></table>
<table class="times"><thead><tr><th rowspan="2"></th><th colspan="2">connect</th></tr>
<tr><th></th><th>p50</th><th>p50</th></tr></thead><tbody><tr><td>X25519</td><td>1</td><td>2</td>
</tr></tbody></table></section>
<section id="figure-rate"><h2>Drawn</h2><table><tbody><tr><td>5</td></tr></tbody></table></section>
<section id="warnings"><h2>Warnings</h2><ul><li>the rate fell<span class="cells">X25519</span></li>
</ul></section><script>var number = "<td>7</td>";</script></body></html>"""


def test_tables_sentences_and_warnings_are_extracted() -> None:
    found = kept_figures.figures(PAGE)
    assert found["sentences"] == ["X25519 carries 3,906 (95 %: 3,819 to 4,037)."]
    assert found["warnings"] == [{"text": "the rate fell", "cells": "X25519"}]
    assert list(found["tables"]) == ["setting-1", "setting-1/2"]
    ranking = found["tables"]["setting-1"]
    assert ranking["columns"] == ["#", "", "connections/s"]
    assert ranking["rows"] == [
        ["1", "X25519", "3,906 (3,819-4,037) | 99 % busy"],
        ["", "P-256 | lower bound", ""],
    ]
    assert ranking["flags"] == ["valid", "at_least"]


def test_repeated_columns_have_numbers() -> None:
    assert kept_figures.figures(PAGE)["tables"]["setting-1/2"]["columns"] == [
        "",
        "connect p50",
        "connect p50 2",
    ]


def test_the_text_is_the_data() -> None:
    found = kept_figures.figures(PAGE)
    assert json.loads(kept_figures.text(found)) == found
    assert '["1", "X25519", "3,906 (3,819-4,037) | 99 % busy"]' in kept_figures.text(found)
