/* Impulses at contacts between bodies; the twins are in `world/contacts.py`. */
#include "core.h"

static real dot6(const real *x, const real *y) {
    return ((x[0] * y[0] + x[1] * y[1]) + (x[2] * y[2] + x[3] * y[3])) + (x[4] * y[4] + x[5] * y[5]);
}

/* Velocity along one row of a contact, of both its trees. */
static real along(const word *trees, const word *first, const word *width, word w, const real *rows, word r,
                  const real *v) {
    real sum = 0;
    for (word side = 0; side < 2; side++)
        if (trees[side] >= 0) {
            const real *J = rows + (3 * side + r) * w, *own = v + first[trees[side]];
            word many = width[trees[side]];
            sum += many == 6 ? dot6(J, own) : dot(J, own, many);
        }
    return sum;
}

static void push(const word *trees, const word *first, const word *width, word w, const real *answers, word r,
                 real impulse, real *v) {
    for (word side = 0; side < 2; side++)
        if (trees[side] >= 0) add(impulse, answers + (3 * side + r) * w, v + first[trees[side]], width[trees[side]]);
}

API word sweep_contacts(word k, word t, word w, word nv, const word *trees, const word *first, const word *width,
                        const real *rows, const real *answers, const real *wanted, const real *friction,
                        const real *largest, const real *diagonal, const real *soft, word sweeps, real tolerance, real *v, real *p,
                        flag *awake, flag *later) {
    (void)nv;
    for (word sweep = 0; sweep < sweeps; sweep++) {
        memset(later, 0, (size_t)t);
        word any = 0;
        for (word i = 0; i < k; i++) {
            const real *J = rows + 6 * w * i, *W = answers + 6 * w * i, *own_diagonal = diagonal + 3 * i;
            const real d[3] = {own_diagonal[0] + soft[0], own_diagonal[1] + soft[1], own_diagonal[2] + soft[2]};
            const word *own = trees + 2 * i;
            real *impulse = p + 3 * i, step[3], change = 0;
            if (!(d[0] > 1e-12) || !((own[0] >= 0 && awake[own[0]]) || (own[1] >= 0 && awake[own[1]]))) continue;
            real old = impulse[0], u = along(own, first, width, w, J, 0, v) - wanted[3 * i] + soft[0] * old;
            impulse[0] = friction[i] < 0 ? old - u / d[0] : smaller(largest[i], larger(0, old - u / d[0]));
            step[0] = impulse[0] - old;
            if (step[0] != 0) push(own, first, width, w, W, 0, step[0], v);
            real across = larger(d[1], d[2]), t1 = impulse[1], t2 = impulse[2];
            if (across > 1e-12) {
                real next1 = t1 - (along(own, first, width, w, J, 1, v) - wanted[3 * i + 1] + soft[1] * t1) / across;
                real next2 = t2 - (along(own, first, width, w, J, 2, v) - wanted[3 * i + 2] + soft[2] * t2) / across;
                real size = sqrt(next1 * next1 + next2 * next2), most = friction[i] * impulse[0];
                real part = size > most && friction[i] >= 0 ? most / size : 1;
                impulse[1] = part * next1;
                impulse[2] = part * next2;
            }
            step[1] = impulse[1] - t1;
            step[2] = impulse[2] - t2;
            for (word r = 1; r < 3; r++)
                if (step[r] != 0) push(own, first, width, w, W, r, step[r], v);
            for (word r = 0; r < 3; r++) change = larger(change, fabs(step[r]) * d[r]);
            if (change < tolerance) continue;
            any = 1;
            for (word side = 0; side < 2; side++)
                if (own[side] >= 0) later[own[side]] = 1;
        }
        memcpy(awake, later, (size_t)t);
        if (!any) return sweep + 1;
    }
    return sweeps;
}

