"""Live actors: packets as published, streams as networks are, hostile packets, and a run through real sockets."""

from __future__ import annotations

import json
import random
import socket
import struct
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.body.character import Character, figure
from poise.body.posing import body_poses, motion_to_q
from poise.cli.app import run
from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.tracking.calibration import standing_pose
from poise.tracking.followers import Filtering, Tracking
from poise.tracking.live import run_live
from poise.tracking.protocols import PROTOCOLS, LivePose, LiveSink, LiveSource, PacketError, Playout, parse_address
from poise.tracking.protocols.vmc import HUMAN, Humanoid, from_unity, osc_bundles, osc_message, read_osc, to_unity
from tests.clips import first_cases, sample_clip
from tests.live_senders import SENDERS, posed

CHILD = figure("child")


@pytest.fixture(scope="module")
def walk() -> Motion:
    motion = sample_clip("walk")
    return motion.resampled(np.arange(int(motion.duration * 60.0)) / 60.0)


def poses_of(walk: Motion) -> list[LivePose]:
    return [
        LivePose(walk.skeleton, walk.translations[k], walk.rotations[k], k / 60.0, k, "Ann")
        for k in range(walk.frame_count)
    ]


# --- packets


def test_own_packets_come_back_as_they_went(walk: Motion) -> None:
    writer, reader = PROTOCOLS["poise"].writer, PROTOCOLS["poise"].reader()
    assert writer is not None
    encoder = writer()
    for pose in poses_of(walk)[:3]:
        found = [p for packet in encoder.write(pose) for p in reader.read(packet)]
        assert len(found) == 1
        assert found[0].skeleton.names == walk.skeleton.names
        assert (found[0].number, found[0].actor) == (pose.number, "Ann")
        assert found[0].time == pytest.approx(pose.time, abs=1e-6)
        assert np.abs(found[0].translations - pose.translations).max() < 2e-5
        assert rotations.angle_between(found[0].rotations, pose.rotations).max() < 1e-5


def test_osc_of_the_specification() -> None:
    # the example of the OSC 1.0 specification, byte for byte
    given = bytes.fromhex("2f6f7363696c6c61746f722f342f6672657175656e637900" + "2c660000" + "43dc0000")
    assert read_osc(given) == [("/oscillator/4/frequency", [440.0])]
    assert osc_message("/oscillator/4/frequency", 440.0) == given
    foo = osc_message("/foo", 1000, -1, "hello", 1.234, 5.678)
    assert foo.hex() == (
        "2f666f6f000000002c6969736666000000" + "0003e8ffffffff68656c6c6f0000003f9df3b640b5b22d"
    )  # the second one, which has no address of its own length
    (bundle,) = osc_bundles([given, foo])
    assert [address for address, _ in read_osc(bundle)] == ["/oscillator/4/frequency", "/foo"]


def test_unity_has_x_right_and_z_ahead() -> None:
    places, turned = from_unity(np.array([[1.0, 2.0, 3.0]]), np.array([[0.0, np.sin(0.4), 0.0, np.cos(0.4)]]))
    assert places[0].tolist() == [3.0, -1.0, 2.0]  # ahead, left, up
    # about Unity's y, seen from above, positive turns go clockwise: from ahead to the right
    assert rotations.rotate(turned[0], np.array([1.0, 0.0, 0.0]))[1] == pytest.approx(-np.sin(0.8))
    back = to_unity(places, turned)
    assert np.allclose(back[0], [[1.0, 2.0, 3.0]])
    assert np.allclose(back[1], [[0.0, np.sin(0.4), 0.0, np.cos(0.4)]])


