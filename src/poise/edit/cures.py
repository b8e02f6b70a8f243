"""Cures that a check names, tried."""

from __future__ import annotations

from dataclasses import dataclass

from poise.analysis.analyze import Analysis, analyze
from poise.core.errors import PoiseError
from poise.edit.repair import repair
from poise.edit.retime import retime
from poise.edit.spin import spin


@dataclass(frozen=True)
class Cures:
    """Tries the cures that take long: `poise.check.finding.Trials`."""

    def swing(self, clip: Analysis, span: tuple[int, int]) -> tuple[float, float] | None:
        """Swing limbs against the spin of a flight: degrees off steady spin then, and degrees a limb turns; or None."""
        try:
            report = spin(clip.motion, clip.character, flights=[span], by="pose", verify=False).report
        except PoiseError:
            return None
        left, turn = report["after"]["flights"][0]["turn_off_steady_max_deg"], report["changed"]["joint_angle_max_deg"]
        return None if left is None or turn == 0.0 else (left, turn)

    def slower(self, clip: Analysis, factor: float) -> Analysis:
        """The clip played slower."""
        played = retime(clip.motion, clip.character, factor=factor, verify=False).motion
        return analyze(played, clip.character, floor=clip.floor)

    def repaired(self, clip: Analysis) -> tuple[float, float, float, float] | None:
        """Repair the whole clip: force left before and after, largest turn [degrees] and shift [m]; or None."""
        try:
            report = repair(
                clip.motion, clip.character, terrain=clip.terrain, gravity=clip.gravity, friction=clip.friction,
                verify=False,
            ).report  # fmt: skip
        except PoiseError:
            return None
        before, after = report["before"]["force_rms"], report["after"]
        if after["force_rms"] >= before:
            return None
        return before, after["force_rms"], after["joint_change_max_deg"], after["root_change_max_m"]
