"""One step as one symmetric system, its answer and the proof: the compiled core, and NumPy beside it.

    min ½ aᵀQ a − aᵀ(b + Cᵀz) + ½ zᵀS z + fᵀz + ½ Σ ε (λ − λ*)²   subject to  G a + D z = g,  λ ≥ 0, s ≥ 0,

z = (u, s): u = Σ λ_i share_i are the columns through which contacts act, s the slacks of soft bounds. In (a, η, z),
with η the multipliers of the equalities, it is one symmetric system with the right side as its last column:

    ⎡ Q   Gᵀ  −Cᵀ │  b ⎤
    ⎢ G   0    D  │  g ⎥
    ⎣−C   Dᵀ   S  │ −f ⎦

Eliminating (a, η) leaves a small non-negative problem in x = (λ, s), solved by a warm-started active set (Lawson and
Hanson 1974). A bound is left out until an answer breaks it; then its row is taken in and the step is solved again. A
soft one brings its slack. A hard one, whose weight is infinite, is an equality until it would have to pull: a
primal-dual active set (Hintermüller, Ito and Kunisch 2002).

`SystemStorage` keeps the block "System" of `native.fields`; the functions below take it.
"""

from __future__ import annotations

import numpy as np

from poise.core.typing import Array, Flags
from poise.native import Block, compiled
from poise.physics import State
from poise.physics.bodies import chain, com_rows, inverse_dynamics, material


def least_nonnegative(H: Array, f: Array, warm: Flags) -> tuple[Array, int]:
    """Min ½ xᵀH x + fᵀx, x ≥ 0, shape (n,), and the number of solves, −1 if it cycled.

    Args:
        H: Positive definite, shape (n, n).
        f: Shape (n,).
        warm: Coordinates expected to be positive, shape (n,); changes the time, not the answer.
    """
    n = len(f)
    x, room = np.zeros(n), np.empty(n * (n + 6))
    solves = nonnegative(np.ascontiguousarray(H), f, warm, x, room)
    return x, solves


@compiled("const real H[n][n], const real f[n], const flag warm[n], real x[n], real room[most]", returns="word")
def nonnegative(H, f, warm, x, room):
    """Fill x as `least_nonnegative` does; returns the number of solves."""
    del room
    n, solves = len(f), 0
    x[:] = 0.0
    passive, refused = np.flatnonzero(warm).tolist(), -1

    def at(chosen: list[int]) -> Array | None:
        try:
            factor = np.linalg.cholesky(H[np.ix_(chosen, chosen)])
        except np.linalg.LinAlgError:
            return None
        return -np.linalg.solve(factor.T, np.linalg.solve(factor, f[chosen]))

    # first throw out what comes out negative until the rest stands
    while passive:
        solves += 1
        z = at(passive)
        if z is None:
            passive = []
        elif (z > 0.0).all():
            x[passive] = z
            break
        else:
            passive = [p for p, value in zip(passive, z, strict=True) if value > 0.0]
    while solves < 10 * n + 50:
        gradient = f + H @ x
        gradient[passive] = np.inf
        if refused >= 0:
            gradient[refused] = np.inf
        # coordinates differ in unit: each slope is as exact as what it is the sum of
        gradient[gradient >= -1e-12 * (np.abs(f) + np.abs(H) @ x)] = np.inf
        if not np.isfinite(gradient).any():
            return solves
        entering = int(np.argmin(gradient))
        passive, refused = [*passive, entering], -1
        while passive:
            solves += 1
            z = at(passive)
            if z is None or (passive[-1] == entering and z[-1] <= 0.0 and x[entering] == 0.0):
                x[entering], refused = 0.0, entering  # dependent, or rounding only: it does not want to grow
                passive.pop()
                break
            now = x[passive]
            bad = z <= 0.0
            step = float(np.min(now[bad] / (now[bad] - z[bad]), initial=1.0))
            x[passive] = now + step * (z - now)
            out = [p for p, v in zip(passive, z, strict=True) if step < 1.0 and x[p] <= 1e-14 * (1.0 + abs(v))]
            x[out] = 0.0
            passive = [p for p in passive if p not in out]
            if step >= 1.0:
                break
    return -1


