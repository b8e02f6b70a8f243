"""What a synthesized run did, measured step by step: forces, work, penetration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poise.synthesis.surroundings import Ground

if TYPE_CHECKING:
    from poise.step import StepResult
    from poise.synthesis.synthesizer import Synthesizer

Array = npt.NDArray[np.float64]


@dataclass
class Audit:
    """Extremes and sums over a run.

    Attributes:
        root_force, root_moment: Largest wrench that held the root, by inverse dynamics [N], [N m].
        cone: Largest excess of a tangential force over μ times the normal one [N].
        penetration: Deepest point below a surface [m].
        contact_work: Work that contacts put in, by true displacements [J].
        joint_work: Work of the joints, in and out added up [J].
        torque: Largest joint torque [N m].
    """

    root_force: float = 0.0
    root_moment: float = 0.0
    cone: float = 0.0
    penetration: float = 0.0
    contact_work: float = 0.0
    joint_work: float = 0.0
    torque: float = 0.0
    step_seconds: list[float] = field(default_factory=list)

    def take(self, figure: Synthesizer, result: StepResult, ground: Ground, moved: Array) -> None:
        """Take in one step.

        Args:
            figure: After the step.
            result: Of the step.
            ground: Below the points before it.
            moved: Way of each contact point in it [m], shape (P, 3).
        """
        forces, dt = figure.forces, figure.settings.dt
        wrench = figure.root_wrench
        self.root_force = max(self.root_force, float(np.linalg.norm(wrench[:3])))
        self.root_moment = max(self.root_moment, float(np.linalg.norm(wrench[3:])))
        pressing = np.einsum("pi,pi->p", forces, ground.normals)
        across = forces - pressing[:, None] * ground.normals
        self.cone = max(self.cone, float((np.linalg.norm(across, axis=1) - ground.friction * pressing).max(initial=0.0)))
        self.penetration = max(self.penetration, float(-ground.gaps[ground.gaps > -0.2].min(initial=0.0)))
        self.contact_work += float(np.maximum(np.einsum("pi,pi->p", forces, moved), 0.0).sum())
        self.joint_work += float(np.abs(result.torque[6:] * figure.v[6:]).sum()) * dt
        self.torque = max(self.torque, float(np.abs(result.torque[6:]).max()))