/* The point of a contact's cone nearest to p, cut off at the largest impulse. */
static void project_cone(const real *p, real mu, real most, real *out) {
    real size = sqrt(p[1] * p[1] + p[2] * p[2]);
    memcpy(out, p, 3 * sizeof *p);
    if (mu < 0) return;
    if (size > mu * p[0] || p[0] < 0) {
        real normal = mu * size <= -p[0] ? 0 : (p[0] + mu * size) / (1 + mu * mu);
        real part = size > 0 ? mu * normal / size : 0;
        out[0] = normal;
        out[1] = part * p[1];
        out[2] = part * p[2];
    }
    if (out[0] > most) {
        real across = sqrt(out[1] * out[1] + out[2] * out[2]), held = mu * most;
        out[0] = most;
        if (across > held) {
            out[1] *= held / across;
            out[2] *= held / across;
        }
    }
}

API word split_cones(word n, word k, word m, const real *inverse, const real *g, const real *friction,
                     const real *largest, const real *scale, word cones, real rho, word most, real tolerance, real *y, real *z,
                     real *room, real *left) {
    (void)m;
    real *x = room, *right = room + n;
    left[0] = left[1] = HUGE_VAL;
    for (word turn = 0; turn < most; turn++) {
        for (word j = 0; j < n; j++) right[j] = rho * z[j] + y[j] - g[j];
        for (word i = 0; i < cones; i++)
            right[3 * i] -= larger(0, friction[i]) * sqrt(y[3 * i + 1] * y[3 * i + 1] + y[3 * i + 2] * y[3 * i + 2]);
        for (word j = 0; j < n; j++) x[j] = dot(inverse + j * n, right, n);
        left[0] = left[1] = 0;
        for (word i = 0; i < cones; i++) {
            real a = x[3 * i] - y[3 * i] / rho, b = x[3 * i + 1] - y[3 * i + 1] / rho;
            real c = x[3 * i + 2] - y[3 * i + 2] / rho;
            const real away[3] = {a, b, c};
            real next[3];
            project_cone(away, friction[i], largest[i], next);
            for (word r = 0; r < 3; r++) {
                word j = 3 * i + r;
                real gap = x[j] - next[r];
                left[0] = larger(left[0], fabs(gap) / scale[i]);
                left[1] = larger(left[1], rho * fabs(next[r] - z[j]) / scale[i]);
                z[j] = next[r];
                y[j] -= rho * gap;
            }
        }
        for (word i = cones; i < k; i++) { /* without friction: one row */
            word j = 2 * cones + i;
            real next = smaller(largest[i], larger(0, x[j] - y[j] / rho)), gap = x[j] - next;
            left[0] = larger(left[0], fabs(gap) / scale[i]);
            left[1] = larger(left[1], rho * fabs(next - z[j]) / scale[i]);
            z[j] = next;
            y[j] -= rho * gap;
        }
        if (left[0] < tolerance && left[1] < tolerance) return turn + 1;
    }
    return most;
}

/* What contacts ask for at p: y = p − (A p + g) / d, its projection's distance from p, and the sum of squares of that. */
static real look(word k, const real *A, const real *g, const real *friction, const real *largest, const real *d,
                 const real *p, real *y, real *wrong) {
    word n = 3 * k;
    real merit = 0;
    for (word i = 0; i < k; i++) {
        real *own = y + 3 * i, *left = wrong + 3 * i;
        for (word r = 0; r < 3; r++) {
            word j = 3 * i + r;
            own[r] = p[j] - (dot(A + j * n, p, n) + g[j]) / d[i];
        }
        real normal = friction[i] < 0 ? own[0] : smaller(largest[i], larger(0, own[0]));
        real size = sqrt(own[1] * own[1] + own[2] * own[2]), radius = friction[i] < 0 ? size : friction[i] * normal;
        real part = size > radius ? radius / size : 1;
        left[0] = p[3 * i] - normal;
        left[1] = p[3 * i + 1] - part * own[1];
        left[2] = p[3 * i + 2] - part * own[2];
        for (word r = 0; r < 3; r++) merit += d[i] * d[i] * left[r] * left[r];
    }
    return merit;
}

