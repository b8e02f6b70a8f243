"""What a world counts while it runs: contacts, how well their law is kept, and where energy came from."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from poise.core.typing import Array
from poise.physics.mujoco_bodies import Bodies
from poise.physics.touching import Touches
from poise.world.contacts import Impulses


class Ledger:
    """Numbers of every step, and sums over them.

    Attributes:
        work: Of figures, helpers and pulls on the bodies so far [J].
        helped: Impulse of helpers so far [N s].
    """

    def __init__(self) -> None:
        self.work = self.helped = 0.0
        self._exchanged = self._risen = 0.0
        self._least = math.inf
        self.start_count()

    def start_count(self) -> None:
        """Count steps from now on; sums of energy go on."""
        self._steps: dict[str, list[float]] = {
            name: [] for name in ("residual", "penetration", "momentum", "contacts", "cut")
        }

    def note(self, **numbers: float) -> None:
        """Numbers of a step: residual [m/s], penetration [m], momentum error [N s], contacts, cut (0 or 1)."""
        for name, number in numbers.items():
            self._steps[name].append(number)

    def exchange(self, work: float) -> None:
        """Work that figures did on bodies in a step [J]."""
        self.work += work
        self._exchanged += abs(work)

    def weigh(self, energy: float) -> None:
        """Take in the energy of the bodies [J]; what work does not explain may not rise."""
        unexplained = energy - self.work
        self._least = min(self._least, unexplained)
        self._risen = max(self._risen, unexplained - self._least)

    def report(self) -> dict[str, Any]:
        """What a run's report says of it under "scene"."""
        steps = {name: np.array(values or [0.0]) for name, values in self._steps.items()}
        return {
            "contacts_mean": float(steps["contacts"].mean()),
            "contact_residual_p95_m_s": float(np.percentile(steps["residual"], 95)),
            "cut_force_share": float(steps["cut"].mean()),
            "penetration_p95_m": float(np.percentile(steps["penetration"], 95)),
            "penetration_max_m": float(steps["penetration"].max()),
            "momentum_error_max_Ns": float(steps["momentum"].max()),
            "helper_impulse_Ns": self.helped,
            "energy_exchanged_J": self._exchanged,
            "energy_error_max_J": self._risen,
        }


def note_step(
    ledger: Ledger,
    bodies: Bodies,
    carried: Collection[int],
    touches: Touches,
    found: Impulses,
    largest: Array,
    *,
    wrong: float,
    free: Array,
    v: Array,
) -> None:
    """Note what the report tells of a step.

    Args:
        ledger: Where it is noted.
        bodies: Of the world.
        carried: Those with a given motion.
        touches: Contacts of bodies, K of them.
        found: The first K impulses are theirs; joint limits come after them.
        largest: Largest normal impulse of each contact [N s], the first K are theirs.
        wrong: How far figures are from what was expected [m/s].
        free, v: Velocities after a step without contacts, and at its beginning, shapes (nv,).
    """
    count = len(touches.gaps)
    p, on = found.p[:count], bodies.figure_of[touches.trees]
    ledger.note(
        contacts=float(count - len(bodies.apart) + bodies.asleep_count),
        residual=max(wrong, float(found.residual[:count].max(initial=0.0))),
        cut=float((p[:, 0] > (1.0 - 1e-9) * largest[:count]).any()),
        penetration=float(np.max(-touches.gaps, initial=bodies.asleep_depth)),
    )
    k, side = np.nonzero(on >= 0)
    if len(k):
        given, still = bodies.impulses(touches, p)
        ledger.note(momentum=float(np.abs(bodies.momentum(found.v - free) - still + given).max()))
    others = on[k, 1 - side] < 0
    k, side = k[others], 1 - side[others]
    if carried:
        is_carried = np.isin(touches.bodies[:, ::-1], list(carried))
        more, at = np.nonzero(is_carried & (touches.trees >= 0) & (on < 0))
        k, side = np.append(k, more), np.append(side, at)
    ledger.exchange(bodies.work(touches, p, k, side, 0.5 * (v + found.v)))
