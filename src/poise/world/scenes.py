"""What stands and lies around figures, as MJCF text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.typing import Array
from poise.filter.forces import Thing
from poise.goals.surroundings import Ball, Movement, Surface
from poise.io.files import read_text
from poise.physics.mujoco_bodies import Bodies
from poise.physics.mujoco_scene import STEPPED_ON
from poise.synthesis.scene_file import scene_from, scene_table
from poise.synthesis.scene_tables import BodyTable, RopeTable
from poise.synthesis.toml_schema import Place
from poise.terrain import Terrain
from poise.terrain.shapes import PLANE, Platform, Steps
from poise.world.answers import PoseAt
from poise.world.rubble import RUBBLE_FORM, ground_plane, mjcf_of, names_of, parse_rubble, pieces

MOST_BYTES = 4_000_000
"""Largest scene file that is read [bytes]."""
THICK = 0.1
"""Thickness of walls of scene files [m]."""
REACH, GRID = 12.0, 0.1
"""Uneven ground reaches so far beyond where figures begin and go, and bumps are so far apart on it [m]."""

OVERLAPS = 0.05
"""A figure that starts deeper than this inside a body or another figure is reported [m], for a leg of 0.82 m."""


class Carried(NamedTuple):
    """A body with a given motion: a platform, a wall that closes in.

    Attributes:
        name: Of the body.
        pose: Its place [m] (3,) and orientation (4,) at a time [s].
    """

    name: str
    pose: PoseAt


class SceneBodies(NamedTuple):
    """What surrounds a figure.

    Attributes:
        mjcf: Bodies and what never moves, as MJCF text.
        balls: Those of the bodies that hang in the air until they are thrown.
        carried: Those that go a given way, whatever they meet.
        rubble: Names of the bodies that are pieces of rubble.
    """

    mjcf: str
    balls: tuple[Ball, ...] = ()
    carried: tuple[Carried, ...] = ()
    rubble: frozenset[str] = frozenset()


def read_scene(
    text: str | os.PathLike[str] | None,
    *,
    way: Array | None = None,
    scale: float = 1.0,
    terrain: Terrain | None = None,
    without: frozenset[str] = frozenset(),
) -> SceneBodies:
    """A scene: MJCF text, a MuJoCo file (.xml), a scene file (.toml), or rubble, see `rubble.parse_rubble`.

        world = poise.World("room.toml")

    Args:
        text: File or short form; None is the ground alone.
        way: Where the figure goes, which rubble lies along, horizontal [m], shape (N, 2).
        scale: Leg length / 0.82 m; sizes of rubble grow with it.
        terrain: Ground under it.
        without: Pieces of rubble that are left out.

    Raises:
        InvalidValue: if it is none of these.
        UnreadableFile: if there is no such file.
        FileFormatError: if a scene file is not valid, or has things that move along keys or vanish.
    """
    terrain = Terrain.flat() if terrain is None else terrain
    if text is None:
        return SceneBodies(mjcf_of([ground_plane(terrain.ground)]))
    if "<mujoco" in str(text):
        return SceneBodies(str(text))
    kind, _, rest = str(text).partition(":")
    if kind == "rubble":
        table = parse_rubble(rest)
        loose, meshes = pieces(table, way=way, scale=scale, terrain=terrain, without=without)
        mjcf = mjcf_of([ground_plane(terrain.ground), *loose], meshes)
        return SceneBodies(mjcf, rubble=names_of(table))
    path = Path(text)
    if path.suffix.lower() == ".xml":
        return SceneBodies(read_text(path, limit=MOST_BYTES))
    if path.suffix.lower() == ".toml":
        return _from_toml(path, way, scale, terrain, without)
    raise InvalidValue(
        f"{str(text)!r} is not a scene. Give a MuJoCo file (.xml), a scene file (.toml) or {RUBBLE_FORM}."
    )


def _from_toml(path: Path, way: Array | None, scale: float, terrain: Terrain, without: frozenset[str]) -> SceneBodies:
    """A scene file: what stands never moves; [[bodies]], [rubble] and thrown balls do."""
    file = scene_table(read_text(path, limit=MOST_BYTES), path=path)
    scene = scene_from(file, Place(path))
    for thing in (*scene.surfaces, *scene.holds):
        if np.isfinite(thing.until):
            raise FileFormatError(
                f"{thing.name!r} is removed by an event, which a world does not play.",
                path=path,
                cure="Leave this event out, or move the thing away: move, keys.",
            )
    moving = {
        (thing.solid if isinstance(thing, Surface) and thing.solid else thing.name): thing.movement
        for thing in (*scene.surfaces, *scene.holds)
        if thing.movement is not None
    }
    if file.floor is not False and file.floor.name in moving:
        raise FileFormatError(
            "the floor is moved by an event.", path=path, cure="Move a box, or give --terrain platform:FILE.csv."
        )
    carried: list[Carried] = []

    def stand(name: str, place: Iterable[float], geom: str) -> str:
        """What stands; or, where an event moves it, a body around it."""
        if name not in moving:
            return geom
        carried.append(Carried(name, partial(_moved, moving[name], np.array(tuple(place), dtype=np.float64))))
        return f'    <body name={quoteattr(name)} mocap="true">\n  {geom}\n    </body>'

    names = [
        thing.name
        for kind in (file.walls, file.boxes, file.bars, file.holds, file.bodies, file.balls, file.ropes)
        for thing in kind
    ]
    for name in sorted({name for name in names if names.count(name) > 1}):
        raise FileFormatError(f"two things are called {name!r}.", path=path, cure="Give each a name of its own.")
    out, meshes = [], []
    if file.floor is not False:
        out.append(_geom(file.floor.name, file.floor.friction, type="plane", size=(100, 100, 1)))
    for w in file.walls:
        frame = Surface(w.name, w.place, w.facing, w.size).frame
        half = (0.5 * w.size[0], 0.5 * w.size[1], 0.5 * THICK)
        middle = np.array(w.place) - 0.5 * THICK * frame[2]
        geom = _geom(w.name, w.friction, type="box", pos=middle, xyaxes=frame[:2].ravel(), size=half)
        out.append(stand(w.name, w.place, geom))
    for b in file.boxes:
        geom = _geom(b.name, b.friction, type="box", pos=b.place, size=0.5 * np.array(b.sides), ground=b.ground)
        out.append(stand(b.name, b.place, geom))
    for h in file.holds:
        out.append(stand(h.name, h.place, _geom(h.name, h.friction, type="sphere", pos=h.place, size=(h.radius,))))
    for r in file.bars:
        geom = _geom(r.name, 1.0, type="capsule", fromto=(*r.start, *r.end), size=(r.radius,))
        out.append(stand(r.name, 0.5 * (np.array(r.start) + np.array(r.end)), geom))
    for ball in scene.balls:
        table = BodyTable(name=ball.name, place=ball.place, radius=ball.radius, mass=ball.mass)
        out.append(_body(table, path))
    out += [_body(b, path) for b in file.bodies]
    if file.rubble is not None:
        loose, meshes = pieces(file.rubble, way=way, scale=scale, terrain=terrain, without=without)
        out += loose
    joins: list[str] = []
    for rope in file.ropes:
        own, ends = _rope(rope, path)
        out += own
        joins += ends
    rubble = frozenset[str]() if file.rubble is None else names_of(file.rubble)
    return SceneBodies(mjcf_of(out, [*meshes, *joins]), scene.balls, tuple(carried), rubble)


def _moved(movement: Movement, place: Array, time: float) -> tuple[Array, Array]:
    """Pose of a body that lies at the origin while the thing on it is at its place (3,)."""
    now, turn = movement.placed(place, time)
    return now - turn @ place, rotations.from_matrix(turn)


def ground_of(terrain: Terrain, around: Array) -> str:
    """A terrain as MJCF text, as far as anything goes: a plane, steps of boxes, or a grid of heights.

        poise.World("rubble:20,1", terrain=poise.Terrain.slope(10))

    Args:
        terrain: Placed. One that moves is a plane on a body "ground", see `deck_of`.
        around: Horizontal places that it is needed around [m], shape (N, 2).
    """
    low, high = around.min(axis=0) - REACH, around.max(axis=0) + REACH
    middle, half = 0.5 * (low + high), 0.5 * float((high - low).max())
    kind, (first, second, third, *_), _ = terrain.shape.form(terrain.place, 0.0)
    if kind == PLANE and not terrain.is_static:
        return mjcf_of(['    <body name="ground" mocap="true"><geom type="plane" size="100 100 1"/></body>'])
    if kind == PLANE:
        normal = _numbers((-first, -second, 1.0))
        return mjcf_of([f'    <geom type="plane" size="100 100 1" pos="0 0 {third!r}" zaxis="{normal}"/>'])
    if isinstance(terrain.shape, Steps):
        return mjcf_of(_treads(terrain, terrain.shape, middle, half))
    heights = terrain.grid(middle, half, GRID)
    low_height, tall = float(heights.min()), max(float(np.ptp(heights)), 1e-3)
    size = _numbers((half, half, tall, 1.0))
    asset = (
        f'  <asset><hfield name="bumps" nrow="{len(heights)}" ncol="{len(heights)}" size="{size}" '
        f'elevation="{" ".join(f"{z:.5f}" for z in (heights[::-1] - low_height).ravel())}"/></asset>'
    )
    place = _numbers((*middle, low_height))
    return mjcf_of([f'    <geom type="hfield" hfield="bumps" pos="{place}"/>'], [asset])


def deck_of(terrain: Terrain) -> Carried:
    """A platform as the motion of the body "ground".

    Raises:
        InvalidValue: if the terrain moves in another way.
    """
    shape, place = terrain.shape, terrain.place
    if not isinstance(shape, Platform):
        raise InvalidValue(f"A world cannot move ground {terrain.spec!r}; it moves platforms (platform:FILE.csv).")

    def pose(time: float) -> tuple[Array, Array]:
        (x, y, z, pitch, roll), _ = shape.pose(time)
        turns = ((0.0, 0.0, place.heading), (0.0, -pitch, 0.0), (roll, 0.0, 0.0))
        heading, forward, sideways = (rotations.from_rotation_vector(np.array(turn)) for turn in turns)
        middle = place.to_world(np.array([x, y, z])) + np.array([*place.origin, place.ground])
        return middle, rotations.multiply(rotations.multiply(heading, forward), sideways)

    return Carried("ground", pose)


def _treads(terrain: Terrain, steps: Steps, middle: Array, half: float) -> list[str]:
    """Boxes for the level ground before the first riser and for each tread."""
    forward, first = terrain.place.forward, terrain.place.start + steps.first
    near, far = float(middle @ forward) - 2.0 * half, float(middle @ forward) + 2.0 * half
    edges = [near, *np.arange(first, far, steps.tread).tolist(), far] if first < far else [near, far]
    sideways = np.array([-forward[1], forward[0]])
    out = []
    for k, (start, end) in enumerate(pairwise(edges)):
        if end <= near:
            continue
        start = max(start, near)
        along = 0.5 * (start + end) * forward + (middle @ sideways) * sideways
        place = (*along, terrain.ground + k * steps.rise - 1.0)
        out.append(
            f'    <geom type="box" pos="{_numbers(place)}" xyaxes="{_numbers((*forward, 0.0, *sideways, 0.0))}" '
            f'size="{_numbers((0.5 * (end - start), half, 1.0))}"/>'
        )
    return out


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(v)) for v in values)


def _geom(name: str, friction: float, *, type: str, ground: bool = False, **fields: Iterable[float]) -> str:
    own = " ".join(f'{key}="{_numbers(value)}"' for key, value in fields.items())
    kind = f'type="{type}"{_group(ground)}'
    return f'    <geom name={quoteattr(name)} {kind} friction="{friction!r} 0.005 0.0001" {own}/>'


def _group(ground: bool) -> str:
    """What marks a box that figures step on."""
    return f' group="{STEPPED_ON}"' if ground else ""


def _body(table: BodyTable, path: Path) -> str:
    """One of [[bodies]]: its shape follows from the lengths that are given."""
    here = f"body {table.name!r}"
    given = (table.sides is not None, table.radius is not None, table.length is not None)
    if given == (True, False, False):
        shape, size = "box", 0.5 * np.array(table.sides)
    elif given == (False, True, False):
        shape, size = "sphere", np.array([table.radius])
    elif given == (False, True, True):
        shape, size = (
            "capsule" if table.round_ends else "cylinder",
            np.array([table.radius, 0.5 * (table.length or 0.0)]),
        )
    else:
        raise FileFormatError(
            f"{here}: its shape is not clear.",
            path=path,
            cure="Give sides (a box), radius (a ball) or radius and length.",
        )
    if table.hinge is not None and table.slide is not None:
        raise FileFormatError(f"{here}: it has a hinge and a slide.", path=path, cure="Give one of them.")
    if table.ground and shape != "box":
        raise FileFormatError(f"{here}: only a box can be ground.", path=path, cure="Give sides, or leave ground out.")
    turn = rotations.from_rotation_vector(np.radians(table.turn))
    back = rotations.conjugate(turn)
    if table.hinge is not None:
        place = rotations.rotate(back, np.array(table.hinge.place) - np.array(table.place))
        axis = rotations.rotate(back, np.array(table.hinge.axis))
        joint = f'<joint type="hinge" pos="{_numbers(place)}" axis="{_numbers(axis)}"/>'
    elif table.slide is not None:
        joint = f'<joint type="slide" axis="{_numbers(rotations.rotate(back, np.array(table.slide)))}"/>'
    else:
        joint = "<freejoint/>"
    friction = f"{table.friction!r} 0.005 0.0001"
    kind = f'type="{shape}"{_group(table.ground)}'
    geom = f'<geom {kind} size="{_numbers(size)}" mass="{table.mass!r}" friction="{friction}"/>'
    return (
        f'    <body name={quoteattr(table.name)} pos="{_numbers(table.place)}" quat="{_numbers(turn)}">'
        f"\n      {joint}{geom}\n    </body>"
    )


def _rope(table: RopeTable, path: Path) -> tuple[list[str], list[str]]:
    """The pieces of one of [[ropes]], and what joins them: at a point, or at both edges of planks."""
    start, end = np.array(table.start), np.array(table.end)
    span = float(np.linalg.norm(end - start))
    if span < 1e-6:
        raise FileFormatError(f"rope {table.name!r}: start and end are one place.", path=path, cure="Move one of them.")
    if table.ground and table.width is None:
        cure = "Give width, or leave ground out."
        raise FileFormatError(f"rope {table.name!r}: only planks can be ground.", path=path, cure=cure)
    sag = 0.5 * span * np.sqrt((1.0 + table.slack) ** 2 - 1.0)  # it begins as a V, or as a stair where it is upright
    part = np.linspace(0.0, 1.0, table.pieces + 1)[:, None]
    knots = start + part * (end - start) - np.array([0.0, 0.0, sag]) * (1.0 - np.abs(2.0 * part - 1.0))
    across = np.cross(end - start, (0.0, 0.0, 1.0))
    level = float(np.linalg.norm(across))
    across = across / level if level > 1e-6 else np.array([0.0, 1.0, 0.0])
    half = 0.5 * (table.width or 0.0)
    edges = (0.0,) if table.width is None else (-half, half)
    bodies, names = [], [f"{table.name} {k + 1}" for k in range(table.pieces)]
    lengths = np.linalg.norm(np.diff(knots, axis=0), axis=1)
    for name, length, (a, b) in zip(names, lengths, pairwise(knots)):
        axes = _numbers((*((b - a) / length), *across))
        size = (0.5 * length, half or table.radius, table.radius)
        shape = f'type="box"{_group(table.ground)}' if table.width else 'type="capsule" euler="0 90 0"'
        sizes = _numbers(size if table.width else (table.radius, 0.5 * length))
        bodies.append(
            f'    <body name={quoteattr(name)} pos="{_numbers(0.5 * (a + b))}" xyaxes="{axes}">\n      <freejoint/>'
            f'<geom {shape} size="{sizes}" mass="{table.mass!r}" friction="{table.friction!r} 0.005 0.0001"/>'
            "\n    </body>"
        )
    joins = [f'body1="world" body2={quoteattr(names[0])} anchor="{_numbers(start + e * across)}"' for e in edges]
    if not table.hangs_free:
        joins += [f'body1="world" body2={quoteattr(names[-1])} anchor="{_numbers(end + e * across)}"' for e in edges]
    for (one, other), length in zip(pairwise(names), lengths):
        joins += [
            f'body1={quoteattr(one)} body2={quoteattr(other)} anchor="{_numbers((0.5 * length, e, 0.0))}"'
            for e in edges
        ]
    return bodies, ["  <equality>", *(f"    <connect {join}/>" for join in joins), "  </equality>"]


def inside_figures(bodies: Bodies) -> frozenset[str]:
    """Names of the scene's loose bodies that overlap a figure in the state last moved to."""
    d = bodies.engine[1]
    parts = bodies.geom_body[d.contact.geom[d.contact.dist < 0.0]]
    both = [(int(a), int(b)) for pair in parts for a, b in (pair, pair[::-1])]
    names = [bodies.names[a] for a, b in both if bodies.is_loose(a) and bodies.names[b].partition("/")[0].isdigit()]
    return frozenset(name.removeprefix("scene/") for name in names)


