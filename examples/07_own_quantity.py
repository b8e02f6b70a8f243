"""Your own quantity

A figure carries a box: its hands stay as far apart as in the clip. Poise has no such quantity, so this file makes one.
It needs its rows only: how its acceleration depends on those of the joints, ÿ = A a + c. With `error` a servo can
follow it. The check compares the rows with differences of the distance itself.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import poise
from poise.filter.reference import ReferenceFrame
from poise.physics import State, model_of
from poise.show import record
from poise.step import Objective, Quantity, Rows, Step, follow
from poise.step.quantities import PlaceAcceleration

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


@dataclass(frozen=True)
class Distance(Quantity):
    """Second rate of the distance d of two bodies [m/s²]: n · (p̈ − q̈) + (|ṗ − q̇|² − ḋ²) / d, n = (p − q) / d."""

    one: str
    other: str

    def value(self, state: State) -> float:
        return float(np.linalg.norm(state.body_place(self.one) - state.body_place(self.other)))

    def error(self, state: State, actor: State) -> np.ndarray:
        return np.array([self.value(actor) - self.value(state)])

    def rows(self, step: Step) -> Rows:
        p, q = (PlaceAcceleration(name).rows(step) for name in (self.one, self.other))
        d, on_a = self.value(step.state), p.on_a - q.on_a
        n, speed = (step.state.body_place(self.one) - step.state.body_place(self.other)) / d, on_a @ step.state.v
        return Rows((n @ on_a)[None], np.array([n @ (p.c - q.c) + (speed @ speed - (n @ speed) ** 2) / d]))


APART = Distance("left_hand", "right_hand")


def main() -> None:
    """Shove a hand, with and without a box in both."""
    OUT.mkdir(exist_ok=True)
    shove = poise.Push("left_hand", force=(0.0, 60.0, 0.0), start=0.6, duration=0.3)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.0)
    character = poise.Character.fit(motion)
    state, still = State(model_of(character)), np.zeros(character.nv)

    def carry(step: Step, reference: ReferenceFrame) -> list[Objective]:
        return [follow(step, APART, state.at(reference.q, reference.v), reference.a, frequency=20.0, weight=300.0)]

    off = {}
    for name, terms in {"empty hands": (), "with a box": (carry,)}.items():
        result = poise.simulate(motion, character, pushes=[shove], options=poise.Options(objectives=terms))
        apart = [np.array([APART.value(state.at(q, still)) for q in path]) for path in (result.q, result.reference_q)]
        off[name] = float(np.abs(apart[0] - apart[1]).max())
        print(f"{name}: hands up to {100 * off[name]:.1f} cm nearer or farther than in the clip")
        record(poise.scene_of(result), OUT / f"{name}.png", times=[0.5, 0.8, 1.0])
    check(off, state, poise.motion_to_q(character, motion)[30])


def check(off: dict[str, float], state: State, q: np.ndarray) -> None:
    """The hands hold the box; and the rows are what differences of the distance say."""
    assert off["with a box"] < 0.2 * off["empty hands"]
    model, (v, a) = state.model, np.random.default_rng(0).normal(size=(2, state.model.nv))
    near = [APART.value(state.at(model.integrate(q, t * v + 0.5 * t * t * a, 1.0), v)) for t in (-1e-4, 0.0, 1e-4)]
    rows = APART.rows(Step(state.at(q, v), dt=0.01))
    assert abs((near[0] - 2.0 * near[1] + near[2]) / 1e-8 - (rows.on_a @ a + rows.c)[0]) < 1e-3


if __name__ == "__main__":
    main()