SOLVED, NOT_POSITIVE, DEPENDENT, CYCLED, NO_SUCH_POINT = 0, 1, 2, 3, 4
ROUNDS = 12
"""So often a step is solved again because an answer broke a bound that was left out."""
HELD_TO = 1e-7
"""Residuals of an answer with hard bounds that act; one with larger ones is none."""


def stride(order: int) -> int:
    """Numbers in a row of a system of this order: its right side, and up to a multiple of eight."""
    return (order + 8) // 8 * 8


def new_system(state: State, most: dict[str, int]) -> Block:
    """A block "System" for a state.

    Args:
        state: The state; its storage is read at each solve.
        most: Largest counts: touching, n, c, k, bounds, directed, rows, terms.
    """
    nv, bodies = state.model.nv, state.model.body_count
    n, c, k, bounds = most["n"], most["c"], most["k"], most["bounds"]
    order, every = nv + k + c + bounds, n + bounds
    room = order * stride(order) + 12 * order + 2 * every**2 + 26 * every + 64  # solve
    rows = max(nv, most["rows"]) * (stride(order) + order // 8 + 17)  # add_rows
    room = max(room, rows, c * c, 3 * nv + 64, 2 * bodies)  # assemble, spread
    sizes = {f"most_{name}": count for name, count in most.items()}
    sizes |= {"nv": nv, "bodies": bodies, "most_form": (nv + k + c) * stride(nv + k + c), "most_room": room}
    made = Block("System", sizes, {"pose": state.pose})
    made.__dict__["most"] = most
    return made


def system_of(state: State) -> Block:
    """The block of a state; made at the first call."""
    known = state.kept.get("system")
    if known is None:
        points = state.model.point_count
        most = {"touching": points, "n": 4 * points, "c": 3 * points, "k": 6, "bounds": points + 12}
        known = state.kept["system"] = new_system(state, most | {"directed": 3 * points, "rows": 12, "terms": 16})
    return known


def enlarge(state: State, name: str, count: int) -> Block:
    """The block of a state, with room for so many; a larger one takes its place where it must."""
    known = system_of(state)
    if count > known.most[name]:
        state.kept["system"] = known = new_system(state, known.most | {name: count + count // 2})
    return known


def expect(s: Block, warm: Flags | None, bounds: Flags | None, guess: Array | None) -> None:
    """Write what is expected of the answer: coefficients above zero, bounds that act, accelerations."""
    n = s.values.n
    s.warm[:n] = warm if warm is not None and len(warm) == n else False
    s.taken.fill(False)
    if bounds is not None and len(bounds) == s.values.bounds:
        s.taken[: len(bounds)] = bounds
    s.values.has_guess = guess is not None
    if guess is not None:
        s.guess[:] = guess


def form_of(s: Block) -> Array:
    """The system as a full symmetric matrix with its right side, shape (order, order + 1)."""
    order = s.pose.nv + s.k + s.c
    upper = s.form[: order * stride(order)].reshape(order, -1)[:, : order + 1]
    out = np.triu(upper)
    out[:, :order] += np.triu(out[:, :order], 1).T
    return out


def packed(array: Array, *shape: int) -> Array:
    """The leading numbers of an array in another shape, as the core packs them."""
    return array.reshape(-1)[: int(np.prod(shape))].reshape(shape)


@compiled("const real normals[k][3], real out[k][3][3]")
def frames(normals, out):
    """Fill two tangents and the normal as rows, shape (K, 3, 3): x and y where the normal points up."""
    axis = (np.abs(normals[:, 0]) > 0.9).astype(np.int64)
    first = np.eye(3)[axis] - normals * np.take_along_axis(normals, axis[:, None], axis=1)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    out[:] = np.stack([first, np.cross(normals, first), normals], axis=1)


def _are_points(p: Block, points: Array) -> bool:
    return bool(((points >= 0) & (points < p.points)).all())


@compiled("System *s", returns="word")
def spread(s):
    """Fill friction pyramids, and the columns through which plain contacts with the world act; returns a status.

    The points of one body push through one wrench (force, and moment about the center of mass of its tree), so there
    are at most six columns a body; a body with one or two points gets three a point instead, its force.
    """
    p = s.pose
    if not _are_points(p, s.contact_points[: s.touching]):
        return NO_SUCH_POINT
    s.n, s.c = 4 * s.touching, 0
    touching = s.contact_points[: s.touching]
    bodies = p.point_body[touching]
    axes = np.empty((len(touching), 3, 3))
    frames.twin(s.normals[: s.touching], axes)
    places, acts = {}, []
    for k, (i, b) in enumerate(zip(touching, bodies, strict=True)):
        is_wrench = np.count_nonzero(bodies == b) > 2
        arm = p.places[i] - p.subtree_com[p.tree_root[b]]
        if not is_wrench or b not in places:
            places[b] = s.c
            s.c += 6 if is_wrench else 3
            block = np.zeros((p.nv, 6))
            above = b
            while above > 0:
                own = slice(p.dof_first[above], p.dof_first[above] + p.dof_count[above])
                block[own, :3] = p.cdof[own, 3:] + (0.0 if is_wrench else np.cross(p.cdof[own, :3], arm))
                block[own, 3:] = p.cdof[own, :3]
                above = p.parents[above]
            acts.append(block if is_wrench else block[:, :3])
        rows = slice(4 * k, 4 * k + 4)
        sides = s.friction[k] * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]) @ axes[k, :2]
        s.directions[rows] = axes[k, 2] + sides
        s.owner[rows], s.first[rows], s.width[rows] = k, places[b], 6 if is_wrench else 3
        s.share[rows, :3] = s.directions[rows]
        s.share[rows, 3:] = np.cross(arm, s.directions[rows]) if is_wrench else 0.0
    if acts:
        packed(s.acts, p.nv, s.c)[:] = np.concatenate(acts, axis=1)
    return SOLVED


def share_matrix(s: Block) -> Array:
    """What each coefficient adds to the columns, shape (n, c)."""
    n = s.n
    out = np.zeros((n, s.c + 6))
    out[np.arange(n)[:, None], s.first[:n, None] + np.arange(6)] = s.share[:n]
    return out[:, : s.c]


def _place_rows(p: Block, bodies: Array, places: Array, axes: Array) -> Array:
    """Rows axis · J (K, nv) of places (K, 3) on bodies (K,) along axes (K, 3)."""
    arms = places - p.subtree_com[p.tree_root[bodies]]
    rows, out = np.concatenate([np.cross(arms, axes), axes], axis=1), np.zeros((len(bodies), p.nv))
    for k, body in enumerate(bodies):
        own = chain(p, body)
        out[k, own] = p.cdof[own] @ rows[k]
    return out


def _point_rows(p: Block, points: Array, axes: Array) -> Array:
    """Rows axis · J (K, nv) of contact points along axes (K, 3)."""
    return _place_rows(p, p.point_body[points], p.places[points], axes)


@compiled("System *s", returns="word")
def assemble(s):
    """Fill `form`, the weight of λ, and the rows of bounds on points: every objective as rows over (a, η, u).

    Returns a status: NO_SUCH_POINT where an index is none of the model's.
    """
    p = s.pose
    if not s.is_spread and spread.twin(s) != SOLVED:
        return NO_SUCH_POINT
    on_points = np.flatnonzero(~s.is_given[: s.bounds] & (s.bound_point[: s.bounds] >= 0))
    on_torques = np.flatnonzero(~s.is_given[: s.bounds] & (s.bound_point[: s.bounds] < 0))
    free = (s.direction_point[: s.directed] == -1) | (s.direction_point[: s.directed] == -2)
    owners = s.direction_body[: s.directed][free]
    if not (
        _are_points(p, s.direction_point[: s.directed][~free])
        and _are_points(p, s.bound_point[on_points])
        and (s.bound_point[on_torques] >= -p.nv).all()
        and ((owners >= 0) & (owners < p.bodies)).all()
    ):
        return NO_SUCH_POINT
    nv, n, c, k, count = p.nv, s.n, s.c, s.k, s.directed
    order = nv + k + c
    acts = packed(s.acts, nv, c)
    blocks: list[tuple[Array, Array | None, Array, Array]] = [
        (p.M + np.diag(s.damping), -acts, s.torque_weight, s.torque_target - p.bias + s.external)
    ]
    packed(s.row_u, s.rows, c)[: s.tabled_rows] = 0.0
    if s.rows:
        blocks.append((s.row_a[: s.rows], packed(s.row_u, s.rows, c), s.row_weight[: s.rows], s.row_target[: s.rows]))
    if s.has_turns:
        turns = np.zeros((p.bodies, 3, nv))
        for b in range(1, p.bodies):
            turns[b] = turns[p.parents[b]]
            own = slice(p.dof_first[b], p.dof_first[b] + p.dof_count[b])
            turns[b, :, own] = p.cdof[own, :3].T
        asked = s.turn_target[1:] - p.body_biases[1:, :3]
        blocks.append((turns[1:].reshape(-1, nv), None, s.turn_weight[1:].ravel(), asked.ravel()))
    if count:
        at, axes = s.direction_point[:count], s.direction[:count]
        owner = np.where(at < 0, s.direction_body[:count], p.point_body[at])
        places = np.where(at[:, None] < 0, s.direction_place[:count], p.places[at])
        biases = material(p.cvel[owner], p.body_biases[owner], places - p.subtree_com[p.tree_root[owner]])[1]
        rows, asked = _place_rows(p, owner, places, axes), s.direction_target[:count] - np.sum(axes * biases, axis=1)
        for i in np.flatnonzero(at == -2):  # turning
            rows[i] = np.where(chain(p, owner[i]), p.cdof[:, :3] @ axes[i], 0.0)
            asked[i] = s.direction_target[i] - places[i, 0]
        blocks.append((rows, None, s.direction_weight[:count], asked))
    form = np.zeros((order, order + 1))
    for on_a, on_u, weight, asked in blocks:
        rows = np.zeros((len(weight), order + 1))
        rows[:, :nv], rows[:, order] = on_a, asked
        if on_u is not None:
            rows[:, nv + k : order] = on_u
        form += rows[:, :order].T @ (np.where(weight >= 0.0, weight, np.nan)[:, None] * rows)
    form[range(nv), range(nv)] += np.where(s.dof_weight >= 0.0, s.dof_weight, np.nan)
    form[:nv, order] += s.dof_pull
    if s.relative > 0.0 and n:
        gram = share_matrix(s) @ acts.T
        s.weight[:n] = s.relative * np.einsum("nj,j,nj->n", gram, s.relative_weight, gram).mean()
    if s.com_count:
        com = slice(s.com_first, s.com_first + s.com_count)
        jacobian, bias = np.empty((3, nv)), np.empty(3)
        com_rows.twin(p, s.com_root, jacobian, bias)
        s.G[: s.com_count], packed(s.D, k, c)[: s.com_count] = jacobian[com], 0.0
        form[nv : nv + s.com_count, order] -= bias[com]
    held, at = slice(s.held_first, s.held_first + s.held_count), slice(s.com_count, s.com_count + s.held_count)
    s.G[at], packed(s.D, k, c)[at] = p.M[held], -acts[held]
    form[nv : nv + k, order][at] += (s.external - p.bias)[held]
    form[:nv, nv : nv + k] = s.G[:k].T
    form[nv : nv + k, nv + k : order] = packed(s.D, k, c)
    form[nv : nv + k, order] += s.g[:k]
    packed(s.form, order, stride(order))[:, : order + 1] = form
    points, axes = s.bound_point[on_points], s.bound_axis[on_points]
    s.J[on_points] = _point_rows(p, points, axes)
    s.lower[on_points] -= np.sum(axes * p.point_biases[points], axis=1)
    dofs, signs = -1 - s.bound_point[on_torques], s.bound_axis[on_torques, 0]
    s.J[on_torques] = signs[:, None] * (p.M + np.diag(s.damping))[dofs]
    s.lower[on_torques] -= signs * (p.bias - s.external)[dofs]
    if s.is_coupled:
        packed(s.X, s.bounds, c)[: s.tabled_bounds] = 0.0
        packed(s.X, s.bounds, c)[on_torques] = -signs[:, None] * acts[dofs]
    if s.has_guess and not s.is_coupled:
        s.taken[: s.bounds] |= s.J[: s.bounds] @ s.guess < s.lower[: s.bounds]
    return SOLVED


@compiled("System *s", returns="word")
def solve(s):
    """Fill a, x, slacks, taken and residuals; returns SOLVED, or why not."""
    with np.errstate(all="ignore"):  # what is not finite ends in a status
        try:
            return _solve(s)
        except np.linalg.LinAlgError:
            return NOT_POSITIVE


def _solve(s: Block) -> int:
    nv, n, c, k, bounds = s.pose.nv, s.n, s.c, s.k, s.bounds
    order = nv + k + c
    weight, target, J, lower = s.weight[:n], s.target[:n], s.J[:bounds], s.lower[:bounds]
    taken, bound_weight, slacks = s.taken[:bounds], s.bound_weight[:bounds], s.slacks[:bounds]
    is_hard = np.isinf(bound_weight)
    X = packed(s.X, bounds, c) if s.is_coupled else np.zeros((bounds, c))
    s.residuals[:] = 0.0
    s.x[:n] = 0.0
    if not ((weight >= 0.0) & np.isfinite(weight * target)).all():
        return NOT_POSITIVE
    given, share = form_of(s), share_matrix(s)
    if not np.isfinite(given).all():
        return NOT_POSITIVE
    for _ in range(ROUNDS):
        own, held = np.flatnonzero(taken & ~is_hard), np.flatnonzero(taken & is_hard)
        z0, size = nv + k + len(held), order + len(held) + len(own)
        W, right = np.zeros((size, size)), np.zeros(size)
        at = np.r_[: nv + k, z0 : z0 + c]
        W[np.ix_(at, at)], right[at] = given[:, :order], given[:, order]
        W[nv + k : z0, :nv], W[nv + k : z0, z0 : z0 + c], right[nv + k : z0] = J[held], X[held], lower[held]
        W[:, nv + k : z0] = W[nv + k : z0].T
        # w ‖J a + X u − s − lower‖²
        rows = np.concatenate([J[own], np.zeros((len(own), z0 - nv)), X[own], -np.eye(len(own))], axis=1)
        W += (rows.T * bound_weight[own]) @ rows
        right += rows.T @ (bound_weight[own] * lower[own])
        np.linalg.cholesky(W[:nv, :nv])  # raises where it is not positive
        across = W[:nv, nv:z0]
        gram = across.T @ np.linalg.solve(W[:nv, :nv], across)
        if not np.isfinite(gram).all():
            return NOT_POSITIVE
        worst = 1e13 if not len(held) else 1e10
        if z0 > nv and np.linalg.cond(gram / np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))) > worst:
            return DEPENDENT
        gone = np.linalg.solve(W[:z0, :z0], np.column_stack([W[:z0, z0:], right[:z0]]))
        Z = W[z0:, z0:] - W[:z0, z0:].T @ gone[:, :-1]
        z = right[z0:] - W[:z0, z0:].T @ gone[:, -1]
        # u = shareᵀ λ
        to_z = np.zeros((n + len(own), size - z0))
        to_z[:n, :c], to_z[n:, c:] = share, np.eye(len(own))
        H, h = to_z @ Z @ to_z.T, -to_z @ z
        H[range(n), range(n)] += weight
        h[:n] -= weight * target
        x = np.empty(len(h))
        solves = nonnegative.twin(H, h, np.append(s.warm[:n], np.zeros(len(own), dtype=np.bool_)), x, None)
        if solves < 0:
            return CYCLED
        s.residuals[3] += solves
        at = to_z.T @ x
        head = gone[:, -1] - gone[:, :-1] @ at
        a, u = head[:nv], at[:c]
        slacks[:] = 0.0
        slacks[own] = x[n:]
        if not np.isfinite(a).all():
            return NOT_POSITIVE
        value = J @ a + X @ u - lower
        broken = ~taken & ~((value >= -1e-9 * (1.0 + np.abs(lower))) & (bound_weight >= 0.0))
        press = np.zeros(bounds)
        press[held] = head[nv + k :]
        pulls = press > 1e-9 * np.abs(press).max(initial=0.0)
        if broken.any() or pulls.any():
            taken[:], s.warm[:n] = (taken | broken) & ~pulls, x[:n] > 0.0
            continue
        s.a[:], s.x[:n] = a, x[:n]
        s.residuals[:3] = _certificate(s, given, np.concatenate([head[: nv + k], u]), share, value, press)
        return SOLVED if not len(held) or s.residuals[:2].max() <= HELD_TO else DEPENDENT
    return CYCLED


