"""From packet in to packet out: a sender, `poise track` or `poise simulate`, and a receiver, through real sockets.

Three processes. The sender stamps poses by the clock of the machine; a pose that comes out says by its time which
moment it shows. What is printed is the time between the two, and the same less the delay of the jitter buffer, which
the run reports. Halfway a taller actor takes over.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SECONDS = 20.0
WARM = 3.0
"""First poses that are left out: the actor is measured, the buffer finds its delay [s]."""
TALLER = 1.1
"""The second actor is so many times as tall as the first [1]."""
BAR = 8.0
"""At most, for 99 of 100 poses [ms]."""


def send(address: str, hz: float, seconds: float) -> None:
    """A walk, to and fro, stamped by the machine's clock since the start of the second that is given in the name."""
    import poise
    from poise.body.character import Character
    from poise.body.posing import motion_to_q
    from poise.edit import scale
    from poise.tracking.calibration import standing_pose
    from poise.tracking.protocols import LivePose, LiveSink
    from poise.tracking.protocols.vmc import Humanoid

    walk = poise.load(poise.sample_path("walk"))
    walk = walk.resampled(np.arange(int(walk.duration * hz)) / hz)
    # to the end, and back the same way slowly enough to be a motion again
    sink, count = LiveSink(address), walk.frame_count
    actors = [walk, scale(walk, TALLER, keep_time=True, verify=False).motion]
    people = [Character.fit(actor) for actor in actors]
    humans = [Humanoid(person, standing_pose(person)) for person in people]
    paths = [motion_to_q(person, actor) for person, actor in zip(people, actors, strict=True)]
    began = time.monotonic()
    for k in range(int(seconds * hz)):
        j = k % (2 * count - 2)
        j = j if j < count else 2 * count - 2 - j
        time.sleep(max(0.0, began + k / hz - time.monotonic()))
        stamp, who = time.monotonic() - float(sys.argv[5]), int(2 * k > seconds * hz)
        if address.startswith("vmc"):
            sink.send(humans[who].pose(paths[who][j], stamp))
        else:
            now = actors[who]
            sink.send(LivePose(now.skeleton, now.translations[j], now.rotations[j], stamp, k, "walk"))


def measure(command: list[str], protocol: str, hz: float) -> dict[str, float]:
    """Milliseconds from the moment a pose shows to its arrival, whole and less the buffer."""
    from poise.tracking.protocols import LiveSource

    zero = time.monotonic()
    with LiveSource("vmc:0") as back, tempfile.TemporaryDirectory() as folder, LiveSource(f"{protocol}:0") as probe:
        port = probe.receiver.port  # type: ignore[union-attr]
        probe.close()
        report = Path(folder, "report.json")
        words = [
            *command, "--live-from", f"{protocol}:{port}", "--live-to", f"vmc:127.0.0.1:{back.receiver.port}",  # type: ignore[union-attr]
            "--seconds", str(SECONDS), "--report", str(report),
        ]  # fmt: skip
        run = subprocess.Popen([sys.executable, "-m", "poise", *words], stderr=subprocess.DEVNULL)
        time.sleep(4.0)
        here = [
            sys.executable,
            "-m",
            "benchmarks.wire",
            "send",
            f"{protocol}:{port}",
            str(hz),
            str(SECONDS + 5.0),
            str(zero),
        ]
        sender = subprocess.Popen(here)
        seen: list[tuple[float, float]] = []
        while run.poll() is None:
            back.receiver.wait(0.05)
            for arrival, packet in back.receiver.take():
                for pose in back._decoder.read(packet):
                    if pose.time is not None:
                        seen.append((arrival - zero, arrival - zero - pose.time))
        sender.terminate()
        sender.wait()
        data = json.loads(report.read_text())
    ways = 1000.0 * np.array([way for at, way in seen if at > seen[0][0] + WARM])
    delay = data["buffer_ms"]["median"]
    own = data["processing_ms"]
    return {
        "poses": len(ways), "whole_median_ms": float(np.median(ways)), "whole_p99_ms": float(np.percentile(ways, 99)),
        "buffer_median_ms": delay, "less_buffer_p99_ms": float(np.percentile(ways, 99)) - delay,
        "processing_p99_ms": own["p99"], "processor_p99_ms": data["processor_ms"]["p99"],
        "takeover_ms": max(data["takeover_processor_ms"][1:], default=float("nan")),
        "skipped_steps": data["skipped_steps"],
    }  # fmt: skip


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, command in (("track child", ["track", "-c", "child"]), ("simulate", ["simulate"])):
        for protocol, hz in (("poise", 120.0), ("vmc", 60.0)):
            found = measure(command, protocol, hz)
            print(f"{name}, {protocol} at {hz:.0f} Hz in, VMC at 120 Hz out:")
            print(
                f"  {found['poses']:.0f} poses; packet to packet {found['whole_median_ms']:.1f} ms (99 %: "
                f"{found['whole_p99_ms']:.1f}); the buffer's own delay {found['buffer_median_ms']:.1f} ms; less that, "
                f"99 %: {found['less_buffer_p99_ms']:.1f} ms (bar {BAR:g}); "
                f"in the run {found['processing_p99_ms']:.1f} ms, of which the processor worked for it "
                f"{found['processor_p99_ms']:.1f} ms, {found['takeover_ms']:.1f} ms where another actor took over; "
                f"{found['skipped_steps']:.0f} steps skipped"
            )


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "send":
        send(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
