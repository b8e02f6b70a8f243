"""Gaps between capsules beside brute force, and which pairs are looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize

from poise.body import Capsule, Character
from poise.body.character import ball, figure
from poise.core import rotations
from poise.native import library
from poise.physics import State, model_of_scene
from poise.physics.collisions import CapsulePairs, Near, near_capsules
from tests.clips import first_cases
from tests.figures import random_state

Array = npt.NDArray[np.float64]


def rod(ends: list[Array], radius: float) -> Character:
    """One capsule floating about."""
    thing = ball("rod", radius, 1.0)
    capsule = Capsule(ends[0], ends[1], radius)
    return replace(thing, bodies=(replace(thing.bodies[0], capsules=(capsule,)),))


def two(first: tuple[Array, Array, float], second: tuple[Array, Array, float], turn: Array | None = None) -> Near:
    """What is told of two capsules given in the world, their bodies turned about at will."""
    turns = rotations.IDENTITY[None].repeat(2, axis=0) if turn is None else turn
    R = np.concatenate([np.eye(3)[None], rotations.to_matrix(turns)])
    places = np.array([[0.0, 0.0, 0.0], [0.3, -0.2, 0.1], [0.7, 0.4, -0.5]])
    local = [[R[k + 1].T @ (p - places[k + 1]) for p in c[:2]] for k, c in enumerate((first, second))]
    pairs = CapsulePairs([rod(one, radius) for one, radius in zip(local, (first[2], second[2]), strict=True)])
    near = pairs.near_pairs(places, R.reshape(3, 9), np.inf)
    np.testing.assert_array_equal(pairs.gaps_at(near.pairs, places, R.reshape(3, 9)), near.gaps)
    return near


def brute(first: tuple[Array, Array, float], second: tuple[Array, Array, float]) -> float:
    (p, q, r), (a, b, s) = first, second

    def square(x: Array) -> float:
        return float(np.sum((p + x[0] * (q - p) - a - x[1] * (b - a)) ** 2))

    starts = [np.array([i, j]) for i in (0.0, 0.5, 1.0) for j in (0.0, 0.5, 1.0)]
    found = [minimize(square, x, bounds=[(0, 1), (0, 1)], tol=1e-16, method="L-BFGS-B").fun for x in starts]
    return float(np.sqrt(min(found))) - r - s


@first_cases(10, "seed", range(40))
def test_gap_is_the_smallest_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = ((*(0.5 * rng.normal(size=(2, 3))), 0.1 * rng.random()) for _ in range(2))
    turns = rotations.normalize(rng.normal(size=(2, 4)))
    near = two(first, second, turns)
    assert near.gaps[0] == pytest.approx(brute(first, second), abs=2e-5)
    # points lie on the surfaces, the gap apart along the normal
    assert np.linalg.norm(near.normals[0]) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(near.firsts - near.seconds, near.gaps[:, None] * near.normals, atol=1e-12)
    for (p, q, radius), place, side in ((first, near.firsts[0], 1.0), (second, near.seconds[0], -1.0)):
        on_line = place + side * radius * near.normals[0]
        share = np.clip((on_line - p) @ (q - p) / ((q - p) @ (q - p)), 0.0, 1.0)
        np.testing.assert_allclose(on_line, p + share * (q - p), atol=1e-9)


def test_order_does_not_matter() -> None:
    for seed in range(10):
        first, second = ((*c, 0.05) for c in np.random.default_rng(seed).normal(size=(2, 2, 3)))
        one, other = two(first, second), two(second, first)
        np.testing.assert_allclose(one.gaps, other.gaps, atol=1e-12)
        np.testing.assert_allclose(one.normals, -other.normals, atol=1e-9)
        np.testing.assert_allclose(one.firsts, other.seconds, atol=1e-9)


@pytest.mark.parametrize(
    ("second", "place", "gap"),
    [
        # beside each other in part: the middle of what is common; then end to end, then the same with a turn about
        (([0.5, 1.0, 0.0], [2.0, 1.0, 0.0]), [0.75, 0.1, 0.0], 0.8),
        (([2.0, 1.0, 0.0], [0.5, 1.0, 0.0]), [0.75, 0.1, 0.0], 0.8),
        (([0.0, 1.0, 0.0], [1.0, 1.0, 0.0]), [0.5, 0.1, 0.0], 0.8),
        (([1.5, 0.0, 0.0], [3.0, 0.0, 0.0]), [1.1, 0.0, 0.0], 0.3),
        (([-1.5, 0.0, 0.0], [-2.0, 0.0, 0.0]), [-0.1, 0.0, 0.0], 1.3),
        # a ball beside the middle, beyond the end
        (([0.3, 0.0, 1.0], [0.3, 0.0, 1.0]), [0.3, 0.0, 0.1], 0.8),
        (([1.3, 0.4, 0.0], [1.3, 0.4, 0.0]), [1.06, 0.08, 0.0], 0.3),
    ],
)
def test_parallel_and_round_ones(second: tuple[list[float], list[float]], place: list[float], gap: float) -> None:
    first = (np.zeros(3), np.array([1.0, 0.0, 0.0]), 0.1)
    other = (np.array(second[0]), np.array(second[1]), 0.1)
    near = two(first, other)
    assert near.gaps[0] == pytest.approx(gap, abs=1e-12)
    np.testing.assert_allclose(near.firsts[0], place, atol=1e-12)
    back = two(other, first)
    np.testing.assert_allclose(back.seconds[0], place, atol=1e-12)
    np.testing.assert_allclose(back.firsts, near.seconds, atol=1e-12)


def test_balls() -> None:
    near = two((np.zeros(3), np.zeros(3), 0.5), (np.array([0.0, 3.0, 4.0]),) * 2 + (1.0,))  # type: ignore[arg-type]
    assert near.gaps[0] == pytest.approx(3.5)
    np.testing.assert_allclose(near.normals[0], [0.0, -0.6, -0.8])


@pytest.mark.parametrize(
    ("first", "second", "axis"),
    [
        # crossing lines part along what is orthogonal to both, towards the middles
        (([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), ([0.0, -1.0, 0.0], [0.0, 1.0, 0.0]), [0.0, 0.0, 1.0]),
        (([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), ([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), None),
        (([0.2, 0.0, 0.0], [0.2, 0.0, 0.0]), ([-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), None),
        (([0.2, 0.0, 0.0], [0.2, 0.0, 0.0]), ([0.2, 0.0, 0.0], [0.2, 0.0, 0.0]), [0.0, 0.0, 1.0]),
    ],
)
def test_lines_that_meet_have_a_normal(
    first: tuple[list[float], list[float]], second: tuple[list[float], list[float]], axis: list[float] | None
) -> None:
    near = two((np.array(first[0]), np.array(first[1]), 0.1), (np.array(second[0]), np.array(second[1]), 0.2))
    assert near.gaps[0] == pytest.approx(-0.3)
    assert np.linalg.norm(near.normals[0]) == pytest.approx(1.0)
    if axis is not None:
        np.testing.assert_allclose(np.abs(near.normals[0]), axis, atol=1e-12)
    else:
        assert near.normals[0, 0] == pytest.approx(0.0, abs=1e-12)


def _scene() -> tuple[CapsulePairs, State]:
    parts = (figure(), figure("child"), ball("ball", 0.1, 1.0))
    state = random_state(model_of_scene(parts), 3)
    return CapsulePairs(parts), state


def test_reach_leaves_out_the_far_ones_and_nothing_else() -> None:
    pairs, state = _scene()
    d = state.data
    every = pairs.near_pairs(d.xpos, d.xmat, np.inf)
    assert every.pairs.tolist() == list(range(len(pairs.pairs)))
    for reach in (-0.02, 0.0, 0.05, 0.3):
        near = pairs.near_pairs(d.xpos, d.xmat, reach)
        assert 0 < len(near.pairs) < len(pairs.pairs)
        assert near.pairs.tolist() == np.flatnonzero(every.gaps < reach).tolist()
        np.testing.assert_array_equal(near.gaps, every.gaps[near.pairs])
        np.testing.assert_array_equal(near.firsts, every.firsts[near.pairs])


def test_turning_the_world_turns_the_answer() -> None:
    pairs, state = _scene()
    xpos, xmat = state.data.xpos, state.data.xmat
    R = rotations.to_matrix(rotations.normalize(np.array([0.3, -0.5, 0.7, 0.2])))
    turned = pairs.near_pairs(
        xpos @ R.T + np.array([1.0, 2.0, 3.0]), (R @ xmat.reshape(-1, 3, 3)).reshape(-1, 9), np.inf
    )
    near = pairs.near_pairs(xpos, xmat, np.inf)
    np.testing.assert_allclose(turned.gaps, near.gaps, atol=1e-10)
    apart = near.gaps + pairs.radii[pairs.pairs].sum(axis=1) > 1e-6
    np.testing.assert_allclose(turned.normals[apart], (near.normals @ R.T)[apart], atol=1e-8)
    np.testing.assert_allclose(turned.firsts[apart], (near.firsts @ R.T + np.array([1.0, 2.0, 3.0]))[apart], atol=1e-8)


def test_gap_closes_at_the_relative_velocity_along_the_normal() -> None:
    """Points on both bodies and the normal are what contacts need: the rate of the gap is theirs."""
    pairs, state = _scene()
    d, t = state.data, 1e-6
    near = pairs.near_pairs(d.xpos, d.xmat, 0.3)
    speeds = [
        state.body_point_motion(int(a), p)[0] - state.body_point_motion(int(b), q)[0]
        for a, b, p, q in zip(
            pairs.first_body[near.pairs], pairs.second_body[near.pairs], near.firsts, near.seconds, strict=True
        )
    ]
    ends: list[Array] = []
    for side in (t, -t):
        other = State(state.model).at(state.model.integrate(state.q, state.v, side), state.v)
        ends.append(pairs.gaps_at(near.pairs, other.data.xpos, other.data.xmat))
    closing = np.einsum("ki,ki->k", np.array(speeds), near.normals)
    np.testing.assert_allclose((ends[0] - ends[1]) / (2.0 * t), closing, atol=1e-4)


def test_left_and_right_of_a_standing_figure_are_alike() -> None:
    person = figure()
    pairs = CapsulePairs([person])
    model = model_of_scene([person])
    d = State(model).at(model.q_rest(), np.zeros(model.nv)).data
    near = pairs.near_pairs(d.xpos, d.xmat, np.inf)

    def told(mirrored: bool) -> dict[tuple[str, ...], list[float]]:
        out: dict[tuple[str, ...], list[float]] = {}
        for n, gap in zip(near.pairs, near.gaps, strict=True):
            names = [model.body_name(int(b)) for b in (pairs.first_body[n], pairs.second_body[n])]
            if mirrored:
                swap = {"Left": "Right", "Right": "Left"}
                names = [next((swap[s] + x[len(s) :] for s in swap if x.startswith(s)), x) for x in names]
            out.setdefault(tuple(sorted(names)), []).append(round(float(gap), 9))
        return {key: sorted(gaps) for key, gaps in out.items()}

    assert told(mirrored=False) == told(mirrored=True)


def test_which_pairs_are_looked_at() -> None:
    person = figure()
    pairs = CapsulePairs([person])
    bodies = person.bodies
    named = {
        tuple(sorted((bodies[a - 1].name, bodies[b - 1].name)))
        for a, b in zip(pairs.first_body, pairs.second_body, strict=True)
    }
    for a, b in (("LeftLeg", "RightLeg"), ("Chest", "LeftForeArm"), ("LeftHand", "LeftUpLeg"), ("Head", "LeftHand")):
        assert tuple(sorted((a, b))) in named
    for a, b in (("LeftUpLeg", "LeftLeg"), ("Chest", "LeftArm"), ("Abdomen", "LeftUpLeg"), ("Chest", "Hips")):
        assert tuple(sorted((a, b))) not in named
    assert (pairs.first_body != pairs.second_body).all()
    # a child whose hips are so narrow that the thighs overlap at rest
    narrow = replace(
        person,
        bodies=tuple(replace(b, offset=b.offset * [1, 0.5, 1]) if "UpLeg" in b.name else b for b in bodies),
    )
    left, right = (next(i for i, b in enumerate(bodies) if b.name == f"{s}UpLeg") + 1 for s in ("Left", "Right"))
    thighs = [bool(((p.first_body == left) & (p.second_body == right)).any()) for p in (pairs, CapsulePairs([narrow]))]
    assert thighs == [True, False]


def test_a_ball_may_meet_every_body_of_a_figure_and_another_ball() -> None:
    pairs = CapsulePairs([figure(), ball("one", 0.1, 1.0), ball("two", 0.1, 1.0)])
    last = len(figure().bodies) + 2
    met = pairs.first_body[pairs.second_body == last]
    assert set(met.tolist()) == {b + 1 for b, body in enumerate(figure().bodies) if body.capsules} | {last - 1}


@pytest.mark.skipif(library() is None, reason="there is no C compiler here")
def test_the_compiled_gaps_are_the_twins() -> None:
    rng = np.random.default_rng(7)
    bodies, count = 6, 40
    turns = rotations.to_matrix(rotations.normalize(rng.normal(size=(bodies, 4)))).reshape(-1, 9)
    starts, ends = np.round(rng.normal(size=(2, count, 3)), 1)
    ends[:8], turns[:2] = starts[:8], np.eye(3).ravel()  # points; parallel and crossing lines in two bodies
    starts[8:20], ends[8:20] = np.round(starts[8:20]), np.round(ends[8:20])
    body = rng.integers(0, bodies, count)
    body[:20] = rng.integers(0, 2, 20)
    places = np.round(rng.normal(size=(bodies, 3)))
    pair = np.stack(np.triu_indices(count, 1), axis=1)
    for reach in (np.inf, 0.5, -0.01):
        found = []
        for work in (near_capsules, near_capsules.twin):
            n = len(pair)
            near = Near(np.empty(n, np.int64), np.empty(n), np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3)))
            lines, radii = np.empty((count, 7)), np.full(count, 0.05)
            found.append([x[: work(pair, body, starts, ends, radii, places, turns, reach, lines, *near)] for x in near])
        assert len(found[0][0]) > 10
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