/* Solve M x = x in place by elimination with row exchange; returns 0 where M has no inverse. */
static word solve_dense(word n, real *M, real *x) {
    for (word c = 0; c < n; c++) {
        word at = c;
        for (word r = c + 1; r < n; r++)
            if (fabs(M[r * n + c]) > fabs(M[at * n + c])) at = r;
        if (!(fabs(M[at * n + c]) > 1e-14)) return 0;
        if (at != c) {
            for (word j = c; j < n; j++) {
                real kept = M[c * n + j];
                M[c * n + j] = M[at * n + j];
                M[at * n + j] = kept;
            }
            real kept = x[c];
            x[c] = x[at];
            x[at] = kept;
        }
        for (word r = c + 1; r < n; r++) {
            real part = M[r * n + c] / M[c * n + c];
            if (part == 0) continue;
            add(-part, M + c * n + c + 1, M + r * n + c + 1, n - c - 1);
            x[r] -= part * x[c];
        }
    }
    for (word c = n - 1; c >= 0; c--) x[c] = (x[c] - dot(M + c * n + c + 1, x + c + 1, n - c - 1)) / M[c * n + c];
    return 1;
}

static const real least = 3e-3, most_damping = 0.1; /* as in the twin */

API word newton(word n, word k, word m, const real *A, const real *g, const real *friction, const real *largest,
                word most, real tolerance, real *p, real *room) {
    real *d = room, *y = d + n, *wrong = y + n, *now = wrong + n, *step = now + n, *right = step + n, *row = right + n;
    real *tried = row + n, *M = tried + n, best = HUGE_VAL;
    word *unknown = (word *)(M + n * n); /* those whose projection follows; the others go where they are sent */
    if (m < n * n + 9 * n) return -1;
    for (word i = 0; i < k; i++)
        d[i] = larger(1e-9, (A[3 * i * (n + 1)] + A[(3 * i + 1) * (n + 1)] + A[(3 * i + 2) * (n + 1)]) / 3);
    memcpy(now, p, (size_t)n * sizeof *p);
    real damping = 0, merit = look(k, A, g, friction, largest, d, now, y, wrong);
    for (word turn = 0; turn <= most; turn++) {
        real worst = 0;
        for (word j = 0; j < n; j++) worst = larger(worst, fabs(wrong[j]) * d[j / 3]);
        if (!isfinite(merit)) return -1;
        if (worst < best) {
            best = worst;
            memcpy(p, now, (size_t)n * sizeof *p);
        }
        if (worst < tolerance) return turn;
        if (turn == most) return -1;
        word count = 0;
        for (word i = 0; i < k; i++) {
            int joined = friction[i] < 0, follows = joined || (y[3 * i] > 0 && y[3 * i] < largest[i]);
            int pushes = joined || (y[3 * i] > 0 && friction[i] > 0);
            for (word r = 0; r < 3; r++) {
                step[3 * i + r] = -wrong[3 * i + r];
                if (r == 0 ? follows : pushes) unknown[count++] = 3 * i + r;
            }
        }
        for (word u = 0; u < count; u++) {
            word j = unknown[u], i = j / 3, r = j % 3;
            const real *own = y + 3 * i;
            real normal = smaller(largest[i], larger(0, own[0])), size = sqrt(own[1] * own[1] + own[2] * own[2]);
            real radius = friction[i] * normal, D[3] = {0, 0, 0};
            if (r == 0 || size <= radius || friction[i] < 0) {
                D[r] = 1;
            } else {
                for (word s = 1; s < 3; s++) D[s] = radius / size * ((s == r) - own[r] * own[s] / (size * size));
                if (own[0] < largest[i]) D[0] = friction[i] * own[r] / size;
            }
            memset(row, 0, (size_t)n * sizeof *row);
            for (word s = 0; s < 3; s++) {
                if (D[s] != 0) add(D[s] / d[i], A + (3 * i + s) * n, row, n);
                row[3 * i + s] += (s == r) - D[s];
            }
            row[j] += damping;
            right[u] = -wrong[j];
            for (word x = 0; x < count; x++) M[u * count + x] = row[unknown[x]];
            word next = 0;
            for (word x = 0; x < n; x++) {
                if (next < count && unknown[next] == x) next++;
                else right[u] -= row[x] * step[x];
            }
        }
        if (!solve_dense(count, M, right)) return -1;
        for (word u = 0; u < count; u++) step[unknown[u]] = right[u];
        real last = merit;
        for (word j = 0; j < n; j++) tried[j] = now[j] + step[j];
        merit = look(k, A, g, friction, largest, d, tried, y, wrong);
        if (merit < last) {
            damping *= 0.5;
        } else {
            real whole = merit;
            for (word j = 0; j < n; j++) tried[j] = now[j] + 0.5 * step[j];
            merit = look(k, A, g, friction, largest, d, tried, y, wrong);
            if (merit >= last && !(merit < whole)) { /* neither is better: the whole step leads further */
                for (word j = 0; j < n; j++) tried[j] = now[j] + step[j];
                merit = look(k, A, g, friction, largest, d, tried, y, wrong);
            }
            damping = smaller(larger(2 * damping, least), most_damping);
        }
        memcpy(now, tried, (size_t)n * sizeof *p);
    }
    return -1;
}

