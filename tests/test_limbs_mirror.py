"""Limbs without telling names are paired by the plane that mirrors the rest pose."""

from __future__ import annotations

from poise.body import fit
from poise.body.anatomy import gather_poses
from poise.body.joint_tree import JointTree
from tests.test_limbs import Row, figure, limbs

Place = tuple[float, float, float]


def chain(first: int, hub: str, *offsets: Place) -> list[Row]:
    """Nameless joints one after the other: "n4", "n5" …"""
    hubs = [hub, *(f"n{first + n}" for n in range(len(offsets)))]
    return [(f"n{first + n}", hubs[n], offset) for n, offset in enumerate(offsets)]


def beast(*, hind_foot: float = 0.0, tail: float = 0.1) -> list[Row]:
    """Four legs on one joint, a neck toward +x and a tail; crosswise the legs are more alike in length."""
    rows: list[Row] = [("n0", "", (0.0, 0.0, 1.0))]
    for first, ahead, side, shank in (
        (1, 0.5, 0.2, -0.5),
        (4, 0.5, -0.2, -0.46),
        (7, -0.5, 0.2, -0.46),
        (10, -0.5, -0.2, -0.5),
    ):
        rows += chain(first, "n0", (ahead, side, -0.1), (0.05, 0.0, -0.4), (-0.05, 0.0, shank))
    rows += chain(13, "n9", (-hind_foot, 0.0, 0.0)) if hind_foot else []
    rows += chain(14, "n0", (0.7, 0.0, 0.2), (0.2, 0.0, 0.3), (0.2, 0.0, 0.1))
    return rows + chain(17, "n0", (-0.6, 0.0, 0.0), (-tail, 0.0, -tail), (-tail, 0.0, -tail))


def test_nameless_legs_are_paired_side_by_side_not_by_their_lengths() -> None:
    found = limbs(fit(figure(beast()).skeleton))
    assert {name: bodies[0] for name, bodies in found.items() if "leg" in name} == {
        "left_front_leg": "n1", "right_front_leg": "n4", "left_hind_leg": "n7", "right_hind_leg": "n10",
    }  # fmt: skip
    assert found["neck"][0] == "n14"
    assert found["tail"][0] == "n17"


def test_a_tail_as_long_as_a_hind_leg_is_not_paired_with_it() -> None:
    found = limbs(fit(figure(beast(hind_foot=0.25, tail=0.26)).skeleton))
    assert found["left_hind_leg"][0] == "n7"
    assert found["right_hind_leg"][0] == "n10"
    assert found["tail"][0] == "n17"


def test_short_arms_beside_the_trunk_of_a_tyrannosaur_are_arms() -> None:
    rows: list[Row] = [
        ("n0", "", (0.0, 0.0, 2.5)),
        *chain(1, "n0", (0.2, 0.0, 0.3), (1.2, 0.0, -0.1), (0.5, 0.0, -0.1)),
    ]
    rows += chain(4, "n3", (0.2, 0.0, 0.3), (0.4, 0.0, 0.3), (0.5, 0.0, 0.0))
    for first, side in ((7, 0.2), (10, -0.2)):
        rows += chain(first, "n3", (0.1, side, -0.1), (0.1, 0.0, -0.2), (0.2, 0.0, -0.1))
    for first, side in ((13, 0.45), (16, -0.45)):
        rows += chain(first, "n0", (0.0, side, 0.0), (0.3, 0.0, -1.0), (-0.4, 0.0, -0.8), (0.1, 0.0, -0.6))[:3]
    rows += chain(20, "n0", (-0.4, 0.0, 0.1), (-1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    found = limbs(fit(figure(rows).skeleton))
    assert found["left_arm"][-1] == "n9"
    assert found["right_arm"][-1] == "n12"
    assert found["neck"][0] == "n4"


def test_no_joint_is_the_image_of_two() -> None:
    """Four legs that begin at one place below a trunk have no mirror image in it."""
    rows: list[Row] = [("n0", "", (0.0, 0.0, 0.5)), ("n1", "n0", (0.0, 0.0, 0.1)), ("n2", "n0", (0.0, 0.0, 0.5))]
    rows += [(f"n{n}", "n0", (0.0, 0.0, -0.1)) for n in range(3, 7)]
    assert JointTree(gather_poses(figure(rows).skeleton)).images is None