def test_vmc_is_sent_and_read_as_human_bones() -> None:
    child = figure("child")
    standing = standing_pose(child)
    human = Humanoid(child, standing)
    out = human.pose(standing, 1.5)
    index = {name: i for i, name in enumerate(out.skeleton.names)}
    assert {"Hips", "Spine", "Head", "LeftUpperArm", "LeftHand", "RightLowerLeg", "RightToes"} <= set(index)
    # it stands with hanging arms: against a T-pose its left upper arm is turned a quarter about the forward axis
    turn = rotations.to_rotation_vector(out.rotations[index["LeftUpperArm"]])
    assert turn == pytest.approx([-np.pi / 2.0, 0.0, 0.0], abs=0.02)
    assert rotations.angle_between(out.rotations[index["LeftUpperLeg"]], rotations.IDENTITY) < 0.02
    writer = PROTOCOLS["vmc"].writer
    assert writer is not None
    packets = writer().write(out)
    assert max(map(len, packets)) <= 1500
    reader = PROTOCOLS["vmc"].reader()
    found = [p for _ in range(2) for packet in packets for p in reader.read(packet)]
    last = found[-1]
    assert last.time == pytest.approx(1.5)
    places = dict(zip(last.skeleton.names, last.motion().world[0][0]))
    bodies, _ = body_poses(child, standing[None])
    for name in ("Hips", "LeftHand", "RightFoot", "Head"):
        assert places[name] == pytest.approx(bodies[0, human.names.index(name)], abs=1e-4), name


def test_a_vmc_frame_with_a_lost_bundle_is_still_a_frame() -> None:
    child = figure("child")
    human = Humanoid(child, standing_pose(child))
    writer = PROTOCOLS["vmc"].writer
    assert writer is not None
    encoder, reader = writer(), PROTOCOLS["vmc"].reader()
    count = 0
    for k in range(30):
        packets = encoder.write(human.pose(standing_pose(child), k / 60.0))
        assert len(packets) > 1
        count += sum(len(reader.read(p)) for p in (packets[:1] if k % 10 == 5 else packets))
    assert count >= 28


@pytest.mark.parametrize("name", sorted(SENDERS))
def test_every_protocol_reads_its_sender(name: str) -> None:
    sent, reader = posed(name), PROTOCOLS[name].reader()
    found = []
    for packet in SENDERS[name](sent):
        found += reader.read(packet)
    assert len(found) >= len(sent.times) - 1
    last = found[-1]
    places = dict(zip(last.skeleton.names, last.motion().world[0][0]))
    for bone, place in sent.expected.items():
        assert places[bone] == pytest.approx(place, abs=1e-3), bone
    # it has limbs that can drive and be driven
    limbs = {limb.name for limb in Character.fit(last.skeleton).limbs}
    assert {"left_leg", "right_leg", "left_arm", "right_arm"} <= limbs


def test_every_protocol_has_a_sender() -> None:
    assert set(SENDERS) == set(PROTOCOLS)


def test_a_bvh_stream_is_cut_wherever_its_pieces_end() -> None:
    """TCP: frames, a text frame among them, and rubbish; in pieces of odd sizes."""
    frames = list(SENDERS["bvh"](posed("bvh")))[:4]
    text = b"0 A " + b" ".join(b"%.2f" % x for x in np.frombuffer(frames[0][64:], "<f4")) + b" ||"
    stream = frames[0] + frames[1] + text + frames[2] + b"rubbish" + frames[3]
    reader, received, found = PROTOCOLS["bvh"].reader(), bytearray(), []
    for k in range(0, len(stream), 333):
        received += stream[k : k + 333]
        found += reader.cut(received)
    assert found == [frames[0], frames[1], text, frames[2], b"rubbish", frames[3]]
    poses = [pose for packet in found if packet != b"rubbish" for pose in reader.read(packet)]
    assert [pose.number for pose in poses] == [0, 1, None, 2, 3]
    assert np.abs(poses[2].translations - poses[0].translations).max() < 1e-4


