"""The pack: how far what comes back is from what went in, how large it is, and what a broken one does."""

from __future__ import annotations

import itertools
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import poise
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.show.arrays import MOST_BODIES, Blobs, inflate, read_array, unpack
from poise.show.look import push_overlays
from poise.show.pack import MAGIC, pack
from poise.show.scene import GHOST, Box, Curve, Layer, Plot, Points, Polygon, Prop, Row, Scene, Series, Vectors
from poise.terrain import Terrain
from tests.clips import sample_clip
from tests.record_figures import sliding_track

TIMES = np.linspace(0.0, 2.0, 241)


def there_and_back(values: np.ndarray, step: float) -> tuple[dict, np.ndarray]:
    blobs = Blobs()
    array = blobs.packed(values, step)
    places, body = blobs.join()
    return array, read_array(array, [inflate(body[a : a + n], raw) for a, n, raw in places])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine drawing is slow
@given(st.lists(st.floats(-1e4, 1e4), min_size=2, max_size=40), st.sampled_from([1e-3, 0.02, 1.0]), st.integers(1, 3))
def test_an_array_comes_back_to_half_a_step(values: list[float], step: float, columns: int) -> None:
    table = np.resize(np.array(values), (len(values), columns))
    _, back = there_and_back(table, step)
    assert np.abs(back - table).max() <= 0.5 * step * (1 + 1e-6)


def test_each_order_of_differences_is_used_where_it_is_the_smallest() -> None:
    t = np.arange(400.0)[:, None]
    jumping = np.where(np.arange(400)[:, None] % 2, 500.0, -500.0)
    steps = np.random.default_rng(2).normal(size=(400, 1)).cumsum(axis=0)
    assert [there_and_back(x, 0.01)[0]["order"] for x in (t**2, steps, jumping)] == [2, 1, 0]


def test_differences_may_wrap() -> None:
    wild = np.array([[2.0**30], [-(2.0**30)], [2.0**30], [0.0]])
    np.testing.assert_array_equal(there_and_back(wild, 1.0)[1], wild)
    with pytest.raises(InvalidValue, match="beyond"):
        there_and_back(2.0 * wild, 1.0)


def test_arrows_that_never_show_come_back_as_none() -> None:
    none = np.zeros((len(TIMES), 0, 3))
    arrows = Vectors("force", "forces", (0, 0, 1), none, none, "N", 0.001)
    seen = unpack(pack(Scene(TIMES, (sliding_track(TIMES),), Terrain.flat(), overlays=(arrows,))))
    assert seen.array(seen.header["overlays"][0]["vectors"]).shape == none.shape


def test_the_error_of_a_walk_is_invisible() -> None:
    motion = sample_clip("walk")
    result = poise.simulate(motion, pushes=[poise.Push("chest", (300.0, 0.0, 0.0), 1.0)])
    scene = poise.scene_of(result)
    seen = unpack(pack(scene))
    np.testing.assert_allclose(seen.array(seen.header["times"]), scene.times, atol=1e-6)
    for k, track in enumerate(scene.tracks):
        places, turns = seen.poses(k)
        assert np.linalg.norm(places - track.positions, axis=2).max() < 1e-4  # a tenth of a millimeter
        assert np.degrees(rotations.angle_between(turns, track.orientations)).max() < 0.01


def test_a_body_that_leaves_its_parent_is_stored_with_its_place() -> None:
    track = sliding_track(TIMES)
    loose = track.positions.copy()
    loose[:, 2, 0] += 0.01 * np.sin(9.0 * TIMES)
    scene = Scene(TIMES, (replace(track, positions=loose),), Terrain.flat())
    seen = unpack(pack(scene))
    assert ["offset" in b for b in seen.header["tracks"][0]["bodies"]] == [False, True, False, True, True]
    np.testing.assert_allclose(seen.poses(0)[0], loose, atol=1e-4)


def test_ten_seconds_of_a_busy_scene_are_small() -> None:
    """25 bodies, two tracks, plots: the page's own code is 0.8 MB, so what is left of 1.2 MB is 0.4 MB in base64."""
    motion = sample_clip("walk")
    character = poise.Character.fit(motion)
    times = np.arange(600) / 60.0
    wobble = np.random.default_rng(1).normal(size=(600, 25, 3)).cumsum(axis=0) * 0.01
    turns = rotations.from_rotation_vector(wobble)
    body = replace(character.bodies[0], parent=-1)
    figure = replace(character, bodies=(body, *(replace(body, kind="ball", parent=k) for k in range(24))))
    places = np.zeros((600, 25, 3))
    for k in range(1, 25):
        places[:, k] = places[:, k - 1] + rotations.rotate(turns[:, k - 1], np.array([0.1, 0.2, 0.0]))
    track = sliding_track(times)
    track = replace(track, character=figure, positions=places, orientations=turns)
    lines = tuple(Series(n, (0, 0, 0), wobble[:, k, 0]) for k, n in enumerate("abcdef"))
    scene = Scene(
        times, (track, replace(track, name="ghost", style=GHOST)), Terrain.rough(0.2, 1), plots=(Plot("p", "m", lines),)
    )
    assert len(pack(scene)) * 4 / 3 < 400_000


