"""The door for people who make methods: examples in docstrings run, and a wrong value is refused where it is given."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import types
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
import poise.step as steps
from poise import Character, Motion, locomotion
from poise.core.errors import InvalidValue
from poise.core.rotations import IDENTITY
from poise.locomotion import Locomotion
from poise.physics import Model, State, Trajectory, model_of, trajectory
from poise.step import AtLeast, Contacts, Equal, Objective, Step, Within, solve_step
from poise.step import quantities as y
from poise.step.problem import as_rows
from tests.filter_runs import walk

DT = 1.0 / 120.0
FAMILIES = ("analysis", "body", "edit", "io", "locomotion", "physics", "terrain", "tracking")
PUBLIC = {
    f"{home.__name__}.{name}": getattr(home, name)
    for home in (poise, steps, y, *(import_module(f"poise.{name}") for name in FAMILIES))
    for name in home.__all__
    if isinstance(getattr(home, name), type | types.FunctionType)
    and not isinstance(getattr(home, name), types.GenericAlias)
}


def example(thing: Any) -> str:
    """The lines after ">>>" and "..." in the docstring of a thing itself."""
    found = re.findall(r"^ *(?:>>>|\.\.\.) ?(.*)$", thing.__dict__.get("__doc__") or inspect.getdoc(thing) or "", re.M)
    return "\n".join(found)


@cache
def _taken() -> tuple[Motion, Character, Trajectory, Model, Locomotion]:
    """The parts of it that no example changes."""
    motion, character = walk()
    motion = motion.cut(0.0, 0.5)
    examples = locomotion.build([poise.load(poise.sample_path("walk"))])
    return motion, character, trajectory(motion, character, DT), model_of(character), examples


def scene() -> dict[str, Any]:
    """What the examples take as known: a clip, its character, a state in it, a step and a list."""
    motion, character, clip, model, examples = _taken()
    k = 20
    state = State(model).at(clip.q[k], clip.v[k])
    step = Step(state, Contacts.on_floor(state, character.floor), dt=DT)
    objectives = [
        Objective(y.JointTorque((6, None)), 0.0, 1e-4, "torque"),
        Objective(y.BodyAngularAcceleration(), 0.0, 1.0, "pose"),
        Objective(y.PlaceAcceleration(1), np.zeros(3), 1.0, "root"),
        Objective(y.ContactCoefficients(), 0.0, 1e-6, "contact"),
    ]
    push = poise.Push("chest", (0.0, 150.0, 0.0), start=0.1, duration=0.1)
    names = {name: getattr(steps, name) for name in steps.__all__} | {name: getattr(y, name) for name in y.__all__}
    return names | {
        "poise": poise, "np": np, "dataclasses": dataclasses, "warnings": warnings, "y": y, "State": State,
        "motion": motion, "character": character, "clip": clip, "k": k, "a": clip.a[k], "model": model, "state": state,
        "step": step, "objectives": objectives, "push": push, "support_center": state.com()[:2],
        "examples": examples,
        "actor": State(model).at(clip.q[k], clip.v[k]), "path": clip.q,
    }  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, name: str) -> Path:
    """A folder with the files that the example of a name reads."""
    motion, character = walk()
    lines = example(PUBLIC[name])
    if "walk.bvh" in lines:
        poise.save(motion.cut(0.0, 0.4), tmp_path / "walk.bvh")
    if "raptor.toml" in lines:
        poise.save_character(character, tmp_path / "raptor.toml")
    (tmp_path / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n  OFFSET 0 0\n}\n")
    return tmp_path


SLOW = ("poise.Analysis", "poise.edit.FlightChange", "poise.edit.repair", "poise.track", "poise.locomotion.")
"""Examples that take long, by how their names begin."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name.startswith(SLOW) else name for name in PUBLIC]
)
def test_every_public_name_has_an_example_that_runs(name: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = example(PUBLIC[name])
    assert lines, f"{name} has no example"
    monkeypatch.chdir(files)
    known = scene()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(lines, name, "exec"), known)
    assert os.getcwd() == str(files)


def up(count: int) -> np.ndarray:
    """Normals of level ground."""
    return np.tile([0.0, 0.0, 1.0], (count, 1))


def still(turned: np.ndarray = IDENTITY, rest: np.ndarray = IDENTITY) -> Motion:
    """One joint in one frame."""
    skeleton = poise.Skeleton(("hips",), np.array([-1]), np.zeros((1, 3)), rest[None])
    return Motion(skeleton, np.zeros(1), np.zeros((1, 1, 3)), turned[None, None])


