"""Charts as text: valid XML, the numbers of their series, no hostile text, few bytes."""

import math
import re
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from factories.data import made_figures
from factories.figures import HOSTILE, LONG, OBJECTION, gallery, ranking, suites
from tlslab.domain.figure import Figure, Mark, Series
from tlslab.report.svg import SIZES, draw, variants

SVG = "{http://www.w3.org/2000/svg}"
FIGURES = {figure.id: figure for figure in gallery()}
every_figure = pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))


def parsed(figure: Figure, width: int = 700) -> ElementTree.Element:
    return ElementTree.fromstring(str(draw(figure, width)))


def marks(svg: ElementTree.Element) -> list[ElementTree.Element]:
    return [each for each in svg.iter() if "data-y" in each.attrib]


def texts(svg: ElementTree.Element) -> list[str]:
    found = []
    for each in svg.iter(f"{SVG}text"):
        parts = [each.text or "", *(span.text or "" for span in each.iter(f"{SVG}tspan"))]
        found.append(" ".join(part for part in parts if part))
    return found


def test_the_gallery_has_every_kind() -> None:
    kinds = {figure.kind for figure in FIGURES.values()}
    assert kinds == {"line", "points", "bars", "stacked_bars", "ranking", "areas"}
    assert len(FIGURES) == len(gallery())


@every_figure
@pytest.mark.parametrize("width", SIZES)
def test_a_chart_is_xml_of_its_width_without_styles_and_without_a_number_that_is_none(
    figure: Figure, width: int
) -> None:
    svg = parsed(figure, width)
    assert svg.tag == f"{SVG}svg"
    assert svg.attrib["role"] == "img"
    assert svg.attrib["viewBox"] == f"0 0 {width} {svg.attrib['height']}"
    assert [svg[0].tag, svg[1].tag] == [f"{SVG}title", f"{SVG}desc"]
    for each in svg.iter():
        assert "style" not in each.attrib
        for name, value in each.attrib.items():
            if not name.startswith(("data-", "id", "fill")):
                assert not re.search(r"\b(nan|inf)\b|e[-+]?\d", value), (name, value)


@every_figure
def test_the_marks_have_the_numbers_of_the_series(figure: Figure) -> None:
    wanted = Counter(
        f"{y:.5g}"
        for series in figure.series
        for x, y in zip(series.x, series.y, strict=True)
        if y is not None and math.isfinite(y)
        if not (figure.x_log and isinstance(x, float) and x <= 0) and not (figure.y_log and y <= 0)
    )
    drawn = Counter(
        f"{float(number):.5g}"
        for mark in marks(parsed(figure))
        for number in mark.attrib["data-y"].split()
    )
    assert drawn == wanted


@every_figure
def test_every_mark_has_a_title(figure: Figure) -> None:
    for mark in marks(parsed(figure)):
        title = mark.find(f"{SVG}title")
        assert title is not None
        assert title.text


def test_points_lie_where_their_numbers_say() -> None:
    figure = Figure("f", "", "", "points", "x", "y",
                    (Series("s", (0.0, 1.0, 4.0), (0.0, 10.0, 20.0)),))  # fmt: skip
    x, y = zip(
        *((float(m.attrib["cx"]), float(m.attrib["cy"])) for m in marks(parsed(figure))),
        strict=True,
    )
    assert (x[1] - x[0]) * 4 == pytest.approx(x[2] - x[0], abs=0.5)
    assert (y[0] - y[1]) * 2 == pytest.approx(y[0] - y[2], abs=0.5)
    log = replace(figure, x_log=True, y_log=True,
                  series=(Series("s", (1.0, 10.0, 1000.0), (0.1, 1.0, 100.0)),))  # fmt: skip
    x, y = zip(
        *((float(m.attrib["cx"]), float(m.attrib["cy"])) for m in marks(parsed(log))), strict=True
    )
    assert (x[1] - x[0]) * 3 == pytest.approx(x[2] - x[0], abs=0.5)
    assert (y[0] - y[1]) * 3 == pytest.approx(y[0] - y[2], abs=0.5)


def test_bars_are_as_long_as_their_values_and_stacks_as_their_sum() -> None:
    series = (Series("a", ("x", "y"), (10.0, 5.0)), Series("b", ("x", "y"), (20.0, -5.0)))
    bars = marks(parsed(Figure("f", "", "", "bars", "", "", series)))
    assert [mark.attrib["data-x"] for mark in bars] == ["x", "x", "y", "y"]
    lengths = [float(mark.attrib["width"]) for mark in bars]
    assert lengths == pytest.approx(
        [lengths[0], lengths[0] * 2, lengths[0] / 2, lengths[0] / 2], abs=0.3
    )
    stack = marks(parsed(Figure("f", "", "", "stacked_bars", "", "", series)))
    first, second, third, below = (
        (float(mark.attrib["x"]), float(mark.attrib["x"]) + float(mark.attrib["width"]))
        for mark in stack
    )
    assert second[0] == pytest.approx(first[1], abs=0.15)
    assert third[0] == pytest.approx(below[1], abs=0.15)