def test_an_lz4_frame_that_would_unpack_to_too_much_is_refused() -> None:
    from poise.tracking.protocols.rokoko import unpacked

    block = b"\x1fA\x01\x00" + b"\xff" * 8000 + b"\x00"
    with pytest.raises(PacketError, match="too much"):
        unpacked(b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", len(block)) + block + bytes(4))


@first_cases(3, "name", sorted(PROTOCOLS))
def test_no_packet_does_harm(name: str) -> None:
    """Cut, flipped, doubled and made-up packets are refused in words or read; none raises anything else."""
    chance = random.Random(15)
    good = [p for p in SENDERS[name](posed(name))][:6]
    reader = PROTOCOLS[name].reader()
    end = time.monotonic() + 4.0
    for round_ in range(4000):
        if time.monotonic() > end:
            break
        packet = bytearray(chance.choice(good))
        kind = round_ % 6
        if kind == 0:
            packet = packet[: chance.randrange(len(packet) + 1)]
        elif kind in (1, 2):
            for _ in range(chance.randrange(1, 12)):
                packet[chance.randrange(len(packet))] = chance.randrange(256)
        elif kind == 3:
            at = chance.randrange(len(packet))
            packet[at:at] = chance.randbytes(chance.randrange(1, 40))
        elif kind == 4:
            packet = bytearray(chance.randbytes(chance.randrange(0, 200)))
        else:
            at = chance.randrange(max(1, len(packet) - 4))
            packet[at : at + 4] = chance.choice(
                (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"1e99", b"NaN ")
            )
        try:
            poses = reader.read(bytes(packet))
        except PacketError:
            continue
        for pose in poses:
            assert np.isfinite(pose.translations).all()
            assert np.isfinite(pose.rotations).all()
            assert np.abs(np.linalg.norm(pose.rotations, axis=1) - 1.0).max() < 1e-6
            assert pose.skeleton.joint_count <= 512


@pytest.mark.parametrize(
    "packet",
    [
        b"[" * 60_000,
        b'{"poise": "pose/1", "rotations": [[NaN, 0, 0, 0]]}',
        b'{"poise": "skeleton/1", "names": ["a"], "parents": [0], "offsets": [[0, 0, 0]]}',
        b'{"poise": "skeleton/1", "names": ["a"], "parents": [-1], "offsets": [[1e400, 0, 0]]}',
        b'{"poise": "skeleton/1", "names": ["a"], "parents": [' + b"9" * 400 + b'], "offsets": [[0, 0, 0]]}',
    ],
)
def test_hostile_json_is_refused(packet: bytes) -> None:
    reader = PROTOCOLS["poise"].reader()
    reader.read(b'{"poise": "skeleton/1", "names": ["a"], "parents": [-1], "offsets": [[0, 0, 0]]}')
    with pytest.raises(PacketError):
        reader.read(packet)


# --- addresses


def test_addresses_are_of_this_machine_unless_said_otherwise() -> None:
    assert (parse_address("vmc").host, parse_address("vmc").port) == ("127.0.0.1", 39539)
    assert parse_address("vmc:39540").port == 39540
    assert parse_address("vmc:0.0.0.0:1234").host == "0.0.0.0"


@pytest.mark.parametrize(
    ("text", "error"),
    [("vnc:1", UnknownName), ("vmc:tcp:1", InvalidValue), ("vmc:99999", InvalidValue), ("vmc:a:b:c", InvalidValue)],
)
def test_addresses_that_are_none_say_why(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_address(text)


# --- the jitter buffer, with a clock of its own


def played(poses: list[tuple[float, LivePose]], seconds: float, playout: Playout) -> list[tuple[float, LivePose]]:
    """What comes out at 120 Hz, of poses that arrive at given times [s]."""
    waiting, out = sorted(poses, key=lambda p: p[0]), []
    for k in range(int(seconds * 120)):
        now = k / 120.0
        while waiting and waiting[0][0] <= now:
            playout.add(waiting[0][1], waiting[0][0])
            del waiting[0]
        if (found := playout.at(now, 1.0 / 120.0)) is not None:
            out.append((now, found.pose))
    return out


def moving(time: float, number: int | None = None, *, clock: bool = True) -> LivePose:
    """A figure whose root goes ahead by a meter a second."""
    skeleton = CHILD.skeleton
    moved = skeleton.offsets.copy()
    moved[0, 0] = time
    return LivePose(skeleton, moved, skeleton.rest_rotations, time if clock else None, number)


def roughness(out: list[tuple[float, LivePose]]) -> float:
    """Largest difference of the speed from a meter a second."""
    x = np.array([p.translations[0, 0] for _, p in out])
    return float(np.abs(np.diff(x)[60:] * 120.0 - 1.0).max())


def test_even_packets_pass_at_an_even_pace() -> None:
    playout = Playout()
    out = played([(k / 60.0 + 0.004, moving(k / 60.0, k)) for k in range(240)], 4.0, playout)
    assert roughness(out) < 0.02
    assert playout.counts.lost == playout.counts.late == playout.counts.jumps == 0
    assert playout.wanted_delay < 0.03


@pytest.mark.parametrize("clock", [True, False])
def test_jitter_is_buffered(clock: bool) -> None:
    chance = np.random.default_rng(3)
    late = chance.exponential(0.006, 360)
    arrivals = np.maximum.accumulate(np.arange(360) / 60.0 + late)
    playout = Playout()
    out = played([(arrivals[k], moving(k / 60.0, k, clock=clock)) for k in range(360)], 6.0, playout)
    # the raw arrivals move by steps of 0 to several frames: 100 % and more
    assert roughness(out[120:]) < (0.25 if clock else 0.6)
    assert 0.02 < playout.wanted_delay < 0.1


def test_lost_reordered_and_doubled_packets_are_counted() -> None:
    poses = [(k / 60.0 + 0.002, moving(k / 60.0, k)) for k in range(240)]
    del poses[100], poses[150:153]
    poses.append((poses[50][0] + 0.001, poses[50][1]))
    early, late = poses[20], poses[21]
    poses[20], poses[21] = (late[0], early[1]), (early[0], late[1])
    playout = Playout()
    out = played(poses, 4.0, playout)
    assert (playout.counts.lost, playout.counts.reordered, playout.counts.duplicate) == (4, 1, 1)
    assert roughness(out) < 1.5  # three in a row are held and caught up; a step would be 5


def test_a_clock_that_runs_fast_is_followed() -> None:
    playout = Playout()
    out = played([(k / 60.0 * 0.999 + 0.003, moving(k / 60.0, k)) for k in range(1200)], 19.9, playout)
    assert roughness(out) < 0.05
    buffered = playout.at(19.9 + 1 / 120, 1 / 120)
    assert buffered is not None
    assert buffered.buffered < 0.06  # a thousandth of 20 s would be 20 ms, and grow
    assert playout.report()["clock_drift_ppm"] == pytest.approx(1000.0, abs=100.0)


def test_a_pause_is_held_and_what_follows_is_blended_in() -> None:
    before = [(k / 60.0, moving(k / 60.0, k)) for k in range(120)]
    after = [(t + 3.0, replace(p, time=(p.time or 0.0) + 3.0, number=(p.number or 0) + 180)) for t, p in before]
    playout = Playout()
    out = played(before + after, 6.5, playout)
    assert playout.counts.pauses == 2  # and the end
    assert playout.counts.longest_pause_s > 0.9
    x = np.array([p.translations[0, 0] for _, p in out])
    assert np.abs(np.diff(x)).max() < 0.06  # the way back of two meters is not made in one step
    assert np.isfinite(x).all()


def test_a_root_that_jumps_goes_on_from_where_it_was() -> None:
    poses = [(k / 60.0, moving(k / 60.0, k)) for k in range(240)]
    for k in range(120, 240):
        poses[k][1].translations[0, 1] += 5.0
    playout = Playout()
    out = played(poses, 4.0, playout)
    assert playout.counts.jumps == 1
    assert np.abs([p.translations[0, 1] for _, p in out]).max() < 0.5


def test_a_sender_that_begins_anew_is_followed() -> None:
    poses = [(k / 60.0, moving(100.0 + k / 60.0, k)) for k in range(120)]
    poses += [(2.0 + k / 60.0, moving(k / 60.0, k)) for k in range(120)]
    playout = Playout()
    out = played(poses, 4.0, playout)
    assert playout.counts.clock_resets == 1
    assert len(out) > 400
    x = np.array([p.translations[0, 0] for _, p in out])
    assert np.abs(np.diff(x)).max() < 0.1  # the hundred meters back are not walked


# --- through sockets


def send(address: str, poses: list[LivePose], hz: float, stop: threading.Event, bad: tuple[bytes, ...] = ()) -> None:
    """Poses at an even pace, and packets that are none."""
    sink, loose = LiveSink(address), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began = time.monotonic()
    for k, pose in enumerate(poses):
        if stop.is_set():
            return
        sink.send(pose)
        for packet in bad if k % 10 == 0 else ():
            sink._sender.socket.sendto(packet, ("127.0.0.1", sink.address.port))
            loose.sendto(packet, ("127.0.0.1", sink.address.port))
        time.sleep(max(0.0, began + (k + 1) / hz - time.monotonic()))


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["poise", "vmc"])
def test_a_live_actor_drives_the_child(protocol: str, walk: Motion) -> None:
    poses = poses_of(walk)
    if protocol == "vmc":
        theirs = Character.fit(walk)
        human, q = Humanoid(theirs, standing_pose(theirs)), motion_to_q(theirs, walk)
        poses = [human.pose(q[k], k / 60.0) for k in range(len(q))]
    port, heard, stop = free_port(), free_port(), threading.Event()
    back = LiveSource(f"vmc:{heard}")
    with LiveSource(f"{protocol}:{port}") as source:
        thread = threading.Thread(target=send, args=(f"{protocol}:{port}", poses, 60.0, stop, (b"nonsense",)))
        thread.start()
        sink = LiveSink(f"vmc:{heard}")
        result = run_live(source, Tracking(figure("child")), sinks=[sink], seconds=2.0, patience=20.0)
        stop.set()
        thread.join()
    back.take()
    counted = result.report["source"]
    assert counted["malformed"] > 0
    assert counted["other_senders"] > 0
    assert counted["actors"] == 1
    assert np.isfinite(result.q).all()
    assert back.playout.counts.poses > 10
    assert result.motion.skeleton is figure("child").skeleton or result.motion.skeleton.joint_count == 18
    json.dumps(result.report, allow_nan=False)


def test_what_comes_through_the_wire_is_followed(walk: Motion) -> None:
    """VMC packets, the jitter buffer with a clock of its own, the tracker: no fall, hardly a held root."""
    theirs = Character.fit(walk)
    human, q = Humanoid(theirs, standing_pose(theirs)), motion_to_q(theirs, walk)
    writer = PROTOCOLS["vmc"].writer
    assert writer is not None
    encoder, reader = writer(), PROTOCOLS["vmc"].reader()
    came = [
        (k / 60.0, p)
        for k in range(110)
        for packet in encoder.write(human.pose(q[k], k / 60.0))
        for p in reader.read(packet)
    ]
    poses = [pose for _, pose in played(came, 110 / 60.0, Playout())]
    actor, following = Character.fit(poses[0].skeleton), Tracking(figure("child"))
    following.set_actor(actor)
    out = standing_pose(figure("child"))
    for pose in poses:
        out = following.step(motion_to_q(actor, pose.motion())[0])
    report = following.report()
    assert report["complete"]
    assert report["fallback_steps"] < 0.2 * report["steps"]
    way = poses[-1].translations[0] - poses[0].translations[0]
    assert np.linalg.norm(out[:2] - standing_pose(figure("child"))[:2]) > 0.4 * np.linalg.norm(way[:2])


@pytest.mark.long
def test_a_stream_that_falls_silent_in_mid_stride_leaves_it_standing(walk: Motion) -> None:
    """Nobody can stay in mid-stride: the actor is taken to stand at ease, and walks on when poses come again."""
    smooth = walk.resampled(np.arange(int(walk.duration * 120.0)) / 120.0)
    actor = Character.fit(walk.skeleton)
    q = motion_to_q(actor, smooth)
    following = Tracking(figure("child"))
    following.set_actor(actor)
    out = [following.step(q[k]) for k in range(120)]
    out += [following.step(q[119], k / 120.0) for k in range(360)]
    still = np.array(out[-60:])
    out += [following.step(q[119 + k]) for k in range(80)]
    report = following.report()
    assert report["complete"]
    assert report["fallback_steps"] < 250  # its feet slide to where it stands at ease; 188 were counted
    # it goes back to the actor's place in small steps of 0.4 m/s at most, and stands between them
    speeds = np.linalg.norm(np.diff(still[:, :3], axis=0), axis=1)
    assert speeds.max() < 0.005
    assert speeds.min() < 0.001
    assert np.ptp(still[:, 2]) < 0.06  # it sinks by 4 cm in a step
    assert np.linalg.norm(np.diff(np.array(out)[:, :3], axis=0), axis=1).max() < 0.05


def test_a_character_that_flies_off_begins_again(walk: Motion) -> None:
    actor = Character.fit(walk.skeleton)
    q = motion_to_q(actor, walk)
    following = Tracking(figure("child"))
    following.set_actor(actor)
    out = [following.step(q[k]) for k in range(30)]
    assert following.tracker is not None
    following.tracker.v[:3] = 20.0
    out += [following.step(q[k]) for k in range(30, 50)]
    assert following.report()["restarts"] == 1
    assert not following.report()["complete"]
    assert np.abs(np.array(out)[:, :3]).max() < 3.0


@pytest.mark.long
def test_another_actor_takes_over(walk: Motion) -> None:
    """A taller actor under another name: the character goes on from where it is."""
    port, stop = free_port(), threading.Event()
    first = poses_of(walk)[:60]
    skeleton = walk.skeleton
    taller = type(skeleton)(
        skeleton.names, skeleton.parents, 1.2 * skeleton.offsets, skeleton.rest_rotations,
        tuple(replace(s, offset=1.2 * s.offset) for s in skeleton.end_sites), skeleton.hinges,
    )  # fmt: skip
    far = np.zeros((skeleton.joint_count, 3))
    far[0, 0] = 5.0
    second = [
        LivePose(taller, 1.2 * p.translations + far, p.rotations, 50.0 + k / 60.0, k, "Bo") for k, p in enumerate(first)
    ]

    def both() -> None:
        send(f"poise:{port}", first, 60.0, stop)
        time.sleep(1.2)
        send(f"poise:{port}", second, 60.0, stop)

    with LiveSource(f"poise:{port}") as source:
        thread = threading.Thread(target=both)
        thread.start()
        result = run_live(source, Tracking(figure("child")), seconds=3.4, patience=20.0)
        stop.set()
        thread.join()
    assert result.report["source"]["actors"] == 2
    assert np.isfinite(result.q).all()
    assert np.abs(result.q[:, :3]).max() < 10.0  # however late this machine is: it does not fly away


@pytest.mark.long
def test_the_filter_in_the_wire(walk: Motion) -> None:
    port, stop = free_port(), threading.Event()
    with LiveSource(f"poise:{port}") as source:
        thread = threading.Thread(target=send, args=(f"poise:{port}", poses_of(walk), 60.0, stop))
        thread.start()
        result = run_live(source, Filtering(), seconds=1.5, patience=20.0)
        stop.set()
        thread.join()
    assert result.character is not None
    assert len(result.q) > 20
    assert np.isfinite(result.q).all()


@pytest.mark.long
def test_a_stream_is_recorded(tmp_path: Path, walk: Motion) -> None:
    port, stop, out = free_port(), threading.Event(), tmp_path / "take.bvh"
    poses = poses_of(walk)  # seconds more than are recorded: however late the recording begins
    thread = threading.Thread(target=send, args=(f"poise:{port}", poses, 60.0, stop))
    thread.start()
    code = run(["record-stream", f"poise:{port}", "-o", str(out), "--seconds", "1", "--fps", "60"])
    stop.set()
    thread.join()
    assert code == 0
    take = poise.load(out)
    # the sender's times say when: frame for frame what was sent, wherever the recording began
    best = np.abs(take.world[0][5] - walk.world[0]).max(axis=(1, 2)).min()
    assert take.frame_count > 20
    assert best < 2e-3


def test_who_does_not_listen_to_anybody_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["track", "-c", "child", "-o", "out.bvh"]) == 2
    assert "--live-from" in capsys.readouterr().err
    assert run(["track", "walk.bvh", "-c", "child", "-o", "out.bvh", "--live-to", "vmc:1"]) == 2
    assert "--live-from" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named() -> None:
    with LiveSource("vmc:0") as source, pytest.raises(InvalidValue, match="another port"):
        LiveSource(f"vmc:{source.receiver.port}")  # type: ignore[union-attr]


def test_human_bones_hang_on_those_before_them() -> None:
    names = list(HUMAN)
    assert all(above == "" or names.index(above) < names.index(bone) for bone, above in HUMAN.items())