AXES = np.tile(np.eye(3), (2, 1, 1))
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "point below zero": (lambda: y.PointAcceleration(np.array([0, -1]), AXES), "points count from 0"),
    "flags as points": (lambda: y.PointAcceleration(np.array([True, False]), AXES), "bool"),
    "rotation of no length": (lambda: still(np.zeros(4)), "joint 'hips' in frame 0 has length 0, not 1"),
    "rotation of another length": (lambda: still(np.array([1.02, 0.0, 0.0, 0.0])), "unit quaternions"),
    "rest rotation of no length": (lambda: still(rest=np.zeros(4)), "joint 'hips' has length 0, not 1"),
    "rest rotation of nan": (lambda: still(rest=np.full(4, np.nan)), "unit quaternions"),
    "points of halves": (lambda: y.PointAcceleration(np.array([0.5, 1.0]), AXES), "float64"),
    "axes of other points": (lambda: y.PointAcceleration([0], AXES), r"axes of 1 points has shape \(2, 3, 3\)"),
    "axes not finite": (lambda: y.PointAcceleration([0, 1], np.nan * AXES), "finite"),
    "others of other points": (lambda: y.ContactAcceleration(np.array([0, 1]), np.array([-1]), AXES), "others"),
    "force of no point": (lambda: y.ContactForce([-3]), "points count from 0"),
    "body below zero": (lambda: y.PlaceAcceleration(-1), "body is -1"),
    "half a body": (lambda: y.BodyAngularAcceleration(1.5), "body is 1.5"),  # type: ignore[arg-type]
    "short offset": (lambda: y.PlaceAcceleration(1, np.zeros(2)), r"offset has shape \(2,\)"),
    "words as offset": (lambda: y.PlaceAcceleration(1, ["a", "b", "c"]), "give numbers"),  # type: ignore[arg-type]
    "flat along": (lambda: y.PlaceAcceleration(1, along=np.zeros(3)), r"along has shape \(3,\)"),
    "long axis": (lambda: y.AxisAcceleration(1, np.zeros(4)), r"axis has shape \(4,\)"),
    "dofs from behind": (lambda: y.JointAcceleration((-3, None)), "give the first dof"),
    "one dof": (lambda: y.JointTorque(3), "give the first dof"),  # type: ignore[arg-type]
    "damping below zero": (lambda: y.JointTorque((0, 2), np.array([1.0, -1.0])), "below zero"),
    "axes twice": (lambda: y.ComAcceleration("xx"), "give some of x, y and z"),
    "no axes": (lambda: y.ComAcceleration(""), "give some of x, y and z"),
    "tree below zero": (lambda: y.RootWrench(-1), "number of a tree"),
    "no quantity": (lambda: Objective("hand", 0.0), "give a quantity"),  # type: ignore[arg-type]
    "class for quantity": (lambda: Equal(y.RootWrench, 0.0), "give a quantity"),  # type: ignore[arg-type]
    "weight below zero": (lambda: Objective(y.RootWrench(), 0.0, -1.0, "root"), "root: weight is -1.0"),
    "weight not finite": (lambda: Objective(y.RootWrench(), 0.0, float("nan")), "weight is nan"),
    "target not finite": (lambda: Equal(y.RootWrench(), float("inf")), "target is inf"),
    "list as target": (lambda: Objective(y.RootWrench(), [0.0] * 6), "give a number or an array"),  # type: ignore[arg-type]
    "bound of nan": (lambda: AtLeast(y.RootWrench(), float("nan")), "lower is nan"),
    "bounds crossed": (lambda: Within(y.RootWrench(), 2.0, 1.0), "lower 2 is above upper 1"),
    "contacts of names": (lambda: Contacts(["toe"], up(1)), "Contacts.at"),  # type: ignore[arg-type]
    "contacts of flags": (lambda: Contacts(np.array([True]), up(1)), "give an array of indices"),
    "normals of other contacts": (lambda: Contacts(np.array([0, 1]), up(3)), r"has shape \(3, 3\)"),
    "normals not finite": (lambda: Contacts(np.array([0]), np.nan * up(1)), "finite"),
    "long normals": (lambda: Contacts(np.array([0, 1]), 2.0 * up(2)), "give 1"),
    "normals that are long and short": (lambda: Contacts(np.array([0, 1]), up(2) * [[2.0**0.5], [0.0]]), "give 1"),
    "no normals": (lambda: Contacts(np.array([0]), np.zeros((1, 3))), "give 1"),
    "frictions of other contacts": (lambda: Contacts(np.array([0, 1]), up(2), np.array([0.5])), "friction has shape"),
    "grips of other contacts": (lambda: Contacts(np.array([0]), up(1), grips=np.array([True, True])), "grips"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_a_wrong_value_is_refused_where_it_is_given(case: str) -> None:
    make, words = WRONG[case]
    with pytest.raises(InvalidValue, match=words):
        make()


def test_a_number_so_large_that_its_square_is_not_finite_is_taken() -> None:
    offset = np.array([1e200, -1e200, 0.0])
    assert y.PlaceAcceleration(1, offset).offset is offset
    with pytest.raises(InvalidValue, match="finite"):
        y.PlaceAcceleration(1, np.array([1e200, -np.inf, 0.0]))


def test_nobody_can_change_the_weight_that_lists_share() -> None:
    term = Objective(y.RootWrench(), 0.0, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        as_rows(term.weight, 6, term)[0] = 3.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s: Step(s, Contacts(np.array([0, 999]), up(2)), dt=DT), "no contact point 999"),
        (lambda s: Step(s, Contacts(np.array([-1]), up(1)), dt=DT), "no contact point -1"),
        (lambda s: Step(s, Contacts(np.array([0]), up(1), others=np.array([99])), dt=DT), "no contact point 99"),
        (lambda s: Step(s, dt=float("nan")), "positive time"),
        (lambda s: Step(s, dt=float("inf")), "positive time"),
        (lambda s: Step(s, dt=DT, external=np.zeros(3)), "give 66 finite numbers"),
        (lambda s: Step(s, dt=DT, external=np.full(66, np.nan)), "give 66 finite numbers"),
        (lambda s: Contacts.at(s, ["no toe"]), "no contact point 'no toe'"),
        (lambda s: y.PointAcceleration(["no toe"], np.eye(3)[None]).rows(Step(s, dt=DT)), "no contact point 'no toe'"),
        (lambda s: y.JointAcceleration((0, 67)).rows(Step(s, dt=DT)), "this model has 66"),
        (lambda s: y.JointTorque((60, 70)).rows(Step(s, dt=DT)), "this model has 66"),
        (lambda s: y.RootWrench(1).rows(Step(s, dt=DT)), "no tree 1"),
        (lambda s: y.ComAcceleration(of=2).rows(Step(s, dt=DT)), "no tree 2"),
        (lambda s: s.at(s.q[:-1], s.v), r"shapes \(86,\) and \(66,\)"),
        (lambda s: solve_step(Step(s, dt=DT), [y.RootWrench()]), "stands in a list"),  # type: ignore[list-item]
    ],
)
def test_what_a_model_does_not_have_is_refused(make: Callable[[State], Any], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        make(scene()["state"])


def test_a_motion_of_another_skeleton_has_no_coordinates() -> None:
    with pytest.raises(InvalidValue, match="belongs to another skeleton"):
        poise.motion_to_q(scene()["character"], poise.load(poise.sample_path("quadruped")))


def test_what_is_no_list_of_terms_is_refused_by_the_filter() -> None:
    known = scene()
    for own, words in ((lambda *_: 5, "return a list"), (lambda *_: [y.RootWrench()], "stands in a list")):
        with pytest.raises(InvalidValue, match=words):
            poise.simulate(known["motion"], known["character"], options=poise.Options(objectives=(own,)))  # type: ignore[arg-type]


def test_points_go_by_name_as_by_index() -> None:
    known = scene()
    state, step, model = known["state"], known["step"], known["model"]
    names = [model.points[k].name for k in (3, 1)]
    by_name, by_index = (y.PointAcceleration(points, AXES) for points in (names, np.array([3, 1])))
    assert np.array_equal(by_name.rows(step).on_a, by_index.rows(step).on_a)
    results = [solve_step(step, [*known["objectives"], Objective(q, 1.0, 10.0)]).a for q in (by_name, by_index)]
    assert np.array_equal(results[0], results[1])
    assert Contacts.at(state, names).points.tolist() == [3, 1]
    force = y.ContactForce(names).rows(step).on_lambda
    assert force is not None
    expected = y.ContactForce(np.array([3, 1])).rows(step).on_lambda
    assert expected is not None
    assert np.array_equal(force, expected)
