"""`make bench`: prints the bars. `python -m benchmarks NAME …` runs some, `--help` lists them; `--clips TEXT` takes the
clips whose name holds the text, `--all-rows` prints every run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks import behavior
from benchmarks.clips import clips

ON_CLIPS = ("identity", "push", "terrain", "stairs", "impossible", "endurance")
"""Those that run clips of the sets here; the others are modules of their own."""
NAMES = (
    *ON_CLIPS, "step", "list_step", "crowd", "start", "memory", "agreement", "analysis", "edit", "edit_rigs", "live",
    "recording", "load", "check", "balance", "behaviors", "goals", "wire", "alive", "recovery", "skeletons", "world",
    "tracking", "readings", "spacetime", "repair", "locomotion", "strict", "vary", "learning",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(NAMES), help=", ".join(NAMES))
    parser.add_argument("--clips", default="")
    parser.add_argument("--all-rows", action="store_true")
    parser.add_argument("--steps", type=int, default=100_000)
    wanted = parser.parse_args()
    unknown = sorted(set(wanted.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}. There are: {', '.join(NAMES)}")
    chosen = []
    if set(wanted.names) & set(ON_CLIPS) - {"impossible"}:
        chosen = [c for c in clips() if wanted.clips in c.name]
        for title, flag in (("grounded", "is_grounded"), ("push", "is_push")):
            print(f"{title}: {', '.join(c.name for c in chosen if getattr(c, flag))}")
        print(f"all: {len(chosen)} clips", flush=True)
    rows = wanted.all_rows
    for name in wanted.names:
        if name == "identity":
            behavior.show("Undisturbed on flat ground", behavior.identity(chosen), every=rows)
        elif name == "push":
            behavior.show("Push, hard goal", behavior.pushes(chosen, goal="com-xy"), every=rows)
            behavior.show("Push, moving goal", behavior.pushes(chosen, goal="auto"), every=rows)
        elif name == "terrain":
            behavior.show("Slopes to 20° and rough:0.2", behavior.terrain(chosen, behavior.GENTLE), every=rows)
            behavior.show("35°, rough:1.0, steps", behavior.terrain(chosen, behavior.STEEP), every=rows)
        elif name == "stairs":
            behavior.show("Stairs 20 × 60 cm", behavior.terrain(chosen, behavior.STAIRS), every=rows)
        elif name == "impossible":
            behavior.show("The impossible sample", behavior.impossible(), every=True)
        elif name == "endurance":
            behavior.show(
                f"{wanted.steps} steps of random shoves", behavior.endurance(chosen, wanted.steps), every=rows
            )
        else:
            subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


if __name__ == "__main__":
    main()
