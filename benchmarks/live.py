"""How a live page is fed: `python -m benchmarks.live`. 50 bodies at 50 Hz to two quick pages and one that never reads.

The pages are processes of their own; lag is from the stamp in a state to its receipt, by one clock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import numpy as np

from poise.show.protocol import STATE
from poise.show.server import Server

BODIES, RATE, SECONDS = 50, 50.0, 10.0

PAGE = """
import json, sys, time
from websockets.sync.client import connect
from poise.show.protocol import ACK, STATE
address, origin, reads = sys.argv[1], sys.argv[2], sys.argv[3] == "reads"
lags, size = [], 0
with connect(address, origin=origin, max_size=None) as page:
    print("open", flush=True)
    if not reads:
        time.sleep(60.0)
    try:
        while True:
            message = page.recv(timeout=3.0)
            if isinstance(message, bytes) and message[0] == 1:
                head = STATE.unpack_from(message)
                lags.append(1000.0 * time.time() - head[5])
                size += len(message)
                page.send(ACK.pack(1, head[3]))
    except TimeoutError:
        pass
print(json.dumps([lags, size]))
"""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    server = Server(lambda socket: socket)
    server.show(b"a scene")
    address = server.url.replace("http://", "ws://").replace("/?", "/ws?")
    origin = server.url.split("/?")[0]
    pages = [
        subprocess.Popen(
            [sys.executable, "-c", PAGE, address, origin, how], stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        for how in ("reads", "reads", "sleeps")
    ]
    for page in pages:
        assert page.stdout is not None
        page.stdout.readline()
    numbers = np.random.default_rng(0).normal(size=7 * BODIES).astype("<f4").tobytes()
    spent, late, began = [], [], time.perf_counter()
    for k in range(int(RATE * SECONDS)):
        due = began + k / RATE
        time.sleep(max(0.0, due - time.perf_counter()))
        late.append(1000.0 * max(0.0, time.perf_counter() - due))
        before = time.thread_time()
        server.send(numbers, time=k / RATE)
        spent.append(1000.0 * (time.thread_time() - before))
    for page in pages[:2]:
        lags, size = json.loads(page.communicate()[0])
        median, p99, most = np.median(lags), np.percentile(lags, 99), np.max(lags)
        print(
            f"lag of a page                   median {median:6.2f} ms, p99 {p99:6.2f}, max {most:6.2f}   bar 50"
            f"   {len(lags)} of {int(RATE * SECONDS)} states, {size / SECONDS / 1000:.0f} kB/s"
        )
    pages[2].kill()
    print(f"sender, CPU a state             median {np.median(spent):6.3f} ms, max {max(spent):.3f}")
    print(f"sender, late by its own clock   median {np.median(late):6.2f} ms, p99 {np.percentile(late, 99):.2f}")
    print(f"head of a state                 {STATE.size} bytes")
    server.close()


if __name__ == "__main__":
    main()