API void law_residuals(word k, const real *u, const real *p, const real *friction, const real *mean, const real *largest,
                       real *out) {
    for (word i = 0; i < k; i++) {
        const real *v = u + 3 * i, *own = p + 3 * i;
        real d = larger(1e-9, mean[i]), across = sqrt(v[1] * v[1] + v[2] * v[2]), near[3];
        real far[3] = {own[0] - (v[0] + larger(0, friction[i]) * across) / d, own[1] - v[1] / d, own[2] - v[2] / d};
        project_cone(far, friction[i], largest[i], near);
        out[i] = 0;
        for (word r = 0; r < 3; r++) out[i] = larger(out[i], fabs(d * (own[r] - near[r])));
    }
}

API void contact_diagonals(word k, word w, const word *trees, const real *rows, const real *answers, real *diagonal) {
    for (word i = 0; i < k; i++)
        for (word r = 0; r < 3; r++) {
            diagonal[3 * i + r] = 0;
            for (word s = 0; s < 2; s++) {
                word at = (3 * (2 * i + s) + r) * w;
                if (trees[2 * i + s] >= 0) diagonal[3 * i + r] += dot(rows + at, answers + at, w);
            }
        }
}

/* The first of the group of a tree; trees on the way there come nearer to it. */
static word group_of(word *group, word tree) {
    while (group[tree] != tree) tree = group[tree] = group[group[tree]];
    return tree;
}

API void label_islands(word k, word t, const word *trees, const flag *is_figure, word *label, word *group) {
    for (word i = 0; i < t; i++) group[i] = i;
    for (word i = 0; i < k; i++) {
        if (trees[2 * i] < 0 || trees[2 * i + 1] < 0) continue;
        word a = group_of(group, trees[2 * i]), b = group_of(group, trees[2 * i + 1]);
        group[a > b ? a : b] = a > b ? b : a;
    }
    for (word i = 0; i < t; i++) group[i] = group_of(group, i);
    for (word i = 0; i < k; i++) label[i] = -1;
    for (word f = 0; f < t; f++) {
        if (!is_figure[f]) continue;
        for (word i = 0; i < k; i++)
            for (word side = 0; side < 2; side++)
                if (trees[2 * i + side] >= 0 && group[trees[2 * i + side]] == group[f]) label[i] = group[f];
    }
}

