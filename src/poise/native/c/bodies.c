/* Loops over bodies and points; the twins are in `physics/kernels.py`. */
#include "core.h"

API void point_jacobians(word points, word bodies, word nv, word rows, const word *point_body, const real *places,
                         const word *tree_root, const real *subtree_com, const word *parents, const word *dof_first,
                         const word *dof_count, const real *cdof, real *out) {
    fill(0.0, out, rows * nv);
    if (rows != 3 * points) return;
    for (word i = 0; i < points; i++) {
        word b = point_body[i];
        const real *p = places + 3 * i, *o = subtree_com + 3 * tree_root[b];
        real rx = p[0] - o[0], ry = p[1] - o[1], rz = p[2] - o[2], *x = out + 3 * i * nv, *y = x + nv, *z = y + nv;
        for (; b > 0; b = parents[b])
            for (word j = dof_first[b]; j < dof_first[b] + dof_count[b]; j++) {
                const real *c = cdof + 6 * j;
                x[j] = c[3] + c[1] * rz - c[2] * ry;
                y[j] = c[4] + c[2] * rx - c[0] * rz;
                z[j] = c[5] + c[0] * ry - c[1] * rx;
            }
    }
}
