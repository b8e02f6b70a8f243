"""The usual problem in normal form by one compiled call; see `usual`, whose tables say what stands where."""

from __future__ import annotations

from numba import njit

from poise import compiled
from poise.compiled import KERNEL
from poise.light import cube, flags, index, light, matrix, vector
from poise.physics import kernels
from poise.step import algebra, cones, normal
from poise.step.algebra import dot, fill
from poise.step.cones import act, spread
from poise.step.normal import add_directions, add_dofs, add_rows, add_square, add_turns, close_bodies


@njit(**KERNEL)
def assemble(at, sizes, numbers):
    """Fill the normal form of a usual problem, and sizes[8:] with what `condensed.solve_table` asks for."""
    at, sizes, numbers = light(at), light(sizes), light(numbers)
    nv, bodies, points, root = sizes[0], sizes[1], sizes[2], sizes[3]
    touching, limits, ground, goals = sizes[4], sizes[5], sizes[6], sizes[7]
    friction, share_weight, limit_weight, ground_weight = numbers[0], numbers[1], numbers[2], numbers[3]
    parents, dof_first, dof_count = index(at[0], bodies), index(at[1], bodies), index(at[2], bodies)
    dof_body, tree_root, point_body = index(at[3], nv), index(at[4], bodies), index(at[5], points)
    masses, subtree_masses = vector(at[6], bodies), vector(at[7], bodies)
    M, bias, cdof, cvel = matrix(at[8], nv, nv), vector(at[9], nv), matrix(at[10], nv, 6), matrix(at[11], bodies, 6)
    xipos, subtree_com, body_biases = matrix(at[12], bodies, 3), matrix(at[13], bodies, 3), matrix(at[14], bodies, 6)
    places, point_biases = matrix(at[15], points, 3), matrix(at[16], points, 3)
    count, n = limits + ground, 4 * touching

    # what contact forces act through
    touched, normals = index(at[29], touching), matrix(at[30], touching, 3)
    share, first, width = matrix(at[39], n, 6), index(at[40], n), index(at[41], n)
    c = spread(
        touched, normals, friction, places, point_body, tree_root, subtree_com, matrix(at[37], n, 3),
        index(at[38], n), share, first, width,
    )  # fmt: skip
    acts = matrix(at[42], nv, c)
    fill(0.0, vector(at[42], nv * c))
    act(touched, first, width, places, point_body, tree_root, subtree_com, parents, dof_first, dof_count, cdof, acts)

    # objectives
    Q, b, S, f, C = (
        matrix(at[43], nv, nv),
        vector(at[44], nv),
        matrix(at[45], c, c),
        vector(at[46], c),
        matrix(at[47], c, nv),
    )
    squares, sums = cube(at[56], bodies, 6, 6), matrix(at[57], bodies, 6)
    fill(0.0, vector(at[43], nv * nv))
    fill(0.0, b)
    fill(0.0, vector(at[45], c * c))
    fill(0.0, f)
    fill(0.0, vector(at[47], c * nv))
    fill(0.0, vector(at[56], bodies * 36))
    fill(0.0, vector(at[57], bodies * 6))
    external, constant = vector(at[27], nv), vector(at[36], nv)
    for i in range(nv):
        constant[i] = bias[i] - external[i]
    effort, torque = vector(at[17], nv), vector(at[18], nv)
    add_square(M, effort, torque, constant, matrix(at[65], nv, nv), Q, b, index(at[66], 5))
    add_rows(M, acts, -1.0, effort, torque, constant, matrix(at[43], 0, 0), b, S, f, C)
    add_turns(vector(at[19], 3 * bodies - 3), vector(at[20], 3 * bodies - 3), body_biases, squares, sums)
    add_dofs(0, vector(at[21], 3), vector(at[22], 3), Q, b)
    add_directions(
        index(at[61], points), cube(at[25], points, 3, 3), vector(at[23], 3 * points), vector(at[24], 3 * points),
        places, point_biases, point_body, tree_root, subtree_com, squares, sums,
    )  # fmt: skip
    close_bodies(parents, dof_first, dof_count, cdof, squares, sums, Q, b)

    # coefficients: their weight is a share of the mean diagonal of B W Bᵀ, whose columns are S
    weight, target, coefficients = vector(at[48], n), vector(at[49], n), matrix(at[26], points, 4)
    warm, expected = flags(at[58], n), flags(at[62], 4 * points)
    total = 0.0
    for i in range(n):
        at_first = first[i]
        for e in range(width[i]):
            total += share[i, e] * share[i, e] * S[at_first + e, at_first + e]
            for d in range(e):
                total += 2.0 * share[i, e] * share[i, d] * S[at_first + d, at_first + e]
    for k in range(touching):
        for e in range(4):
            i = 4 * k + e
            weight[i], target[i] = share_weight * total / n, coefficients[touched[k], e]
            warm[i] = expected[4 * touched[k] + e]

    # constraints
    G, D, g = matrix(at[50], 2, nv), vector(at[51], goals * c), vector(at[52], 2)
    fill(0.0, D)
    if goals > 0:
        goal, jacobian, drift = vector(at[28], 2), matrix(at[63], 3, nv), vector(at[64], 3)
        kernels.com_rows(
            masses, subtree_masses, xipos, tree_root, dof_body, subtree_com, cvel, cdof, body_biases, root, jacobian,
            drift,
        )  # fmt: skip
        for e in range(goals):
            g[e] = goal[e] - drift[e]
            for i in range(nv):
                G[e, i] = jacobian[e, i]
    J, lower, bound_weight = matrix(at[53], count, nv), vector(at[54], count), vector(at[55], count)
    algebra.put_rows(matrix(at[31], limits, nv), J, 0)
    kernels.point_rows(
        index(at[33], ground), cube(at[34], ground, 1, 3), places, point_biases, point_body, tree_root, subtree_com,
        parents, dof_first, dof_count, cdof, J[limits:], lower[limits:],
    )  # fmt: skip
    limit_lower, ground_lower = vector(at[32], limits), vector(at[35], ground)
    taken, guess = flags(at[59], count), vector(at[60], nv)
    for i in range(count):
        lower[i] = limit_lower[i] if i < limits else ground_lower[i - limits] - lower[i]
        bound_weight[i] = limit_weight if i < limits else ground_weight
        taken[i] = dot(guess, J[i]) < lower[i]
    sizes[8], sizes[9], sizes[10], sizes[11], sizes[12], sizes[13] = nv, c, n, goals, count, 0


assemble = compiled.calls(assemble, *(str(file.__file__) for file in (kernels, algebra, cones, normal)))
