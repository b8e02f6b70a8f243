"""What a check writes: profiles, library, statistics, JUnit, the page; each without a file or a process."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import poise
from poise.analysis import analyze
from poise.check.clip import _folder_of, check_files, check_motion, clip_files
from poise.check.finding import FLAWS, Cure, Finding
from poise.check.library import Facts, FlightSample, Samples, compare, gait_of
from poise.check.profile import Profile, load_profile, profile_names
from poise.check.report import ClipReport, Wanted, junit_xml, unreadable
from poise.check.statistics import PAPER_GRAVITY, bins_of, figures, histogram_svg, quoted, write_statistics
from poise.check.whole import rate_findings
from poise.cli.check import show
from poise.core.errors import FileFormatError, UnknownName
from poise.core.motion import Evidence
from poise.phases import FrameRate
from poise.show.check_page import BUNDLE, ballistic_height, page, pictures_of
from poise.show.page import has_page
from tests.chromium import launched, needs_browser, opened, until
from tests.clips import MOTIONS, needs_motions, sample_clip

needs_page = pytest.mark.skipif(not has_page(BUNDLE), reason="the player is not built (`make player`)")

NASTY = "<b>\"a\" & 'b'</b> ]]> \x01\udc80.bvh"
"""A name with everything that markup can choke on, and what XML cannot hold at all."""


@pytest.fixture(scope="module")
def hop() -> ClipReport:
    motion = sample_clip("hover_hop")
    return check_motion(analyze(motion), load_profile("realistic"), "hover_hop.bvh", Wanted(pictures_of, samples=True))


def nasty(hop: ClipReport) -> ClipReport:
    finding = Finding("skate", 0.2, 0.06, ((1, 2),), f"{NASTY} slides", (Cure(f"pin {NASTY}", 0.1),), NASTY)
    return ClipReport(NASTY, "<i>", "fail", (finding,), hop.measures, notes=(NASTY,), pictures=hop.pictures)


def test_names_start_below_the_folder_that_holds_all_files(tmp_path: Path) -> None:
    for name in ("one/walk.bvh", "two/walk.bvh"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(poise.sample_path("walk"), tmp_path / name)
    reports = check_files(clip_files([tmp_path]), load_profile("realistic"))
    assert [r.name for r in reports] == [os.path.join("one", "walk.bvh"), os.path.join("two", "walk.bvh")]
    assert [r.file for r in reports] == [str(tmp_path / "one/walk.bvh"), str(tmp_path / "two/walk.bvh")]
    (alone,) = check_files([tmp_path / "one/walk.bvh"], load_profile("realistic"))
    assert alone.name == "walk.bvh"
    assert _folder_of([Path("/one/walk.bvh"), Path("/two/walk.bvh")]) == ""


def test_legs_of_no_creature_are_measured_against_the_largest_there_are() -> None:
    """A warning of 1.01 × read "allowed at least 1.6"."""
    motion = poise.load(poise.sample_path("walk"), height=7.0)
    report = check_motion(analyze(motion), load_profile("realistic"), "giant.bvh", Wanted())
    (size,) = (f for f in report.findings if f.name == "size")
    assert "few creatures have" in size.sentence
    assert "--height" in size.cures[1].text
    assert size.threshold == 1.0
    assert 1.0 < size.measure < 2.0


# profiles


def test_bundled_profiles_are_whole_and_stylized_lets_professional_jumps_pass() -> None:
    assert profile_names() == ("realistic", "strict", "stylized")
    for name in profile_names():
        profile = load_profile(name)
        assert set(profile.limits) == set(FLAWS)
        assert profile.about
    stylized = load_profile("stylized")
    assert all(stylized["gravity"].allows(g) for g in PAPER_GRAVITY)
    assert not load_profile("realistic")["gravity"].allows(2.2)


def test_a_profile_of_ones_own_changes_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "stylized"\n[gravity]\nmax = 2.0\n[skate]\nfail = false\n', encoding="utf-8")
    mine, base = load_profile(str(path)), load_profile("stylized")
    assert mine.name == "mine"
    assert mine["gravity"].most == 2.0
    assert mine["gravity"].least == base["gravity"].least
    assert not mine["skate"].fails
    assert mine["skate"].most == base["skate"].most
    assert mine["balance"] == base["balance"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gravty]\nmax = 2.0", "Did you mean 'gravity'"),
        ("[gravity]\nmost = 2.0", "min, max, fail, check"),
        ("[gravity]\nmax = 'two'", "must be a number"),
        ("[gravity]\nmin = 3.0\nmax = 2.0", "above max"),
        ("[skate]\nmax = -1", "no measure is below 0"),
        ("[gravity]\nfail = 1", "true or false"),
        ("base = 'mine'", "realistic, strict, stylized"),
        ("gravity = 3", "must be a table"),
        ("[gravity", "not TOML"),
    ],
)
def test_a_wrong_profile_is_refused_with_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises((FileFormatError, UnknownName), match=re.escape(said)):
        load_profile(str(path))


def test_failing_only_on_some_findings_still_tells_the_others() -> None:
    profile = load_profile("stylized").failing_only_on(("jerk",))
    assert profile["jerk"].fails
    assert profile["jerk"].is_checked
    assert not profile["gravity"].fails
    assert profile["gravity"].is_checked
    with pytest.raises(UnknownName, match="gravity"):
        load_profile("stylized").failing_only_on(("gravty",))


# library


def facts(gravity: float, *, skeleton: str = "a", gait: str = "walk", step: float = 0.5) -> Facts:
    return Facts(skeleton, gait, {"gravity": gravity, "leg": 0.8, "step": step})


def test_a_clip_that_leaves_its_groups_spread_is_listed_and_others_are_not() -> None:
    usual = [(f"clip {k}", facts(g)) for k, g in enumerate((0.95, 1.0, 1.02, 1.05, 0.98))]
    odd, other = ("odd", facts(2.1)), ("other", facts(2.1, skeleton="b"))
    groups = compare([*usual, odd, other])
    (stray,) = [s for g in groups for s in g.strays]
    assert (stray.clip, stray.quantity) == ("odd", "gravity")
    assert stray.low < 0.95 < 1.05 < stray.high < 2.1
    assert "2.1 g" in stray.sentence
    assert "its 5 companions" in stray.sentence  # not itself


def test_step_times_are_compared_within_one_gait() -> None:
    walks = [(f"walk {k}", facts(1.0, step=0.5 + 0.01 * k)) for k in range(5)]
    runs = [(f"run {k}", facts(1.0, gait="run", step=0.25)) for k in range(5)]
    assert not [s for g in compare([*walks, *runs]) for s in g.strays]
    fast = ("fast", facts(1.0, step=0.25))
    assert [s.clip for g in compare([*walks, *runs, fast]) for s in g.strays] == ["fast"]


def test_a_few_clips_call_nobody_unusual() -> None:
    assert not [s for g in compare([("a", facts(1.0)), ("b", facts(3.0)), ("c", facts(1.0))]) for s in g.strays]


# statistics


def one_flight(gravity: float, track: list[float], uncertainty: float = 0.01) -> FlightSample:
    n = len(track)
    return FlightSample((10, 9 + n), gravity, uncertainty, np.array(track), np.zeros((n, 2)), np.full((n, 3), np.nan))


def test_quoted_numbers_are_shares_of_frames() -> None:
    samples = [
        ("a", Samples(100, "walk", (), np.array([-0.5, -0.1, 0.5, 2.0]))),
        ("b", Samples(50, "run", (one_flight(0.5, [0.0, 0.05, 0.2]), one_flight(2.0, [0.0])), np.array([0.5, 3.0]))),
        ("c", Samples(50, "other", (one_flight(1.0, [0.02]), one_flight(9.0, [0.0], 5.0)), np.array([-9.0]))),
    ]
    rows = {name: (mine, theirs) for name, mine, theirs in quoted(samples)}
    assert rows["track error below 0.1 [% of frames]"] == (pytest.approx(100 * 5 / 6), 90.0)
    assert rows["walk: COP inside the support [% of frames]"] == (50.0, 60.0)
    assert rows["walk: COP within one radius [% of frames]"] == (75.0, 85.0)
    assert rows["run: COP within one radius [% of frames]"] == (50.0, 70.0)
    assert rows["median implied gravity [g]"] == (1.0, 1.02)  # the unsure 9 g do not count
    assert rows["largest implied gravity [g]"] == (2.0, 3.35)
    assert rows["frames in flight"][0] == 6
    assert rows["clips with flight [%]"][0] == pytest.approx(200 / 3)
    assert rows["frames in flight [%]"][0] == 3.0


def test_a_clip_with_a_wrong_frame_rate_counts_nowhere_and_the_tables_say_so(tmp_path: Path) -> None:
    good = Samples(100, "walk", (one_flight(1.0, [0.0]),), np.array([-0.5, 0.5]))
    wrong = Samples(100, "walk", (one_flight(4.0, [0.9]),), np.array([9.0]), is_counted=False)
    assert str(quoted([("a", good), ("b", wrong)])) == str(quoted([("a", good)]))  # nan is nan
    write_statistics(tmp_path, [("a", good), ("b", wrong)])
    assert "b" not in {r["clip"] for r in csv.DictReader(io.StringIO((tmp_path / "table_1.csv").read_text("utf-8")))}
    rows = csv.DictReader(io.StringIO((tmp_path / "clips.csv").read_text("utf-8")))
    assert {r["clip"]: r["counted"] for r in rows} == {"a": "yes", "b": "no: frame rate"}


@needs_motions
def test_a_doubled_rate_is_not_counted_and_measured_as_the_page_says() -> None:
    motion = poise.load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_05.bvh")
    report = check_motion(analyze(motion), load_profile("realistic"), "143_05.bvh", Wanted(samples=True))
    assert report.samples is not None
    assert not report.samples.is_counted
    (rate,) = [f for f in report.findings if f.name == "frame-rate"]
    assert rate.measure == pytest.approx(0.5, rel=1e-3)
    assert "m/s²" in rate.sentence
    page = (Path(__file__).parents[1] / "docs" / "check.md").read_text(encoding="utf-8")
    assert "over the labeled one | 0.9–1.1" in page


def test_the_papers_table_has_its_printed_median() -> None:
    # the paper's text says 0.95; its table says 1.02
    assert float(np.median(PAPER_GRAVITY)) == 1.02
    assert len(PAPER_GRAVITY) == 13


def test_statistics_are_written_as_figures_and_tables(tmp_path: Path, hop: ClipReport) -> None:
    assert hop.samples is not None
    written = write_statistics(tmp_path / "new" / "folder", [("=hop", hop.samples)])
    names = {p.name for p in written}
    assert {f"figure_{k}.svg" for k in ("6a", "6b", "6c", "6d", "6e", "6f", "7a", "7b")} <= names
    for path in written:
        if path.suffix == ".svg":
            assert ElementTree.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "new" / "folder" / "table_1.csv").read_text("utf-8"))))
    assert float(rows[0]["gravity_g"]) == pytest.approx(hop.measures["flights"][0]["gravity_g"], rel=1e-4)
    assert rows[0]["clip"] == "'=hop"  # no spreadsheet takes it for a formula


def test_no_clips_make_empty_figures() -> None:
    for figure in figures([]):
        assert figure.bins.total == 0
        ElementTree.fromstring(histogram_svg(figure.bins, title=figure.title, across=figure.across))
    assert math.isnan(quoted([])[0][1])


def test_values_beyond_a_histogram_are_counted_apart() -> None:
    bins = bins_of(np.array([-5.0, 0.1, 0.1, 0.9, 7.0, 8.0, np.nan]), 0.0, 1.0, 2)
    assert bins.counts.tolist() == [2, 1]
    assert (bins.below, bins.above, bins.total) == (1, 2, 6)
    drawn = histogram_svg(bins, title="a < b & c", across="x")
    assert "1 below 0; 2 above 1" in drawn
    ElementTree.fromstring(drawn)


@pytest.mark.parametrize(
    ("arguments", "gait"),
    [
        ((1.2, 0.0, 0.25, 0.75, 6), "walk"),
        ((3.0, 0.3, 0.0, 0.7, 5), "run"),
        ((0.05, 0.0, 1.0, 0.0, 0), "other"),
        ((1.2, 0.3, 0.6, 0.1, 5), "other"),  # jumps on two feet
        ((1.2, 0.0, 0.25, 0.75, 1), "other"),
    ],
)
def test_gaits_are_told_by_their_phases(arguments: tuple[float, float, float, float, int], gait: str) -> None:
    assert gait_of(*arguments) == gait


# reports


def test_findings_say_measure_threshold_frames_and_ranked_cures(hop: ClipReport) -> None:
    assert hop.verdict == "fail"
    gravity = next(f for f in hop.findings if f.name == "gravity")
    assert gravity.measure < gravity.threshold == load_profile("realistic")["gravity"].least
    assert [c.cost for c in gravity.cures] == sorted(c.cost for c in gravity.cures)
    entry = gravity.as_json()
    assert {"name", "measure", "threshold", "frames", "cures"} <= entry.keys()
    assert [f.fails for f in hop.findings] == sorted((f.fails for f in hop.findings), reverse=True)


def check_junit(data: bytes) -> ElementTree.Element:
    """Hold a report to the structure that build servers read (JUnit's own schema, as far as it goes)."""
    root = ElementTree.fromstring(data)
    assert root.tag == "testsuites"
    total = {"tests": 0, "failures": 0, "errors": 0}
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.attrib.keys() >= {"name", "tests", "failures", "errors", "time"}
        float(suite.attrib["time"])
        cases = list(suite)
        assert {c.tag for c in cases} == {"testcase"}
        assert all(c.attrib.keys() >= {"name", "classname", "time"} for c in cases)
        assert len({(c.attrib["classname"], c.attrib["name"]) for c in cases}) == len(cases)
        counted = {
            "tests": len(cases),
            "failures": len(suite.findall("testcase/failure")),
            "errors": len(suite.findall("testcase/error")),
        }
        for key, count in counted.items():
            assert int(suite.attrib[key]) == count
            total[key] += count
        for result in [r for c in cases for r in c]:
            assert result.tag in {"failure", "error", "skipped", "system-out"}
            if result.tag in ("failure", "error"):
                assert result.attrib.keys() >= {"message", "type"}
    assert {k: int(root.attrib[k]) for k in total} == total
    return root


def test_junit_counts_and_escapes(hop: ClipReport) -> None:
    profile = load_profile("realistic")
    root = check_junit(junit_xml([hop, nasty(hop), unreadable(Path(NASTY), f"bad {NASTY}")], profile))
    assert int(root.attrib["errors"]) == 1
    names = [s.attrib["name"] for s in root]
    assert names[0] == "hover_hop.bvh"
    assert names[1].startswith("<b>\"a\" & 'b'</b> ]]> ??.bvh")
    failed = {c.attrib["name"] for c in root[0].findall("testcase") if c.find("failure") is not None}
    assert failed == {f.name for f in hop.findings if f.fails}
    texts = " ".join(e.text or "" for e in root[0].iter("failure"))
    assert "cure: shorten the flight" in texts
    check_junit(junit_xml([], profile))


class Outline(HTMLParser):
    """Tags in order, attributes, and what stands open at the end."""

    VOID = frozenset({"meta", "input", "link", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def outline(reports: list[ClipReport], profile: Profile) -> Outline:
    text = page(reports, compare([]), profile)
    parsed = Outline()
    parsed.feed(text)
    assert not parsed.open
    return parsed


@needs_page
def test_the_page_needs_nothing_else_and_escapes_every_name(hop: ClipReport) -> None:
    parsed = outline([hop, nasty(hop), unreadable(Path(NASTY), NASTY)], load_profile("realistic"))
    assert not {"link", "img", "iframe", "b ", "i"} & set(parsed.tags) - {"b"}
    types = [v for k, v in parsed.attributes if k == "type"]
    assert parsed.tags.count("script") == 1 + types.count("application/json") == 3  # its own, and curves of two clips
    policy = next(v for k, v in parsed.attributes if k == "content" and "default-src 'none'" in (v or "")) or ""
    assert re.search(r"script-src 'sha256-[\w+/=]+';", policy)
    assert "unsafe" not in policy
    assert not [k for k, _ in parsed.attributes if k == "style"]  # the policy would not let it
    # only the page's own two bold words in the lead
    assert parsed.tags.count("b") == 2
    assert not [v for k, v in parsed.attributes if k in ("src", "href") and not (v or "").startswith("#")]
    assert not [k for k, _ in parsed.attributes if k.startswith("on")]
    assert "<b>\"a\" & 'b'</b>" in parsed.words
    assert parsed.tags.count("svg") == 2
    for name in FLAWS:
        assert name in parsed.words
    text = page([hop], compare([]), load_profile("realistic"))
    assert "<th>outside the limit</th>" in text
    assert "<td>clip fails</td>" in text


@needs_page
def test_a_clip_of_which_a_part_is_not_judged_does_not_just_pass(
    hop: ClipReport, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = Finding("contacts", 0.0, 0.7, ((20, 39),), "No support was found", (), "flight 1", False)
    report = ClipReport("a.bvh", "", "pass", (lost,), {"frames": 100})
    assert report.unsupported == pytest.approx(0.2)
    assert report.label == "in part"
    assert replace(report, verdict="fail").label == "fail"
    assert replace(report, measures={"frames": 1000}).label == "pass"
    show([report, replace(report, findings=())], (), load_profile("realistic"))
    said = capsys.readouterr().out
    assert said.startswith("in part a.bvh")
    assert "1 pass, 1 in part, 0 fail" in said
    short = replace(hop, verdict="pass", measures=hop.measures | {"frames": 100})
    both = [replace(short, findings=found) for found in ((lost,), ())]
    text = page(both, compare([]), load_profile("realistic"))
    assert text.count('class="in-part"') == text.count('<tr class="pass"') + text.count('<section class="pass"') == 2
    assert ".in-part .badge" in text


def test_a_clip_that_lies_on_what_is_not_there_says_how_long_it_is_not_judged() -> None:
    """Its middle part hangs a meter above the floor, and does not fall."""
    motion = sample_clip("walk", 4.0)
    lifted = motion.translations.copy()
    lifted[80:200, 0, 2] += 1.0
    lifted[80:200, 0, :2] = lifted[80, 0, :2]
    warns = load_profile("realistic").failing_only_on(("skate",))
    report = check_motion(analyze(replace(motion, translations=lifted)), warns, "hangs.bvh", Wanted())
    assert report.label == "in part"
    assert report.unjudged[0].startswith("1.9 of 4.0 s are not judged: ")


def test_the_rate_that_a_check_names_is_the_one_that_info_names(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = sample_clip("walk", 2.0)
    assert walk.source is not None
    doubted = replace(walk.source, evidence=walk.source.evidence | {"implied_fps": Evidence(30.0, 0.9, "feet swing")})
    monkeypatch.setattr("poise.check.whole.implied_fps", lambda motion, floor: FrameRate(36.0, 0.95, "flights fall"))
    (found,) = rate_findings(analyze(replace(walk, source=doubted)), load_profile("realistic"))
    assert found.measure == pytest.approx(30.0 / walk.fps)
    (found,) = rate_findings(analyze(walk), load_profile("realistic"))
    assert found.measure == pytest.approx(36.0 / walk.fps)


@needs_page
def test_the_page_of_one_clip_has_no_table_of_clips(hop: ClipReport) -> None:
    assert "input" not in outline([hop], load_profile("realistic")).tags


def test_a_flight_is_drawn_beside_its_own_parabola() -> None:
    """With g between its ends: at half-time g T² / 8 above the chord, whatever the clip does."""
    clip = analyze(sample_clip("hover_hop"))
    (flight,) = clip.flights
    height, found = clip.com[:, 2] - clip.floor, ballistic_height(clip)
    assert np.isfinite(found).nonzero()[0].tolist() == list(range(flight.first, flight.last + 1))
    assert np.allclose(found[[flight.first, flight.last]], height[[flight.first, flight.last]])
    middle, length = (flight.first + flight.last) // 2, clip.times[flight.last] - clip.times[flight.first]
    assert (flight.last - flight.first) % 2 == 0
    chord = height[[flight.first, flight.last]].mean()
    assert found[middle] - chord == pytest.approx(9.80665 * length**2 / 8, rel=1e-3)


@needs_browser
@needs_page
def test_the_page_draws_the_player_s_plots_and_a_click_opens_the_frame(hop: ClipReport, tmp_path: Path) -> None:
    written = tmp_path / "check.html"
    (tmp_path / "hop.html").write_text("<!doctype html><title>player</title>", encoding="utf-8")
    reports = [hop, nasty(hop)]
    text = page(reports, compare([]), load_profile("realistic"), {hop.name: "hop.html"})
    written.write_bytes(text.encode("utf-8", "replace"))
    with launched() as browser, opened(browser, written, size=(1200, 3000), is_ready=False) as shown:
        until(shown, "document.querySelectorAll('.plots canvas').length === 6")
        names = shown.locator(".plots").first.locator("h2").all_inner_texts()
        assert names[0].startswith("Height of the center of mass")
        # no plot is wider than its room, and the heads stand at the first frame that a finding names
        assert shown.evaluate("[...document.querySelectorAll('.plot')].every(p => p.scrollWidth <= p.clientWidth + 1)")
        assert shown.evaluate("[...document.querySelectorAll('.play-head')].every(h => !h.hidden)")
        # what names a level line begins beside it, whatever the axes leave behind
        shown.evaluate(
            "window.said = []; const was = CanvasRenderingContext2D.prototype.fillText;"
            "CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {"
            " window.said.push([text, this.textAlign]); return was.call(this, text, ...place); }; 0"
        )
        shown.emulate_media(color_scheme="dark")
        until(shown, "window.said.some(([text]) => text === 'at rest')")
        assert shown.evaluate("window.said.filter(([text]) => text === 'at rest').every(([, a]) => a === 'left')")
        # what is read in one clip moves nothing in the other
        curve = shown.locator(".plots[data-player] .u-over").first
        curve.hover(position={"x": 100, "y": 40})
        moved = "[...document.querySelectorAll('.u-cursor-x')].map(c => +!c.classList.contains('u-off')).join('')"
        until(shown, f"{moved} === '000111'")
        curve.click(position={"x": 100, "y": 40})
        shown.wait_for_url("**/hop.html#t=*")
        assert 0.5 < float(shown.url.split("#t=")[1]) < 5.5


@pytest.mark.long
@needs_browser
@needs_page
def test_the_page_never_scrolls_sideways(hop: ClipReport, tmp_path: Path) -> None:
    motion = sample_clip("walk")
    walk = check_motion(analyze(motion), load_profile("realistic"), "walk.bvh", Wanted(pictures_of, samples=True))
    written = tmp_path / "check.html"
    written.write_text(page([hop, walk], compare([]), load_profile("realistic")), encoding="utf-8")
    with launched() as browser:
        for width in (400, 1200):
            with opened(browser, written, size=(width, 800), is_ready=False) as shown:
                assert shown.evaluate("document.documentElement.scrollWidth") <= width
                room = "Math.min(...[...document.querySelectorAll('ol.cures')].map(e => e.clientWidth)) / innerWidth"
                assert shown.evaluate(room) > 0.4  # cures are read in lines, not in columns of a few letters
                fits = "[...document.querySelectorAll('.pairs')].every(e => e.scrollWidth <= e.clientWidth)"
                assert shown.evaluate(fits)


@pytest.mark.long
@needs_browser
@needs_page
def test_headers_of_findings_with_short_names_stay_whole(hop: ClipReport, tmp_path: Path) -> None:
    written = tmp_path / "check.html"
    short = replace(hop, findings=tuple(replace(f, name="spin") for f in hop.findings))
    written.write_text(page([short], compare([]), load_profile("realistic")), encoding="utf-8")
    lines = (
        "[...document.querySelectorAll('h3 + table th:first-child')].map(h => {"
        " const words = document.createRange(); words.selectNodeContents(h); return words.getClientRects().length; })"
    )
    with launched() as browser, opened(browser, written, size=(1000, 800), is_ready=False) as shown:
        assert shown.evaluate(lines) == [1]


def test_a_folder_that_cannot_be_listed_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/walk.bvh", "closed/walk.bvh", ".hidden/walk.bvh", "a/.walk.bvh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(poise.sample_path("walk").read_bytes())
    scandir = os.scandir

    def listed(path: str) -> object:
        if str(path).endswith("closed"):
            raise OSError(22, "Invalid argument")  # as for some folders of /proc
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)
    assert clip_files([tmp_path]) == (tmp_path / "a" / "walk.bvh",)
