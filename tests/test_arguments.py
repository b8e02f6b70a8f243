# pyright: reportArgumentType=false
"""What is not a motion, character, terrain or push is refused in words wherever it is given."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import poise
from poise.core.errors import require, require_each
from tests.clips import sample_clip


@cache
def walk() -> poise.Motion:
    return sample_clip("walk", 0.3)


@cache
def figure() -> poise.Character:
    return poise.Character.fit(walk())


PUSH = poise.Push("chest", (1.0, 0.0, 0.0))

WRONG: dict[str, Callable[[], Any]] = {
    "motion is the str 'walk.bvh'; give a Motion: `poise.load(path)` reads one.": lambda: poise.simulate("walk.bvh"),
    "motion is None; give a Motion": lambda: poise.analyze(None),
    "character is the str 'adult'; give a Character: `poise.Character.fit(motion)` makes one": lambda: poise.simulate(
        walk(), "adult"
    ),
    "terrain is the str 'slope:5'; give a Terrain: `poise.Terrain.parse(": lambda: poise.simulate(
        walk(), terrain="slope:5"
    ),
    "pushes is a Push; give a list, each a Force: such as `poise.Push(": lambda: poise.simulate(walk(), pushes=PUSH),
    "pushes holds a tuple; each must be a Force": lambda: poise.simulate(walk(), pushes=[("chest", 150.0)]),
    "only is the str 'chest'; give a list": lambda: poise.simulate(walk(), only="chest"),
    "source is the str 'walk.bvh'; give a Motion or a Skeleton": lambda: poise.Character.fit("walk.bvh"),
    "source holds None; each must be a Motion": lambda: poise.Character.fit([None]),
    "actor is the str 'walk.bvh'; give a Motion": lambda: poise.track("walk.bvh", figure()),
    "character is the str 'raptor.toml'; give a Character": lambda: poise.track(walk(), "raptor.toml"),
    "motion is the str 'x'; give a Motion": lambda: poise.motion_to_q(figure(), "x"),
    "behavior is the int 3; give": lambda: poise.synthesize(3),
    "pushes is a Push; give a list": lambda: poise.synthesize("balance", pushes=PUSH, seconds=0.1),
    "clip is the str 'walk.bvh'; give a Motion": lambda: poise.synthesize("balance", clip="walk.bvh"),
    "scene is the int 3; give a Scene": lambda: poise.synthesize("balance", scene=3),
    "settings is a dict; give a Settings": lambda: poise.synthesize("balance", settings={}),
    "The force 150 is not three finite numbers": lambda: poise.Push("chest", "150"),
    "path is the int 3; give a text or a path.": lambda: poise.load(3),
    "path is None; give a text or a path.": lambda: poise.save(walk(), None),
    "degrees is the str 'steep'; give a number.": lambda: poise.Terrain.slope("steep"),
    "floor is the str 'low'; give a number.": lambda: poise.analyze(walk(), floor="low"),
    "times is 30; give all times": lambda: walk().resampled(30),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_thing_of_another_kind_is_refused_in_words(words: str) -> None:
    with pytest.raises(poise.InvalidValue) as raised:
        WRONG[words]()
    assert words in str(raised.value)


def test_what_is_needed_passes() -> None:
    require(int, type(None), one=1, none=None)
    require_each(str, names=["a", "b"], none=())
