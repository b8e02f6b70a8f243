"""Evidence weighed in one place: candidates, witnesses, and the table from which everything that is said is read.

A question (which way is up, how long is a unit, how fast was it recorded, what is this bone) has candidates. Every
witness is one small function that says how likely what it saw would be under each candidate, and why. The table adds
the logarithms of what they say; the decision, its confidence, the explanation, the warning and the question to the
user are all read off it. A new witness is one more function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from poise.core.typing import Array

Candidate = TypeVar("Candidate", bound=Hashable)

MISTAKEN = 0.02
"""How often any witness is wrong altogether: none of them can outweigh all the others [1]."""
WORTH_SAYING = 0.3
"""A witness is quoted if it moves the decision by this much, as a difference of logarithms [1]."""


@dataclass(frozen=True)
class Testimony(Generic[Candidate]):
    """What one witness says.

    Attributes:
        witness: Its name.
        likelihood: How likely what it saw would be under each candidate, up to a common factor, shape (C,).
        reason: In words, for a candidate it speaks for or against; "" where it has nothing to say of it.
    """

    witness: str
    likelihood: Array
    reason: Callable[[Candidate], str]

    @property
    def support(self) -> Array:
        """Logarithm of the likelihood with the chance that the witness is mistaken, best at 0, shape (C,)."""
        share = self.likelihood / max(float(self.likelihood.max()), 1e-300)
        return np.log((1.0 - MISTAKEN) * share + MISTAKEN)


@dataclass(frozen=True)
class Table(Generic[Candidate]):
    """All candidates of a question with what every witness says of them.

    Attributes:
        candidates: C of them.
        prior: How likely each is before anything is seen, shape (C,).
        testimonies: One a witness.
    """

    candidates: tuple[Candidate, ...]
    prior: Array
    testimonies: tuple[Testimony[Candidate], ...]

    @property
    def chance(self) -> Array:
        """Probability of each candidate, shape (C,)."""
        total = np.log(np.maximum(self.prior, 1e-300)) + sum((t.support for t in self.testimonies), np.zeros(1))
        weight = np.exp(total - total.max())
        return weight / weight.sum()

    @property
    def best(self) -> Candidate:
        return self.candidates[int(np.argmax(self.chance))]

    def chance_of(self, holds: Callable[[Candidate], bool]) -> float:
        """Probability of all candidates of which something holds."""
        return float(sum(share for candidate, share in zip(self.candidates, self.chance) if holds(candidate)))

    def ask(self, part: Callable[[Candidate], Hashable], against: Hashable = None) -> Answer:
        """The answer to one question that the candidates differ in, such as `lambda reading: reading.up`.

        Reasons are those for the best candidate before the next best of another answer, or before that of `against`.
        """
        chance = self.chance
        totals: dict[Hashable, float] = {}
        for candidate, share in zip(self.candidates, chance):
            totals[part(candidate)] = totals.get(part(candidate), 0.0) + float(share)
        best = int(np.argmax(chance))
        chosen = part(self.candidates[best])
        others = [k for k, c in enumerate(self.candidates) if part(c) != chosen]
        others = [k for k in others if part(self.candidates[k]) == against] or others
        rival = max(others, key=lambda k: chance[k], default=None)
        quoted = []
        for testimony in self.testimonies:
            lead = math.inf if rival is None else float(testimony.support[best] - testimony.support[rival])
            reason = testimony.reason(self.candidates[best])
            if reason and abs(lead) >= WORTH_SAYING:
                quoted.append((lead, reason))
        return Answer(
            value=chosen,
            confidence=totals[chosen],
            rival=None if rival is None else part(self.candidates[rival]),
            reasons=tuple(w for lead, w in sorted(quoted, key=lambda q: -q[0]) if lead > 0.0),
            doubts=tuple(w for lead, w in sorted(quoted, key=lambda q: q[0]) if lead < 0.0),
        )


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    Attributes:
        value: What was decided.
        confidence: Its probability (0 … 1).
        rival: The next best value, None without one.
        reasons: What speaks for it, strongest first.
        doubts: What speaks against it, strongest first.
    """

    value: Hashable
    confidence: float
    rival: Hashable
    reasons: tuple[str, ...]
    doubts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Reasons and doubts in one line."""
        text = "; ".join(self.reasons[:3])
        if self.doubts:
            text += f"{'; ' if text else ''}against it: {'; '.join(self.doubts[:2])}"
        return text


def weigh(
    candidates: Sequence[Candidate], prior: Array, testimonies: Sequence[Testimony[Candidate] | None]
) -> Table[Candidate]:
    """A table of all candidates; witnesses that saw nothing (None) are left out."""
    return Table(tuple(candidates), np.asarray(prior, dtype=np.float64), tuple(t for t in testimonies if t is not None))