def test_a_stack_has_its_sum_beside_it_and_its_interval_at_its_end() -> None:
    assert {"405", "410", "650", "1,121"} <= set(texts(parsed(FIGURES["costs"])))


def test_a_ranking_has_bounds_trials_and_objections() -> None:
    svg = parsed(ranking("r", suites(6)))
    words = texts(svg)
    assert {"95 % interval", "one trial", "lower bound", "a policy objects"} <= set(words)
    assert [word for word in words if word.startswith("≥")] == ["≥ 4,200", "≥ 3,911"]
    opened = [mark for mark in marks(svg) if mark.attrib["class"] == "o"]
    assert [mark.attrib["data-y"] for mark in opened] == ["4200", "3911.145"]
    muted = [each for each in svg.iter(f"{SVG}g") if each.attrib.get("class") == "mu"]
    assert [each.find(f".//{SVG}circle/{SVG}title").text for each in muted] == [  # type: ignore[union-attr]
        f"DHE-RSA-AES256-CCM8, RSA-2048, HTTP/1: 4,053 (3,992–4,114); {OBJECTION}"
    ]
    trials = [each for each in svg.iter(f"{SVG}path") if "data-samples" in each.attrib]
    assert [len(each.attrib["data-samples"].split()) for each in trials] == [10] * 6
    assert [each.attrib["d"].count("h0") for each in trials] == [10] * 6


def test_keys_explain_only_what_is_drawn() -> None:
    plain = Series("rate", ("a", "b"), (2.0, 1.0))
    words = texts(parsed(ranking("r", plain)))
    assert not {"95 % interval", "one trial", "lower bound", "a policy objects"} & set(words)


@pytest.mark.parametrize("width", SIZES)
def test_a_long_name_is_whole_or_in_a_title(width: int) -> None:
    svg = parsed(ranking("r", suites(30)), width)
    shown = {text.replace(" ", "") for text in texts(svg)}
    titles = {each.text for text in svg.iter(f"{SVG}text") for each in text.iter(f"{SVG}title")}
    for name in suites(30).x:
        in_title = any(title and title.startswith(str(name)) for title in titles)
        assert str(name).replace(" ", "") in shown or in_title


def test_series_of_one_name_share_a_colour_and_axes_are_in_the_keys() -> None:
    svg = parsed(FIGURES["sweep"])
    groups = [
        each.attrib["class"] for each in svg if re.fullmatch(r"c\d", each.attrib.get("class", ""))
    ]
    assert groups == ["c1", "c1"]
    assert {"JDK 17", "left axis", "right axis"} <= set(texts(svg))


def test_hollow_marks_have_the_colour_of_their_series_and_a_key_of_their_own() -> None:
    svg = parsed(FIGURES["runs"])
    groups = [each for each in svg if re.fullmatch(r"c\d", each.attrib.get("class", ""))]
    assert [each.attrib["class"] for each in groups] == ["c1", "c1", "c2"]
    kinds = [{mark.attrib["class"] for mark in marks(each)} for each in groups]
    assert kinds == [{"p"}, {"o"}, {"o"}]
    keys = [text for text in texts(svg) if text in ("p50", "p99") or "late" in text]
    assert keys == ["p50", "p99", "generator late, or run invalid"]
    titles = [mark.findtext(f"{SVG}title") or "" for mark in marks(groups[1])]
    assert all(title.endswith("; generator late, or run invalid") for title in titles)


def test_what_lies_beyond_a_mark_is_shaded_to_the_end_of_the_plot() -> None:
    svg = parsed(FIGURES["runs"])
    shades = [each for each in svg.iter(f"{SVG}rect") if each.attrib.get("class") == "sh"]
    (frame,) = (each for each in svg if each.attrib.get("class") == "frame")
    _, low, high, start, end = map(str, frame.attrib["data-across"].split())
    for shade, load in zip(shades, (400.0, 800.0), strict=True):
        share = (load - float(low)) / (float(high) - float(low))
        place = float(start) + share * (float(end) - float(start))
        assert float(shade.attrib["x"]) == pytest.approx(place, abs=0.2)
    ends = {float(each.attrib["x"]) + float(each.attrib["width"]) for each in shades}
    assert max(ends) == pytest.approx(min(ends), abs=0.2)
    assert min(ends) > float(end)