def test_everything_else_comes_back() -> None:
    track = sliding_track(TIMES)
    ring = np.full((len(TIMES), 2, 3), np.nan)
    ring[10:20, 1] = [1.0, 2.0, 3.0]
    corners = np.tile(np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0.0]]), (len(TIMES), 1, 1))
    corners[5] = np.nan
    values = np.sin(TIMES)
    values[3] = np.nan
    crate = Prop("crate", (Box(np.zeros(3), np.full(3, 0.2)),), np.array([[1.0, 0, 0.2]]), rotations.IDENTITY[None])
    scene = Scene(
        TIMES, (track,), Terrain.stairs(0.2, 0.3), props=(crate,), title="<b>", notes=("a note",),
        overlays=(
            Points("cop", "cop", (1, 0, 0), ring, mark="ring"), Polygon("base", "support", (0, 1, 0), corners),
            Vectors("force", "forces", (0, 0, 1), ring, 100.0 * ring, "N", 0.001),
            Curve("trail", "com", (0, 0, 0), track.positions[:, 0], TIMES, "trail"),
        ),
        timeline=(Row("left", (1, 0, 0), ((0.1, 0.5, "stance"),), ((1.0, "shove"),)),),
        plots=(Plot("sine", "m", (Series("s", (0, 0, 0), values),)),),
        layers=(Layer("forces", "Forces", False), Layer("unused", "?")),
    )  # fmt: skip
    seen = unpack(pack(scene))
    head = seen.header
    assert head["title"] == "<b>"
    assert head["notes"] == ["a note"]
    assert [(x["name"], x["on"]) for x in head["layers"]] == [
        ("forces", False), ("figure", True), ("props", True), ("cop", True), ("support", True), ("com", True),
    ]  # fmt: skip
    points, polygon, vectors, curve = head["overlays"]
    shown = seen.array(points["shown"]).astype(bool)
    np.testing.assert_array_equal(shown, np.isfinite(ring).all(axis=2))
    np.testing.assert_allclose(seen.array(points["positions"])[shown], ring[shown], atol=1e-4)
    np.testing.assert_allclose(seen.array(vectors["vectors"])[shown], 100.0 * ring[shown], atol=0.02)
    assert seen.array(polygon["shown"]).ravel().tolist() == [k != 5 for k in range(len(TIMES))]
    np.testing.assert_allclose(seen.array(curve["times"]), TIMES, atol=1e-6)
    line = head["plots"][0]["series"][0]
    told = np.where(seen.array(line["shown"]), seen.array(line["values"]), np.nan)
    np.testing.assert_allclose(told, values, atol=1e-4)
    np.testing.assert_allclose(seen.poses(1)[0][:, 0], [[1.0, 0.0, 0.2]] * len(TIMES), atol=1e-4)
    assert head["timeline"][0]["spans"] == [[0.1, 0.5, "stance"]]


@pytest.mark.parametrize(
    "terrain",
    [Terrain.flat(), Terrain.slope(20), Terrain.rough(0.3, 4), Terrain.stairs(0.15, 0.4), Terrain.step(-0.3)],
    ids=lambda t: t.spec,
)
def test_the_drawn_ground_is_the_ground(terrain: Terrain) -> None:
    placed = terrain.placed(origin=(0.3, -0.2), heading=0.4, ground=0.1)
    scene = Scene(TIMES, (sliding_track(TIMES),), placed)
    seen = unpack(pack(scene))
    ground = seen.header["terrain"][0]
    if ground["kind"] == "grid":
        along, across, heights = (seen.array(ground[n]).astype(float) for n in ("along", "across", "heights"))
        c, s = np.cos(ground["heading"]), np.sin(ground["heading"])
        x = ground["origin"][0] + along[:, None] * c - across * s
        y = ground["origin"][1] + along[:, None] * s + across * c
        np.testing.assert_allclose(placed.heights(np.stack([x, y], -1).reshape(-1, 2)), heights.ravel(), atol=2e-4)
        x, y, middles = (0.25 * (v[1:, 1:] + v[:-1, :-1] + v[1:, :-1] + v[:-1, 1:]) for v in (x, y, heights))
        off = placed.heights(np.stack([x, y], -1).reshape(-1, 2)) - middles.ravel()
        assert np.abs(off).max() < 0.02  # [m] between its points; 8 mm on rough ground
        return
    corners = seen.array(ground["vertices"]).astype(float)[seen.array(ground["indices"]).astype(int)]
    edges = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    treads = np.abs(edges[:, 2]) > 1e-6
    assert treads.any()
    assert not treads.all()
    assert (edges[treads, 2] > 0).all()  # front sides up
    middles = corners[treads].mean(axis=1)
    np.testing.assert_allclose(placed.heights(middles[:, :2]), middles[:, 2], atol=1e-5)