def overlaps(bodies: Bodies, figures: Sequence[str], scale: float) -> list[str]:
    """A sentence on each figure that is deep inside something, in the state last moved to."""
    m, d = bodies.engine
    deep = d.contact.dist < -OVERLAPS * scale
    deepest: dict[tuple[str, str], float] = {}
    for pair, depth in zip(d.contact.geom[deep], -d.contact.dist[deep]):
        names = []
        for geom in pair.tolist():
            first, _, rest = bodies.names[int(bodies.geom_body[geom])].partition("/")
            names.append(f"figure {figures[int(first)]!r}" if first.isdigit() else repr(rest or m.geom(geom).name))
        one, other = sorted(names, key=lambda name: not name.startswith("figure"))
        if one.startswith("figure") and one != other:
            deepest[one, other] = max(deepest.get((one, other), 0.0), float(depth))
    return [
        f"{one[0].upper()}{one[1:]} begins {depth:.2f} m inside {other}, which throws them apart. Give one of them "
        "another place."
        for (one, other), depth in deepest.items()
    ]


def things_of(bodies: Bodies, track: Sequence[tuple[Array, Array]]) -> tuple[Thing, ...]:
    """The bodies in recordings: their shapes, and places (B, 3) and orientations (B, 4) at every step."""
    out = []
    positions, orientations = (np.array([seen[k] for seen in track]) for k in (0, 1))
    for body in dict.fromkeys(shape.body for shape in bodies.shapes):
        shapes = tuple((s.kind, s.size, s.place, s.turn) for s in bodies.shapes if s.body == body)
        turns = rotations.continuous(orientations[:, body])
        name, mass = bodies.names[body].removeprefix("scene/"), float(bodies.masses[body])
        out.append(Thing(name, shapes, positions[:, body], turns, mass if bodies.is_loose(body) else 0.0))
    return tuple(out)