def _certificate(
    s: Block, given: Array, v: Array, share: Array, value: Array, press: Array
) -> tuple[float, float, float]:
    """Relative residuals of an answer v = (a, η, u) in the problem as it was given: primal, dual, complementarity.

    `value` is what each bound has beyond its lower one, `press` the multipliers of hard ones that act.
    """
    nv, n, k, bounds = s.pose.nv, s.n, s.k, s.bounds
    order, z0, x = len(v), s.pose.nv + s.k, s.x[: s.n]
    weight, target, slacks = s.weight[:n], s.target[:n], s.slacks[:bounds]
    rest = given[:, :order] @ v - given[:, order]
    taken, is_hard = s.taken[:bounds], np.isinf(s.bound_weight[:bounds])
    soft = np.where(taken & ~is_hard, s.bound_weight[:bounds], 0.0)
    soft[is_hard] = 0.0
    short = np.where(is_hard, press, soft * (value - slacks))
    rest[:nv] += short @ s.J[:bounds]
    if s.is_coupled:
        rest[z0:] += short @ packed(s.X, bounds, s.c)
    missed = np.abs(value) / (1.0 + np.abs(s.lower[:bounds])) * (taken & is_hard)
    primal = np.max(np.abs(rest[nv:z0]) / (1.0 + np.abs(given[nv:z0, order])), initial=missed.max(initial=0.0))
    scale = max(np.abs(given[:nv, order]).max(), np.abs(given.diagonal()[:nv] * v[:nv]).max(), 1e-300)
    parts = (
        -share @ given[z0:, order] - weight * target,
        share @ (given[z0:, :nv] @ v[:nv]),
        share @ (given[z0:, nv:z0] @ v[nv:z0]),
        soft * s.lower[:bounds],
        press,
    )
    x_scale = max(1e-300, *(np.abs(part).max(initial=0.0) for part in parts))
    rate = np.concatenate([weight * (x - target) + share @ rest[z0:], -short])
    size = np.concatenate([x, slacks])
    dual = np.max(np.where(size > 0.0, np.abs(rate), -rate) / x_scale, initial=0.0)
    dual = max(dual, np.abs(rest[:nv]).max() / scale)
    gap = np.abs(size * rate).sum() / (1e-300 + np.abs(size).sum() * x_scale)
    del k
    return max(primal, float(np.max(-size, initial=0.0))), float(dual), float(gap)


@compiled("System *s")
def finish(s):
    """Fill what the answer asks of the joints and the ground, τ = M a + bias − Bᵀ λ − τ_ext, and which bounds act.

    Also the largest |inverse dynamics − M a − bias|, the first by recursion over the bodies.
    """
    p, n = s.pose, s.n
    s.acting[: s.bounds] = s.taken[: s.bounds] & (s.slacks[: s.bounds] <= 0.0)
    s.forces[: s.touching] = 0.0
    np.add.at(s.forces, s.owner[:n], s.x[:n, None] * s.directions[:n])
    inverse_dynamics.twin(p, s.a, p.inverse)
    moved = p.M @ s.a + p.bias
    s.torque[:] = moved - packed(s.acts, p.nv, s.c) @ (s.x[:n] @ share_matrix(s)) - s.external
    s.residuals[4] = np.abs(p.inverse - moved).max(initial=0.0)


@compiled("System *s", returns="word")
def answer(s):
    """`assemble`, `solve` and `finish` in one; returns the first status that is not SOLVED."""
    status = assemble.twin(s)
    if status == SOLVED:
        status = solve.twin(s)
    if status == SOLVED:
        finish.twin(s)
    return status