def test_a_moving_platform_moves() -> None:
    keys = [(0.0, 0, 0, 0, 0, 0), (1.0, 0.5, 0.2, 0.3, 10.0, -5.0), (2.0, 0, 0, 0, 0, 0)]
    placed = Terrain.platform(keys).placed(origin=(0.3, -0.2), heading=0.7, ground=0.1)
    seen = unpack(pack(Scene(TIMES, (sliding_track(TIMES),), placed)))
    poses = seen.header["terrain"][0]["poses"]
    places, turns = seen.array(poses["positions"]), seen.array(poses["orientations"])
    for k in (0, 60, 120, 200):
        corner = places[k] + rotations.rotate(rotations.normalize(turns[k]), np.array([1.0, 0.7, 0.0]))
        assert placed.heights(corner[None, :2], float(TIMES[k]))[0] == pytest.approx(corner[2], abs=1e-3)


def test_a_broken_pack_is_refused() -> None:
    whole = pack(Scene(TIMES, (sliding_track(TIMES),), Terrain.flat()))
    for broken in (b"", whole[:40], b"x" + whole[1:], whole[:12] + b"\xff\xff\xff\xff" + whole[16:], whole[:-30]):
        with pytest.raises(InvalidValue):
            unpack(broken)
    rng = np.random.default_rng(5)
    for k in itertools.islice(iter(rng.integers(0, len(whole), 400).tolist()), 400):
        torn = bytearray(whole)
        torn[k] ^= 0x55
        try:
            unpack(bytes(torn))
        except (InvalidValue, ValueError):
            continue


def header_of(whole: bytes) -> tuple[dict, bytes]:
    packed = int.from_bytes(whole[8:12], "little")
    return json.loads(zlib.decompress(whole[16 : 16 + packed])), whole[16 + packed :]


def with_header(header: object, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    head = zlib.compress(text)
    return MAGIC + len(head).to_bytes(4, "little") + len(text).to_bytes(4, "little") + head + body


def test_a_header_that_lies_is_refused_before_anything_is_unpacked() -> None:
    header, body = header_of(pack(Scene(TIMES, (sliding_track(TIMES),), Terrain.flat())))
    assert unpack(with_header(header, body)).header == header
    times, track = header["times"], header["tracks"][0]
    lies = [
        [], "words", {"format": "poise.scene"}, {**header, "version": "1"}, {**header, "blobs": [[0, 1]]},
        {**header, "blobs": [[0, len(body), 1 << 27]] * 9},
        {**header, "times": {**times, "shape": [50_000_000]}},
        {**header, "tracks": [{**track, "bodies": track["bodies"] * 5000}]},
        {**header, "terrain": [{"kind": "mesh", "vertices": {"shape": [5_000_000, 3]}}]},
    ]  # fmt: skip
    for lie in lies:
        with pytest.raises(InvalidValue):
            unpack(with_header(lie, body))
    deep = b"[" * 200_000
    head = zlib.compress(deep)
    with pytest.raises(InvalidValue):
        unpack(MAGIC + len(head).to_bytes(4, "little") + len(deep).to_bytes(4, "little") + head)


def test_an_array_that_lies_is_refused() -> None:
    seen = unpack(pack(Scene(TIMES, (sliding_track(TIMES),), Terrain.flat())))
    good = seen.header["times"]
    assert len(seen.array(good)) == len(TIMES)
    wrong = [("order", 10**9), ("planes", 0), ("planes", 9), ("shape", [-1, -4]), ("blob", 10**6), ("kind", "f64")]
    for name, value in [*wrong, ("shape", [2**40, 2**40])]:
        with pytest.raises(InvalidValue):
            seen.array({**good, name: value})
    with pytest.raises(InvalidValue):
        seen.array({"kind": "f32"})


@pytest.mark.long
def test_a_scene_too_large_for_a_page_is_not_written() -> None:
    many = tuple(sliding_track(TIMES) for _ in range(MOST_BODIES + 1))
    with pytest.raises(InvalidValue, match="bodies"):
        pack(Scene(TIMES, many, Terrain.flat()))


def test_the_arrow_of_a_push_shrinks_once_it_is_over() -> None:
    motion = sample_clip("walk", 1.0)
    push = poise.Push("chest", (300.0, 0.0, 0.0), 0.3, 0.2)
    result = poise.simulate(motion, pushes=[push])
    (arrow,) = push_overlays(poise.scene_of(result, physics=False))
    lengths = np.linalg.norm(arrow.vectors[:, 0], axis=1)
    times = result.times
    assert np.allclose(lengths[(times > 0.3) & (times < 0.499)], 300.0)
    late = lengths[(times > 0.51) & (times < 0.65)]
    assert (np.diff(late) < 0.0).all()
    assert late[-1] < 0.2 * 300.0
    assert np.isnan(lengths[times > 0.66]).all()
