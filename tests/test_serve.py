"""`poise serve` over real sockets: who may ask, what is refused, and that jobs give what Poise gives."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import poise
from poise.core.motion import Motion
from poise.serve import jobs as table
from poise.serve import server as served
from poise.serve.messages import packed
from poise.serve.server import Server
from tests.clips import sample_clip


def message_of(motion: Motion) -> dict[str, Any]:
    """A motion as a program sends it."""
    skeleton = motion.skeleton
    return {
        "names": list(skeleton.names),
        "parents": skeleton.parents.tolist(),
        "offsets": skeleton.offsets.tolist(),
        "rest_rotations": packed(skeleton.rest_rotations),
        "end_sites": [{"joint": s.joint, "offset": s.offset.tolist(), "name": s.name} for s in skeleton.end_sites],
        "times": motion.times.tolist(),
        "translations": packed(motion.translations),
        "rotations": packed(motion.rotations),
    }


def unpacked(data: dict[str, Any]) -> Any:
    return np.frombuffer(base64.b64decode(data["f8"]), dtype="<f8").reshape(data["shape"])


WALK = sample_clip("walk", 1.2)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def ask(server: Server, method: str, path: str, data: Any = None, **headers: str) -> tuple[int, dict[str, Any]]:
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60.0)
    body = data if isinstance(data, bytes) else None if data is None else json.dumps(data).encode()
    link.request(method, path, body, {"Authorization": f"Bearer {server.token}", **headers})
    answer = link.getresponse()
    out = answer.status, json.loads(answer.read())
    link.close()
    return out


def wait(server: Server, job: str, seconds: float = 120.0) -> dict[str, Any]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        status, seen = ask(server, "GET", f"/jobs/{job}")
        assert status == 200
        if seen["state"] not in ("waiting", "running"):
            return seen
        time.sleep(0.02)
    raise AssertionError("the job does not end")


def result(server: Server, name: str, data: Any) -> dict[str, Any]:
    status, job = ask(server, "POST", f"/jobs/{name}", data)
    assert status == 201
    seen = wait(server, job["job"])
    assert seen["state"] == "done", seen
    return ask(server, "GET", f"/jobs/{job['job']}/result")[1]


def failure(server: Server, name: str, data: Any) -> str:
    status, job = ask(server, "POST", f"/jobs/{name}", data)
    assert status == 201
    seen = wait(server, job["job"])
    assert seen["state"] == "failed"
    assert seen["error"]["kind"] != "Bug", seen
    status, said = ask(server, "GET", f"/jobs/{job['job']}/result")
    assert (status, said["error"]) == (409, seen["error"]["message"])
    return seen["error"]["message"]


def test_the_list_of_jobs_is_the_table() -> None:
    assert tuple(table.JOBS) == served.JOBS


def test_a_simulation_is_that_of_python(server: Server) -> None:
    push = {"body": "chest", "force": [0.0, 250.0, 0.0], "start": 0.3, "duration": 0.2}
    given = result(server, "simulate", {"motion": message_of(WALK), "pushes": [push]})
    own = poise.simulate(WALK, pushes=[poise.Push("chest", (0.0, 250.0, 0.0), start=0.3, duration=0.2)])
    np.testing.assert_allclose(unpacked(given["motion"]["rotations"]), own.motion.rotations, atol=1e-9)
    np.testing.assert_allclose(unpacked(given["motion"]["translations"]), own.motion.translations, atol=1e-9)
    assert np.abs(own.motion.translations - WALK.translations).max() > 0.01  # the push is felt
    assert not given["fell"]


def test_some_frames_only_keep_the_figure_and_the_times_of_pushes(server: Server) -> None:
    push = {"body": "chest", "force": [0.0, 250.0, 0.0], "start": 0.5, "duration": 0.2}
    given = result(server, "simulate", {"motion": message_of(WALK), "pushes": [push], "frames": [12, 32]})
    character = poise.Character.fit(WALK)
    part = WALK.frames(np.arange(12, 33))
    start = 0.5 - float(WALK.times[12])
    own = poise.simulate(part, character, pushes=[poise.Push("chest", (0.0, 250.0, 0.0), start=start)])
    np.testing.assert_allclose(unpacked(given["motion"]["rotations"]), own.motion.rotations, atol=1e-9)


def test_bodies_and_boxes(server: Server) -> None:
    middle = WALK.world[0][:, 0].mean(axis=0)
    body = {"name": "crate", "half": [0.2, 0.2, 0.2], "position": [middle[0], middle[1] + 3.0, 0.6], "mass": 8.0}
    box = {"half": [2.0, 2.0, 0.05], "position": [*WALK.world[0][-1, 0, :2].tolist(), 0.0]}
    given = result(server, "simulate", {"motion": message_of(WALK), "bodies": [body]})
    (crate,) = given["bodies"]
    assert crate["name"] == "crate"
    assert unpacked(crate["positions"])[-1, 2] == pytest.approx(poise.Character.fit(WALK).floor + 0.2, abs=0.03)
    given = result(server, "simulate", {"motion": message_of(WALK), "terrain": {"boxes": [box]}})
    rise = unpacked(given["motion"]["translations"])[-1, 0, 2] - WALK.translations[-1, 0, 2]
    floor = poise.Character.fit(WALK).floor
    assert rise == pytest.approx(0.05 - floor, abs=0.06)


def test_check_mend_and_repair(server: Server) -> None:
    sliding = WALK.translations.copy()
    sliding[:, 0, 1] += 0.25 * WALK.times
    slide = Motion(WALK.skeleton, WALK.times, sliding, WALK.rotations)
    found = result(server, "check", {"motion": message_of(slide)})
    assert not found["passes"]
    assert {f["name"] for f in found["findings"]} == {"skate"}
    assert all(f["tools"] == ["ground"] and f["cures"] for f in found["findings"])
    mended = result(server, "mend", {"motion": message_of(slide), "only": ["skate"]})
    assert not any(f["fails"] for f in mended["findings"])
    own = poise.edit.mend(slide, only=["skate"]).motion
    np.testing.assert_allclose(unpacked(mended["motion"]["rotations"]), own.rotations, atol=1e-9)
    assert mended["notes"]
    repaired = result(server, "repair", {"motion": message_of(WALK), "budget": "joint 3deg, root 2cm"})
    assert unpacked(repaired["motion"]["rotations"]).shape == WALK.rotations.shape


def test_overlays_and_a_flight_with_another_end(server: Server) -> None:
    hop = sample_clip("hover_hop")
    seen = result(server, "overlays", {"motion": message_of(hop)})
    clip = poise.analyze(hop)
    np.testing.assert_allclose(unpacked(seen["com"]), clip.com, atol=1e-12)
    np.testing.assert_allclose(unpacked(seen["forces"]), clip.forces.contact, atol=1e-6)
    flight = seen["flights"][0]
    end = [flight["end"][0] + 0.3, *flight["end"][1:]]
    thrown = result(
        server, "ballistic", {"motion": message_of(hop), "flight": flight["frames"], "end": end, "keep": "timing"}
    )
    moved = Motion(
        hop.skeleton, unpacked(thrown["motion"]["times"]), unpacked(thrown["motion"]["translations"]),
        unpacked(thrown["motion"]["rotations"]),
    )  # fmt: skip
    com = poise.analyze(moved, poise.Character.fit(hop)).com[flight["frames"][1]]
    np.testing.assert_allclose(com, end, atol=0.02)


@pytest.mark.long
def test_tracking(server: Server) -> None:
    other = message_of(WALK)
    other["offsets"] = (1.2 * WALK.skeleton.offsets).tolist()
    other["translations"] = packed(1.2 * WALK.translations)
    other["end_sites"] = [s | {"offset": [1.2 * x for x in s["offset"]]} for s in other["end_sites"]]
    given = result(server, "track", {"actor": message_of(WALK), "character": other})
    assert unpacked(given["motion"]["rotations"]).shape == WALK.rotations.shape


def test_a_job_can_be_cancelled_and_the_next_one_is_done(server: Server) -> None:
    long = sample_clip("walk")
    _, job = ask(server, "POST", "/jobs/repair", {"motion": message_of(long)})
    while ask(server, "GET", f"/jobs/{job['job']}")[1]["state"] == "waiting":
        time.sleep(0.01)
    status, seen = ask(server, "DELETE", f"/jobs/{job['job']}")
    assert (status, seen["state"]) == (200, "cancelled")
    assert ask(server, "GET", f"/jobs/{job['job']}/result")[0] == 409
    assert result(server, "check", {"motion": message_of(WALK)})["findings"] is not None


@pytest.mark.long
def test_a_process_that_dies_takes_its_job_with_it(server: Server) -> None:
    long = sample_clip("walk")
    _, job = ask(server, "POST", "/jobs/repair", {"motion": message_of(long)})
    while ask(server, "GET", f"/jobs/{job['job']}")[1]["state"] == "waiting":
        time.sleep(0.01)
    server.jobs._process.kill()
    seen = wait(server, job["job"])
    assert (seen["state"], seen["error"]["kind"]) == ("failed", "ProcessDied")
    assert result(server, "check", {"motion": message_of(WALK)})["findings"] is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"motion": None}, "motion is missing; give an object"),
        ({"pushes": [{"body": "chest"}]}, "force of a push"),
        ({"pushes": [{"body": "chst", "force": [1, 0, 0]}]}, "chst"),
        ({"pushes": [{"body": "chest", "force": [1, 0, 0], "durtion": 1}]}, "no field 'durtion'. Fields: body"),
        ({"terrain": {"spec": "hill:3"}}, "hill"),
        ({"terrain": {}}, "neither spec"),
        ({"terrain": {"heights": [[0.0, 1.0]], "corner": [0, 0], "spacing": 0.1}}, "2 to 2048"),
        ({"bodies": [{"name": "a", "half": [1, 1, 0], "position": [0, 0, 1]}]}, "three lengths above 0"),
        ({"options": {"goal": "up"}}, "auto"),
        ({"frames": [3, 9999]}, "frames 0 to"),
        ({"wind": 3}, "no field 'wind'"),
        (b"[1, 2]", "not a JSON object"),
        (b"\xff{", "not JSON"),
        (b"[" * 50_000, "not JSON"),
    ],
)
def test_what_is_wrong_is_said(server: Server, change: Any, said: str) -> None:
    data = change if isinstance(change, bytes) else {"motion": message_of(WALK), **change}
    assert said in failure(server, "simulate", data)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("names", ["a", "a"], "different names"),
        ("parents", [5] * WALK.skeleton.joint_count, "only root"),
        ("offsets", [[0.0, 0.0]], "shape"),
        ("rotations", packed(2.0 * WALK.rotations), "length is not 1"),
        ("translations", packed(np.full(WALK.translations.shape, np.nan)), "not finite"),
        ("translations", {"shape": [-1, 3], "f8": "AAAA"}, "not an array"),
        ("times", [0.0] * WALK.frame_count, "must increase"),
        ("end_sites", [{"joint": 99, "offset": [0, 0, 1]}], "index of one of"),
    ],
)
def test_a_motion_that_is_none_is_refused(server: Server, name: str, value: Any, said: str) -> None:
    assert said in failure(server, "check", {"motion": message_of(WALK) | {name: value}})


def test_only_programs_of_this_machine_with_the_token_are_answered(server: Server) -> None:
    assert ask(server, "GET", "/")[1]["protocol"] == served.PROTOCOL
    for headers in (
        {"Authorization": "Bearer wrong"},
        {"Authorization": ""},
        {"Origin": f"http://127.0.0.1:{server.port}"},
        {"Host": "evil.example"},
        {"Host": "["},
    ):
        status, said = ask(server, "POST", "/jobs/check", b"{}", **headers)
        assert status == 403, headers
        assert server.token not in said["error"]
    assert ask(server, "GET", "/jobs/nothing")[0] == 404
    assert ask(server, "POST", "/jobs/dance", b"{}")[0] == 404
    assert ask(server, "PUT", "/jobs/check", b"{}")[0] == 501
    with socket.create_connection(("127.0.0.1", server.port)) as link:
        assert link.getpeername()[0] == "127.0.0.1"


def raw(server: Server, head: str) -> str:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60.0) as link:
        link.sendall(head.replace("\n", "\r\n").encode())
        return link.recv(4096).decode()


def test_sizes_are_limited(server: Server) -> None:
    head = f"POST /jobs/check HTTP/1.1\nHost: 127.0.0.1\nAuthorization: Bearer {server.token}\n"
    assert " 413 " in raw(server, f"{head}Content-Length: {served.MAX_BODY + 1}\n\n")
    assert " 413 " in raw(server, f"{head}Content-Length: {'9' * 400}\n\n")
    assert " 411 " in raw(server, f"{head}Content-Length: -5\n\n")
    assert " 411 " in raw(server, f"{head}Transfer-Encoding: chunked\n\n")
    assert " 400 " in raw(server, "GET / HTTP/x\n\n")


def test_too_many_jobs_are_refused(server: Server) -> None:
    long = message_of(sample_clip("walk"))
    begun = [ask(server, "POST", "/jobs/repair", {"motion": long}) for _ in range(served.MAX_WAITING + 1)]
    assert [status for status, _ in begun] == [201] * served.MAX_WAITING + [429]
    for _, job in begun[-2::-1]:
        assert ask(server, "DELETE", f"/jobs/{job['job']}")[1]["state"] == "cancelled"


def test_it_ends_with_the_program_that_started_it() -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "poise", "serve", "--until-stdin-ends"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert run.stdout is not None
    assert run.stdin is not None
    hello = json.loads(run.stdout.readline())
    assert hello["protocol"] == served.PROTOCOL
    assert hello["url"].startswith("http://127.0.0.1:")
    run.stdin.close()
    assert run.wait(120.0) == 0
    run.stdout.close()


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_it_and_a_killed_server_leaves_no_process() -> None:
    for how in (signal.SIGINT, signal.SIGKILL):
        run = subprocess.Popen([sys.executable, "-m", "poise", "serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert run.stdout is not None
        run.stdout.readline()
        children = _children(run.pid)
        run.send_signal(how)
        run.wait(120.0)
        end = time.monotonic() + 120.0
        while any(os.path.exists(f"/proc/{c}") for c in children) and time.monotonic() < end:
            time.sleep(0.05)
        assert not [c for c in children if os.path.exists(f"/proc/{c}")]
        assert how == signal.SIGKILL or run.returncode == 0
        for stream in (run.stdout, run.stderr):
            assert stream is not None
            stream.close()


def _children(pid: int) -> list[int]:
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
        if found:
            return [int(p) for p in found]
        time.sleep(0.05)
    return []
