"""glTF packed by meshoptimizer: every kind of stream against the library's own decoder, and a whole file."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.core.errors import FileFormatError
from poise.io.gltf_document import MAX_BYTES
from poise.io.gltf_meshopt import decoded
from tests.clips import sample_clip

STREAMS = {
    "plain": (
        40, 8, "ATTRIBUTES", "NONE",
        (
            "a02a066666666666666666666666666666666666666600000000001f0088888888888888888888888888888888888888"
            "888888888888888888888888ffff000088888888888888882a0555355535553555355355535553555355355535000000"
            "001f00776e41c4ca70bd777aae55b3116cd89f102c97ffe1238b767a6a4911ffea93ffff00004ba8a93460f5a1641f00"
            "977ce49f49ae1852276c076522a6b516cb803923a6e33f939f5a87b03d9d0cffff00003e15082d969a5ffb0000000000"
            "00000000000000000000000000000000000000000000000000d8180500"
        ),
        (
            "00000000d8180500030044fd9ccc0500060088fad30a05000900ccf7b27c05000c0010f5142c05000f0054f279070500"
            "120098efb15e05001500dcec526a0500180020ea169305001b0064e7537f05001e00a8e4aab505002100ece17fb10500"
            "240030df257e0500270074dc1c8f05002a00b8d952e205002d00fcd6be870500300040d46e920500330084d1762c0500"
            "3600c8ce8c6c050039000ccc404f05003c0050c9c03d05003f0094c64f9005004200d8c33d1e050045001cc1f7fe0500"
            "480060be32b405004b00a4bb6f6405004e00e8b8a491050051002cb67f4d0500540070b376a505005700b4b0f6860500"
            "5a00f8ad6b3705005d003cab213d0500600080a8fb5c05006300c4a54f510500660008a3fa55050069004ca0143e0500"
            "6c00909d448905006f00d49ac9d605007200189878a6050075005c95aa280500"
        ),
    ),
    "triangles": (
        54, 4, "TRIANGLES", "NONE",
        (
            "e1f010001000100010001000100010ffffffffb700ff500202fffc0ec90fcc0f9fb30fba04007687566778a986658968"
            "9801690000"
        ),
        (
            "000000000100000002000000020000000100000003000000020000000300000004000000040000000300000005000000"
            "040000000500000006000000060000000500000007000000060000000700000008000000080000000700000009000000"
            "08000000090000000a0000000a000000090000000b0000000a0000000b0000000c0000000c0000000b0000000d000000"
            "0c0000000d0000000e0000000e0000000d0000000f00000000000000050000000900000028000000290000002a000000"
            "e803000003000000e90300000f0000000e0000002c010000"
        ),
    ),
    "indices": (
        54, 2, "INDICES", "NONE",
        (
            "d10004040002080204040002080204040002080204040002080204040002080204040002080204040002083a1410a101"
            "0505fc1e9b01043103f21500000000"
        ),
        (
            "000001000200020001000300020003000400040003000500040005000600060005000700060007000800080007000900"
            "080009000a000a0009000b000a000b000c000c000b000d000c000d000e000e000d000f00000005000900280029002a00"
            "e8030300e9030f000e002c01"
        ),
    ),
    "quaternion": (
        9, 8, "ATTRIBUTES", "QUATERNION",
        (
            "a0013fffc0004f11996f79f038990208386a0330000000013fffc0000895abe0f17c064a013fde00001306120f10013f"
            "ffc000e21d26f146e2e3eb020805f628d00000000f01124a000000000000000000000000000000000000000000000000"
            "00000076f8c5030000fd07"
        ),
        (
            "00005455abaaab2a9b542cd6a8b94632375a23bf4cd89c317e101c7054f45d3a0467cf13c4e4e9bb3c54b54918d418d4"
            "69e44e53034f6331d73ca50ce0654b2e7a3e84c37558921f"
        ),
    ),
    "exponential": (
        9, 12, "ATTRIBUTES", "EXPONENTIAL",
        (
            "a0013fffc00020db43807f5453b7013ff20000033d3e6780010020000002084901cba0000000013fffc00070876780ff"
            "37389f013fffc000092c272a1a030404010080000002084901cba0000000013fffc0007fbbc37f7f4344b8013fffc000"
            "15784f526c1d0c08010080000002084901cba0000000000000000000000000000000000000000000000080f9fff900ee"
            "fff980cefff9"
        ),
        (
            "000050c1000010c20000c6c2000087c3004036c40000f3c400789fc50000c0c0000070c1000010c20000a2c2000022c3"
            "000073c3000000000000803f0000c0400000d8410000d8420080ca430040b64400789f45000000410000d8410000b442"
            "008094430000734400704545"
        ),
    ),
    "octahedral4": (
        9, 4, "ATTRIBUTES", "OCTAHEDRAL",
        (
            "a0013fffc000481d77df44467c0b013fffc000720897fe39cc5d59000137ffc0001012142f0a051d0000000000000000"
            "0000000000000000000000000000000000000000407f7f2a"
        ),
        "0059a52a5cd3b53261bbd531127df43a87e82044a7b32f2ce35a5531410d6d2e41c35a1f",
    ),
    "octahedral8": (
        9, 8, "ATTRIBUTES", "OCTAHEDRAL",
        (
            "a0013fffc00098128c2f4e5a21d1020417d44800000000013fffc000e488b43946da24440133dfc0001718110c050500"
            "00013fffc000cdb2759d4dea238e0137ffc000101214310c051d00000000000000000000000000000000000000000000"
            "00000004ff07ff07aa2a"
        ),
        (
            "0000765a73a5aa2afc5b88d27cb34332da619bb9f5d49c317b12f87dd5f2613a59869fe83620124456a692b1d32eeb2b"
            "23e24b5aab55603140419a0d466d4e2e7c408bc13c5b951f"
        ),
    ),
}  # fmt: skip
"""Count, stride, mode, filter, a stream that meshoptimizer 1 wrote of numbers of ours, and what it decodes it to."""


def note(count: int, stride: int, mode: str, how: str, length: int) -> dict[str, Any]:
    return {"buffer": 0, "byteLength": length, "count": count, "byteStride": stride, "mode": mode, "filter": how}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_decoded_as_by_the_library(name: str) -> None:
    count, stride, mode, how, packed, plain = STREAMS[name]
    source = bytes.fromhex(packed)
    assert decoded([source], note(count, stride, mode, how, len(source)), MAX_BYTES).hex() == plain


def stored(values: np.ndarray) -> bytes:
    """A stream of attributes with every difference in a byte of its own."""
    rows = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
    out = b"\xa0"
    last = np.zeros(rows.shape[1], dtype=np.uint8)
    most = min((8192 // rows.shape[1]) & ~15, 256)
    for begin in range(0, len(rows), most):
        block = rows[begin : begin + most]
        change = np.diff(np.vstack([last, block]), axis=0).astype(np.int8).astype(np.int16)
        coded = np.where(change < 0, -2 * change - 1, 2 * change).astype(np.uint8)
        groups = -(-len(block) // 16)
        for column in np.vstack([coded, np.zeros((16 * groups - len(block), rows.shape[1]), np.uint8)]).T:
            out += b"\xff" * -(-groups // 4) + column.tobytes()
        last = block[-1]
    return out + bytes(max(rows.shape[1], 32))


def packed_file(path: Path, damage: Sequence[tuple[int, int]] = ()) -> poise.Motion:
    """A figure whose keys are all packed, in a .glb without the numbers themselves; its motion."""
    motion = sample_clip("walk", 0.5)
    poise.save(motion, path)
    raw = path.read_bytes()
    length = struct.unpack("<I", raw[12:16])[0]
    content, data = json.loads(raw[20 : 20 + length]), raw[28 + length :]
    streams = b""
    for view in content["bufferViews"]:
        values = data[view.get("byteOffset", 0) :][: view["byteLength"]]
        stream = stored(np.frombuffer(values, dtype=np.uint8).reshape(-1, 4))
        packed = note(len(values) // 4, 4, "ATTRIBUTES", "NONE", len(stream)) | {"byteOffset": len(streams)}
        view |= {"buffer": 1, "extensions": {"EXT_meshopt_compression": packed}}
        streams += stream
    made = bytearray(streams)
    for place, value in damage:
        made[place] = value
    fallback = {"byteLength": len(data), "extensions": {"EXT_meshopt_compression": {"fallback": True}}}
    content |= {"buffers": [{"byteLength": len(made)}, fallback]}
    content |= {"extensionsUsed": ["EXT_meshopt_compression"], "extensionsRequired": ["EXT_meshopt_compression"]}
    text = json.dumps(content).encode()
    text += b" " * (-len(text) % 4)
    made += bytes(-len(made) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(made))
    chunks = (b"JSON", text), (b"BIN\0", bytes(made))
    path.write_bytes(head + b"".join(struct.pack("<I4s", len(d), kind) + d for kind, d in chunks))
    return motion


def test_a_packed_file_is_read_and_written_unpacked(tmp_path: Path) -> None:
    motion = packed_file(tmp_path / "packed.glb")
    read = poise.load(tmp_path / "packed.glb")
    assert np.abs(read.world[0] - motion.world[0]).max() < 1e-5
    poise.save(read, tmp_path / "plain.glb")
    assert b"meshopt" not in (tmp_path / "plain.glb").read_bytes()
    assert np.array_equal(poise.load(tmp_path / "plain.glb").world[0], read.world[0])


def test_a_damaged_stream_is_one_sentence(tmp_path: Path) -> None:
    packed_file(tmp_path / "a.glb", [(0, 0xA1)])
    with pytest.raises(FileFormatError, match=r"cannot be unpacked .its version is not known"):
        poise.load(tmp_path / "a.glb")


@pytest.mark.parametrize("name", STREAMS)
def test_no_damage_crashes(name: str) -> None:
    count, stride, mode, how, packed, _ = STREAMS[name]
    chance = np.random.default_rng(0)
    for _ in range(200):
        source = bytearray(bytes.fromhex(packed))
        for _ in range(chance.integers(1, 4)):
            source[chance.integers(len(source))] = chance.integers(256)
        source = source[: chance.integers(len(source) // 2, len(source) + 1)]
        try:
            found = decoded([bytes(source)], note(count, stride, mode, how, len(source)), MAX_BYTES)
            assert len(found) == count * stride
        except (LookupError, TypeError, ValueError):
            continue