def test_a_diagonal_is_a_reference_line() -> None:
    svg = parsed(FIGURES["load"])
    (group,) = (each for each in svg if each.attrib.get("class") == "rf")
    assert [each.attrib["data-y"] for each in group] == ["0 3300"]


def test_hostile_texts_stay_texts() -> None:
    hostile = (
        FIGURES["hostile"],
        FIGURES["hostile-line"],
        *made_figures(HOSTILE),
        replace(
            FIGURES["use"], series=tuple(replace(s, name=HOSTILE) for s in FIGURES["use"].series)
        ),
        replace(FIGURES["bars"], title=HOSTILE, caption=HOSTILE, x_title=HOSTILE, id=HOSTILE),
    )
    for figure in hostile:
        for width in SIZES:
            text = str(draw(figure, width))
            svg = ElementTree.fromstring(text)
            assert "<script" not in text
            assert not set(text) & set("\x1b\u202e\ufffe")
            tags = {each.tag.removeprefix(SVG) for each in svg.iter()}
            assert tags <= {"svg", "g", "path", "rect", "circle", "text", "tspan", "title", "desc",
                            "defs", "pattern"}  # fmt: skip
            names = {name for each in svg.iter() for name in each.attrib}
            assert not any(name.startswith("on") for name in names)


def test_textures_have_ids_of_their_own_chart() -> None:
    figures = [FIGURES["eight"], FIGURES["eight-stacked"], replace(FIGURES["eight"], y_log=True)]
    ids = [
        each.attrib["id"]
        for figure in figures
        for width in SIZES
        for each in parsed(figure, width).iter(f"{SVG}pattern")
    ]
    assert len(ids) == len(set(ids)) == 7 * len(figures) * len(SIZES)
    text = str(draw(FIGURES["eight"], 700))
    assert set(re.findall(r"url\(#([^)]*)\)", text)) == {i for i in ids if f'id="{i}"' in text}


def test_a_chart_is_the_same_each_time() -> None:
    assert draw(FIGURES["suites"], 700) == draw(FIGURES["suites"], 700)


@pytest.mark.parametrize("width", SIZES)
def test_usual_charts_have_fewer_than_15_kilobytes(width: int) -> None:
    large = {"suites", "walks"}  # 30 rows with 10 trials each; 640 points
    sizes = {name: len(draw(figure, width).encode()) for name, figure in FIGURES.items()}
    assert max(size for name, size in sizes.items() if name not in large) < 15_000
    assert max(sizes.values()) < 30_000


def test_wide_ranges_are_read_best_on_a_logarithmic_axis() -> None:
    best, other = variants(replace(FIGURES["wide-range"], y_log=False))
    assert best.y_log
    assert other is not None
    assert not other.y_log
    narrow, switched = variants(FIGURES["suites-few"])
    assert not narrow.y_log
    assert switched is not None
    assert switched.y_log
    one = replace(FIGURES["wide-range"], series=(FIGURES["wide-range"].series[0].only([0]),))
    assert variants(one) == (replace(one, y_log=False), None)
    for name in ("eight", "costs", "use", "negative", "none", "walks-none", "line-none"):
        if name in FIGURES:
            assert variants(FIGURES[name]) == (FIGURES[name], None)


def test_marks_without_a_place_are_not_drawn() -> None:
    figure = replace(FIGURES["sweep"], marks=(Mark(-1.0, "never"), Mark(4.0, "knee")))
    assert "never" not in draw(figure, 700)
    assert LONG not in draw(figure, 700)


def test_a_ranking_may_have_labelled_lines() -> None:
    figure = replace(ranking("r", suites(6)), marks=(Mark(5000.0, "limit of the machine"),))
    svg = parsed(figure)
    (mark,) = (each for each in svg.iter(f"{SVG}g") if each.attrib.get("class") == "mk")
    assert mark.attrib["data-x"] == "5000"
    assert "limit of the machine" in texts(svg)


def test_the_frame_has_the_scales() -> None:
    (frame,) = (each for each in parsed(FIGURES["sweep"]) if each.attrib.get("class") == "frame")
    kind, low, high, *_ = frame.attrib["data-across"].split()
    assert (kind, float(low), float(high)) == ("log", 1, 32)
    kind, low, high, bottom, top = frame.attrib["data-up2"].split()
    assert kind == "log"
    for mark in marks(parsed(FIGURES["sweep"]))[-6:]:
        share = math.log(float(mark.attrib["data-y"]) / float(low)) / math.log(
            float(high) / float(low)
        )
        place = float(bottom) + share * (float(top) - float(bottom))
        assert place == pytest.approx(float(mark.attrib["cy"]), abs=0.2)
