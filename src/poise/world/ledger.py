"""What a world counts while it runs: contacts, how well their law is kept, and where energy came from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


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