API void delassus(word k, word t, word w, const word *trees, const word *width, const real *rows, const real *answers,
                  real *A) {
    (void)t;
    memset(A, 0, (size_t)(9 * k * k) * sizeof *A);
    for (word i = 0; i < k; i++)
        for (word s = 0; s < 2; s++) {
            word own = trees[2 * i + s];
            if (own < 0) continue;
            for (word j = 0; j < k; j++)
                for (word r = 0; r < 2; r++) {
                    if (trees[2 * j + r] != own) continue;
                    const real *J = rows + 3 * (2 * i + s) * w, *W = answers + 3 * (2 * j + r) * w;
                    for (word x = 0; x < 3; x++)
                        for (word y = 0; y < 3; y++)
                            A[(3 * i + x) * 3 * k + 3 * j + y] += dot(J + x * w, W + y * w, width[own]);
                }
        }
}

API void contact_speeds(word k, word t, word w, word nv, const word *trees, const word *first, const word *width,
                        const real *rows, const real *v, real *u) {
    (void)t, (void)nv;
    for (word i = 0; i < k; i++)
        for (word r = 0; r < 3; r++) u[3 * i + r] = along(trees + 2 * i, first, width, w, rows + 6 * w * i, r, v);
}

API void apply_impulses(word k, word t, word w, word nv, const word *trees, const word *first, const word *width,
                        const real *answers, const real *p, real *v) {
    (void)t, (void)nv;
    for (word i = 0; i < k; i++)
        for (word r = 0; r < 3; r++)
            if (p[3 * i + r] != 0) push(trees + 2 * i, first, width, w, answers + 6 * w * i, r, p[3 * i + r], v);
}

API word settle_contacts(word k, word t, word w, word nv, word m, const word *trees, const word *first,
                         const word *width, const real *rows, const real *answers, const real *wanted,
                         const real *friction, const real *largest, const real *soft, word is_linked, word sweeps,
                         word many, real settled, word quick, real tolerance, real *v, real *p, real *residual,
                         real *room, flag *awake, flag *later) {
    real *diagonal = room, *u = diagonal + 3 * k, *mean = u + 3 * k, *A = mean + k, *rest = A + 9 * k * k;
    word n = 3 * k, left = m - 7 * k - 9 * k * k;
    if (m < 7 * k) return -1;
    contact_diagonals(k, w, trees, rows, answers, diagonal);
    if (is_linked) {
        if (left < n * n + 9 * n) return -1;
        delassus(k, t, w, trees, width, rows, answers, A);
        contact_speeds(k, t, w, nv, trees, first, width, rows, v, u);
        for (word j = 0; j < n; j++) {
            A[j * (n + 1)] += soft[j % 3];
            u[j] -= wanted[j];
        }
        if (newton(n, k, left, A, u, friction, largest, quick, tolerance, p, rest) < 0) return -1;
        apply_impulses(k, t, w, nv, trees, first, width, answers, p, v);
    } else {
        apply_impulses(k, t, w, nv, trees, first, width, answers, p, v);
        memset(awake, 1, (size_t)t);
        sweep_contacts(k, t, w, nv, trees, first, width, rows, answers, wanted, friction, largest, diagonal, soft, sweeps,
                       settled, v, p, awake, later);
        if (memchr(awake, 1, (size_t)t))
            sweep_contacts(k, t, w, nv, trees, first, width, rows, answers, wanted, friction, largest, diagonal, soft, many,
                           settled, v, p, awake, later);
    }
    contact_speeds(k, t, w, nv, trees, first, width, rows, v, u);
    for (word j = 0; j < n; j++) u[j] -= wanted[j];
    for (word i = 0; i < k; i++) mean[i] = (diagonal[3 * i] + diagonal[3 * i + 1] + diagonal[3 * i + 2]) / 3;
    law_residuals(k, u, p, friction, mean, largest, residual);
    return 0;
}
