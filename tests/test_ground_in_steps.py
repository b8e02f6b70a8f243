"""The ground that compiled code sees in a step, beside what the terrain says of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from poise.body.posing import motion_to_q
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Push
from poise.filter.preset import load_preset
from poise.filter.reference import ReferenceBuilder
from poise.filter.sensing import Given
from poise.filter.setup import Options
from poise.physics.state import velocities
from poise.terrain import Terrain
from tests.filter_runs import walk

Array = npt.NDArray[np.float64]


@pytest.mark.parametrize("spec", ["slope:12@40", "stairs:0.15,0.4@40", "step:0.1@40", "rough:0.3,1", "platform"])
def test_ground_in_a_step_equals_the_plain_one(spec: str) -> None:
    motion, character = walk()
    keys = [[0.0, 0.0, 0.0, 0.0, 5.0, 0.0], [0.3, 0.2, 0.1, 0.1, -5.0, 8.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    terrain = Terrain.platform(keys) if spec == "platform" else Terrain.parse(spec)
    terrain = terrain.placed(origin=motion.translations[0, 0, :2], heading=0.3, ground=character.floor)
    preset, dt = load_preset("recommended"), 1.0 / 60.0
    machine = SimulatedCharacter(character, preset, terrain, Options(), dt=dt, floor=character.floor)
    builder = ReferenceBuilder(machine.model, dt=dt, friction=0.8)
    builder.estimate(character.floor, 0.8, preset.end_effector.contact_time)
    q = motion_to_q(character, motion.resampled(dt * np.arange(40, dtype=np.float64)))
    v = velocities(machine.model, q, dt)
    w, lean, reach = preset.ground.frequency, preset.ground.lean_frequency, 0.25 * machine.scale
    cross = reach * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])

    def around(place: Array) -> tuple[float, Array]:
        middle, east, west, north, south = terrain.heights(cross + place, machine.time) - character.floor
        slope = np.array([east - west, north - south]) / (2.0 * reach)
        return float(middle + east + west + north + south) / 5.0, slope

    machine.start(q[0], v[0])
    rise, speed, bend, turn, turning = 0.0, 0.0, 0.0, np.zeros(2), np.zeros(2)
    for k in range(len(q) - 1):
        reference = builder.frame(q[k], v[k], (v[k + 1] - v[k]) / dt)
        pushes = [Push("chest", (200.0, 80.0, 0.0), 0.1, 0.1)] if 6 <= k < 12 else []
        scene = machine.sense(Given(reference, q[k + 1], v[k + 1], pushes))
        s, shift = machine.state, machine.goal.shift.copy()
        below = terrain.sample(s.centers[:, :2], machine.time)
        assert machine.problem.axes[:, 2] == pytest.approx(below.normal, abs=1e-14)
        up, radii = below.normal[:, 2], machine.model.point_radii
        assert scene.gaps == pytest.approx((s.centers[:, 2] - below.height) * up - radii, abs=1e-12)
        assert machine.problem.ground_velocities == pytest.approx(below.velocity, abs=1e-14)
        speed += dt * bend
        rise, turn = rise + dt * speed, turn + dt * turning
        target, slope = around(q[k, :2] + (2.0 / w) * v[k, :2] + shift)
        if k == 0:
            rise, speed = around(q[k, :2] + shift)[0], float(slope @ v[k, :2])
        bend = w * w * (target - rise) - 2.0 * w * speed
        size = max(float(np.linalg.norm(slope)), 1e-12)
        turning = lean * (np.arctan(size) / size * np.array([-slope[1], slope[0]]) - turn)
        follower = machine.follower.state
        assert follower[[0, 1, 2]] == pytest.approx([rise, speed, bend], rel=1e-9, abs=1e-9)
        assert follower[[6, 7, 9, 10]] == pytest.approx([*turn, *turning], rel=1e-9, abs=1e-9)
        machine.solve(reference, scene, *machine.lists(reference, scene))
        wanted, ground = machine.problem.wanted, machine.problem.wanted_heights
        assert ground == pytest.approx(terrain.heights(wanted, machine.time), abs=1e-12)
        machine.v = machine.v + dt * machine.last.result.a  # pyright: ignore[reportOptionalMemberAccess]
        machine.q = machine.model.integrate(machine.q, machine.v, dt)
        machine._finish()  # pyright: ignore[reportPrivateUsage]
