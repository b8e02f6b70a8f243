"""Analyze

What does the physics of a clip say, before any simulation? How fast it falls, whether momentum stays constant in the
air, where the load would have to be and whether feet reach this place, and how tall a body would move like this. The
first clip is a walk that could be real. The second is an impossible hop: it hangs in the air as on the moon.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import poise
from poise.analysis import implied_scale

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


def tell(name: str) -> poise.Analysis:
    """Analyze a sample and print what was found."""
    found = poise.analyze(poise.load(poise.sample_path(name)))
    print(f"{name}: {found.mass:.0f} kg; {found.filter} before differences")
    for phase in found.phases[:6]:
        balance = "" if np.isnan(phase.inside_ratio) else f", in balance in {100 * phase.inside_ratio:.0f} % of it"
        print(f"  {phase.start_s:5.2f}–{phase.end_s:.2f} s  {phase.kind:<8}{' + '.join(phase.supports)}{balance}")
    for flight in found.flights:
        print(
            f"  falls with {flight.gravity_g:.2f} ± {flight.gravity_error / 9.81:.2f} g from {flight.start_s:.2f} s on"
        )
    residual = np.linalg.norm(found.forces.residual_force, axis=1)
    print(
        f"  no contact explains {100 * np.sqrt(np.mean(residual**2)) / (9.81 * found.mass):.1f} % of its weight (rms)"
    )
    print(f"  {implied_scale(found)}")
    return found


def draw(found: poise.Analysis, path: Path) -> None:
    """From the side: heights of the center of mass (dark), and of the parabola it should follow in the air (red)."""
    picture = Image.new("RGB", (640, 480), "white")
    pen = ImageDraw.Draw(picture)

    def spot(time: float, height: float) -> tuple[float, float]:
        return 20.0 + 600.0 * time / found.times[-1], 460.0 - 95.0 * (height - found.floor)

    pen.line([spot(t, z) for t, z in zip(found.times, found.com[:, 2])], fill=(40, 44, 52), width=3)
    for flight in found.flights:
        times = np.linspace(0.0, flight.duration, 40)
        rise = flight.velocity[2] + 0.5 * (9.81 - flight.gravity) * flight.duration  # the same ends, in 9.81
        fall = flight.start[2] + rise * times - 0.5 * 9.81 * times**2
        pen.line([spot(flight.start_s + t, z) for t, z in zip(times, fall)], fill=(214, 69, 47), width=3)
    pen.line([spot(0.0, found.floor), spot(found.times[-1], found.floor)], fill=(150, 156, 166))
    picture.save(path)


def main() -> None:
    """Measure both, draw the hop, check."""
    OUT.mkdir(exist_ok=True)
    walk, hop = tell("walk"), tell("hover_hop")
    draw(hop, OUT / "hop.png")
    print(f"See {OUT / 'hop.png'}.")
    check(walk, hop)


def check(walk: poise.Analysis, hop: poise.Analysis) -> None:
    """The walk stands on its feet; the hop does not fall as it should."""
    assert walk.support.is_loaded.all()
    assert np.mean(walk.support.error <= 1.0) > 0.95
    assert {p.kind for p in walk.phases} == {"single", "double"}
    assert hop.flights[0].gravity_g < 0.3
    assert implied_scale(hop).size > 3.0


if __name__ == "__main__":
    main()
