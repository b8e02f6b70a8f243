/* One step: a list of objectives and constraints as one symmetric system, its answer, and the proof. Twins: step/system.py.
 *
 *   min ½ aᵀQ a − aᵀ(b + Cᵀz) + ½ zᵀS z + fᵀz + ½ Σ ε (λ − λ*)²   s.t.  G a + D z = g,  λ ≥ 0, s ≥ 0,  z = (u, s)
 *
 * with u = Σ λ share the columns through which contacts act, s the slacks of soft bounds. Hard bounds, those of infinite
 * weight, that act are equalities. It is one system in
 * (a, η, z), η the multipliers of the equalities, with the right side as its last column:
 *
 *     ⎡ Q   Gᵀ  −Cᵀ │  b ⎤        Eliminating the first nv + k pivots (the k of η are negative) leaves Z z = −h.
 *     ⎢ G   0    D  │  g ⎥
 *     ⎣−C   Dᵀ   S  │ −f ⎦        `form` holds its upper triangle, in rows of `stride(nv + k + c)` numbers.
 */
#include "core.h"

enum { SOLVED, NOT_POSITIVE, DEPENDENT, CYCLED, NO_SUCH_POINT };
enum { ROUNDS = 12 };
static const real HELD_TO = 1e-7;

static word stride(word order) { return multiple_of_8(order + 1); }

/* ---- contacts */

static void tangents(const real *n, real *first, real *second) {
    /* the part of x orthogonal to the normal; of y where the normal is close to x */
    int axis = fabs(n[0]) > 0.9;
    real length = 0;
    for (int e = 0; e < 3; e++) {
        first[e] = (e == axis) - n[e] * n[axis];
        length += first[e] * first[e];
    }
    length = sqrt(length);
    for (int e = 0; e < 3; e++) first[e] /= length;
    cross(n, first, second);
}

API void frames(word k, const real *normals, real *out) {
    for (word i = 0; i < k; i++) {
        memcpy(out + 9 * i + 6, normals + 3 * i, 3 * sizeof(real));
        tangents(normals + 3 * i, out + 9 * i, out + 9 * i + 3);
    }
}

static int are_points(const Pose *p, const word *points, word count) {
    for (word k = 0; k < count; k++)
        if (points[k] < 0 || points[k] >= p->points) return 0;
    return 1;
}

API word spread(System *s) {
    const Pose *p = s->pose;
    if (!are_points(p, s->contact_points, s->touching)) return NO_SUCH_POINT;
    word *tally = (word *)s->room, *start = tally + p->bodies, count = 0;
    for (word b = 0; b < p->bodies; b++) tally[b] = 0, start[b] = -1;
    for (word k = 0; k < s->touching; k++) tally[p->point_body[s->contact_points[k]]]++;
    for (word k = 0; k < s->touching; k++) {
        word i = s->contact_points[k], b = p->point_body[i];
        const real *n = s->normals + 3 * k, *place = p->places + 3 * i, *o = p->subtree_com + 3 * p->tree_root[b];
        int is_alone = tally[b] <= 2;
        word at = is_alone || start[b] < 0 ? count : start[b];
        start[b] = at;
        if (at + (is_alone ? 3 : 6) > count) count = at + (is_alone ? 3 : 6);
        real side[6], arm[3] = {place[0] - o[0], place[1] - o[1], place[2] - o[2]};
        tangents(n, side, side + 3);
        for (int c = 0; c < 4; c++) {
            word row = 4 * k + c;
            real *direction = s->directions + 3 * row, *share = s->share + 6 * row;
            s->owner[row] = k, s->first[row] = at, s->width[row] = is_alone ? 3 : 6;
            for (int e = 0; e < 3; e++) {
                direction[e] = n[e] + (c % 2 ? -s->friction[k] : s->friction[k]) * side[3 * (c / 2) + e];
                share[e] = direction[e];
            }
            cross(arm, direction, share + 3);
            if (is_alone) share[3] = share[4] = share[5] = 0;
        }
    }
    s->n = 4 * s->touching, s->c = count;
    fill(0.0, s->acts, p->nv * count);
    word done = 0;
    for (word k = 0; k < s->touching; k++) {
        word at = s->first[4 * k], i = s->contact_points[k], b = p->point_body[i];
        if (at < done) continue;
        int is_wrench = s->width[4 * k] == 6;
        done = at + s->width[4 * k];
        const real *o = p->subtree_com + 3 * p->tree_root[b];
        real arm[3] = {0, 0, 0}, speed[3];
        if (!is_wrench)
            for (int e = 0; e < 3; e++) arm[e] = p->places[3 * i + e] - o[e];
        for (; b > 0; b = p->parents[b])
            for (word j = p->dof_first[b]; j < p->dof_first[b] + p->dof_count[b]; j++) {
                const real *own = p->cdof + 6 * j;
                real *out = s->acts + j * count + at;
                cross(own, arm, speed);
                for (int e = 0; e < 3; e++) {
                    out[e] = own[3 + e] + speed[e];
                    if (is_wrench) out[3 + e] = own[e];
                }
            }
    }
    return SOLVED;
}

/* ---- the system */

/* Four rows of a matrix, from column `from` to `to` (multiples of 8): each gets Σ part[4 k + i] times row k of others, or
 * row list[k] if there is a list. The sums of eight columns stay in registers. With `blocks` the rows of others are zero
 * from that block of eight columns on, and the list has those with most blocks first. */
static inline void gather_rows(real *const *rows, word m, const real *others, word ld, const word *list,
                               const real *part, word count, const word *blocks, word from, word to) {
    /* what is missing of four is the first once more, which is written last */
    real *r0 = rows[0], *r1 = rows[m > 1 ? 1 : 0], *r2 = rows[m > 2 ? 2 : 0], *r3 = rows[m > 3 ? 3 : 0];
    for (word at = from; at < to; at += 8) {
        while (blocks && count > 0 && 8 * blocks[list[count - 1]] <= at) count--;
        if (count == 0) return;
        four *t0 = (four *)(r0 + at), *t1 = (four *)(r1 + at), *t2 = (four *)(r2 + at), *t3 = (four *)(r3 + at);
        four a0 = t0[0], b0 = t0[1], a1 = t1[0], b1 = t1[1], a2 = t2[0], b2 = t2[1], a3 = t3[0], b3 = t3[1];
        const real *other = others + at, *own = part;
        for (word k = 0; k < count; k++, own += 4) {
            const four *row = (const four *)(list ? other + list[k] * ld : other);
            four left = row[0], right = row[1];
            a0 += own[0] * left, b0 += own[0] * right;
            a1 += own[1] * left, b1 += own[1] * right;
            a2 += own[2] * left, b2 += own[2] * right;
            a3 += own[3] * left, b3 += own[3] * right;
            if (!list) other += ld;
        }
        t3[0] = a3, t3[1] = b3, t2[0] = a2, t2[1] = b2, t1[0] = a1, t1[1] = b1, t0[0] = a0, t0[1] = b0;
    }
}

/* Whether one of four numbers is not zero; nan is not. */
static inline int is_not_zero(const real *x) {
    uint64_t bits[4];
    memcpy(bits, x, sizeof bits);
    return ((bits[0] | bits[1] | bits[2] | bits[3]) << 1) != 0;
}

/* form += Σ w r rᵀ, r = (A, 0, sign X | target − constant); in every four columns only the rows that are not zero there.
 * Rows of A are read where they are, in blocks of eight columns up to their last that is not zero; what is behind the
 * last whole block comes from a copy. */
static void add_rows(System *s, const real *A, const real *X, real sign, const real *w, const real *target,
                     const real *bias, const real *external, word m, real *room) {
    word nv = s->pose->nv, c = s->c, z0 = nv + s->k, order = z0 + c, ld = stride(order);
    word edge = nv & ~(word)7, wide = ld - edge, all = 0;
    real *form = s->form, *tails = room, *part = tails + m * wide, *tail_part = part + 4 * m, *own = tail_part + 4 * m;
    real *asked = own + m;
    word *blocks = (word *)(asked + m), *every = blocks + m, *list = every + m, *tail_list = list + m, *has_tail = tail_list + m;
    flag *is_any = (flag *)(has_tail + m); /* for every four columns: which rows are not zero there */
    for (word k = 0; k < m; k++) {
        real *tail = tails + k * wide;
        const real *row = A + k * nv;
        blocks[k] = -1;
        if (w[k] == 0.0) continue;
        own[k] = w[k] > 0.0 ? w[k] : NAN;
        asked[k] = target[k] - (bias ? bias[k] - external[k] : 0.0);
        memcpy(tail, row + edge, (size_t)(nv - edge) * sizeof(real));
        fill(0.0, tail + nv - edge, wide - nv + edge);
        for (word j = 0; j < c; j++) tail[z0 - edge + j] = sign * X[k * c + j];
        has_tail[k] = blocks[k] = 0;
        for (word j = 0; j < order; j += 4) {
            const real *x = j < edge ? row + j : tail + j - edge;
            int is = is_not_zero(x);
            is_any[j / 4 * m + k] = (flag)is;
            if (!is) continue;
            if (j < edge) blocks[k] = j / 8 + 1;
            else has_tail[k] = 1;
        }
    }
    for (word b = edge / 8; b >= 0; b--)
        for (word k = 0; k < m; k++)
            if (blocks[k] == b) every[all++] = k;
    for (word j = 0; j < order; j += 4) {
        word count = 0, tail_count = 0, width = order - j < 4 ? order - j : 4, start = j & ~(word)7;
        const flag *is = is_any + j / 4 * m;
        four pull = {0, 0, 0, 0};
        for (word e = 0; e < all; e++) {
            word k = every[e];
            if (!is[k]) continue;
            four r = own[k] * *(const four *)(j < edge ? A + k * nv + j : tails + k * wide + j - edge);
            pull += asked[k] * r;
            *(four *)(part + 4 * count) = r, list[count++] = k;
            if (has_tail[k]) *(four *)(tail_part + 4 * tail_count) = r, tail_list[tail_count++] = k;
        }
        if (!count) continue;
        real *to[4];
        for (word i = 0; i < width; i++) to[i] = form + (j + i) * ld, to[i][order] += pull[i];
        if (start < edge) gather_rows(to, width, A, nv, list, part, count, blocks, start, edge);
        for (word i = 0; i < width; i++) to[i] += edge;
        gather_rows(to, width, tails, wide, tail_list, tail_part, tail_count, NULL, start < edge ? 0 : start - edge, wide);
    }
}

enum { TORQUE, TURN, DOF, POINT, PLACE, AXIS, MEAN, SPIN, COM, HELD, POINT_BOUND, ROW_BOUND, TORQUE_BOUND, COEFFICIENT, OWN };

/* What an objective on rows weighs, and its target less their constant part, behind the rows that are there already. */
static void append_rows(System *s, word count, const real *weight, const real *target, const real *constant) {
    for (word e = 0; e < count; e++, s->rows++)
        s->row_weight[s->rows] = weight[e], s->row_target[s->rows] = target[e] - constant[e];
}

/* Two squares of one number are one: w (x − t)² with the sum of the weights and the mean of the targets. */
static void join(real *weight, real *target, const real *more, const real *other, word n) {
    for (word i = 0; i < n; i++) {
        real own = more[i] >= 0.0 ? more[i] : NAN, sum = weight[i] + own;
        target[i] = weight[i] == 0.0 ? other[i] : own == 0.0 ? target[i] : (weight[i] * target[i] + own * other[i]) / sum;
        weight[i] = sum;
    }
}

API word write_terms(System *s) {
    word nv = s->pose->nv;
    const Pose *p = s->pose;
    s->is_coupled = s->has_turns = s->directed = s->rows = s->com_count = s->held_count = s->k = s->bounds = s->bounds_needed = 0;
    s->relative = 0;
    fill(0.0, s->torque_weight, nv);
    fill(0.0, s->damping, nv);
    fill(0.0, s->dof_weight, nv);
    fill(0.0, s->dof_pull, nv);
    for (word t = 0; t < s->terms; t++) {
        const word *term = s->table + 7 * t;
        word kind = term[0], first = term[1], count = term[2];
        const real *target = (const real *)(uintptr_t)term[3], *weight = (const real *)(uintptr_t)term[4];
        const word *points = (const word *)(uintptr_t)term[5];
        const real *rows = (const real *)(uintptr_t)term[6];
        size_t size = (size_t)count * sizeof(real);
        if (kind == TORQUE || kind == TORQUE_BOUND)
            for (word i = 0; rows && i < count; i++) s->damping[first + i] = s->dt * rows[i];
        if (kind == TORQUE) join(s->torque_weight + first, s->torque_target + first, weight, target, count);
        else if (kind == TURN) {
            if (!s->has_turns) fill(0.0, s->turn_weight, 3 * s->pose->bodies);
            s->has_turns = 1;
            join(s->turn_weight + first, s->turn_target + first, weight, target, count);
        } else if (kind == DOF) {
            for (word i = 0; i < count; i++) {
                s->dof_weight[first + i] += weight[i];
                s->dof_pull[first + i] += weight[i] * target[i];
            }
        } else if (kind == POINT) {
            for (word i = 0; i < count; i++) s->direction_point[s->directed + i] = points[i / first];
            memcpy(s->direction + 3 * s->directed, rows, 3 * size);
            memcpy(s->direction_weight + s->directed, weight, size);
            memcpy(s->direction_target + s->directed, target, size);
            s->directed += count;
        } else if (kind == PLACE) {
            const real *offset = (const real *)points;
            for (word i = 0; i < count; i++) {
                word at = s->directed++;
                s->direction_point[at] = -1, s->direction_body[at] = first;
                for (int e = 0; e < 3; e++) {
                    s->direction_place[3 * at + e] = p->xpos[3 * first + e] + dot(p->xmat + 9 * first + 3 * e, offset, 3);
                    s->direction[3 * at + e] = rows[3 * i + e];
                }
                s->direction_weight[at] = weight[i], s->direction_target[at] = target[i];
            }
        } else if (kind == AXIS) {
            const real *axis = (const real *)points, *turn = p->cvel + 6 * first;
            real u[3], speed[3], curve[3];
            for (int e = 0; e < 3; e++) u[e] = dot(p->xmat + 9 * first + 3 * e, axis, 3);
            cross(turn, u, speed);
            cross(turn, speed, curve);
            for (word i = 0; i < count; i++) {
                word at = s->directed++;
                real *row = s->direction + 3 * at;
                cross(u, rows + 3 * i, row); /* along · (α × u) = α · (u × along) */
                s->direction_point[at] = -2, s->direction_body[at] = first;
                s->direction_place[3 * at] = dot(rows + 3 * i, curve, 3) + dot(row, p->body_biases + 6 * first, 3);
                s->direction_place[3 * at + 1] = s->direction_place[3 * at + 2] = 0;
                s->direction_weight[at] = weight[i], s->direction_target[at] = target[i];
            }
        } else if (kind == MEAN) {
            real bias[3];
            com_rows(nv, s->pose, first / 3, s->room, bias);
            memcpy(s->row_a + s->rows * nv, s->room + first % 3 * nv, (size_t)nv * size);
            append_rows(s, count, weight, target, bias + first % 3);
        } else if (kind == SPIN) {
            /* the moment of the root's force (x − c) × F and of its torque R N */
            real across[18], constant[3];
            word root = p->dof_first[first];
            for (int e = 0; e < 3; e++) {
                real axis[3] = {e == 0, e == 1, e == 2}, arm[3];
                for (int d = 0; d < 3; d++) arm[d] = p->xpos[3 * first + d] - p->subtree_com[3 * first + d];
                cross(axis, arm, across + 6 * e);
                memcpy(across + 6 * e + 3, p->xmat + 9 * first + 3 * e, 3 * sizeof(real));
                real *row = s->row_a + (s->rows + e) * nv;
                fill(0.0, row, nv);
                for (int d = 0; d < 6; d++) add(across[6 * e + d], p->M + (root + d) * nv, row, nv);
                constant[e] = dot(across + 6 * e, p->bias + root, 6);
            }
            append_rows(s, count, weight, target, constant);
        } else if (kind == OWN) {
            memcpy(s->row_a + s->rows * nv, rows, (size_t)nv * size);
            append_rows(s, count, weight, target, (const real *)points);
        } else if (kind == HELD) {
            s->held_count = count, s->held_first = first;
            memcpy(s->g + s->k, target, size);
            s->k += count;
        } else if (kind == COM) {
            s->k = s->com_count = count;
            s->com_first = first % 3, s->com_root = first / 3;
            memcpy(s->g, target, size);
        } else if (kind == COEFFICIENT) {
            s->relative = rows[0];
            memcpy(s->relative_weight, weight, (size_t)nv * sizeof(real));
            for (word k = 0; k < s->touching; k++)
                memcpy(s->target + 4 * k, target + 4 * s->contact_points[k], 4 * sizeof(real));
        } else if (kind == TORQUE_BOUND) {
            const real *upper = (const real *)points;
            for (word i = 0; i < 2 * count; i++) {
                if (s->bounds == s->most_bounds) {
                    s->bounds_needed++;
                    continue;
                }
                word at = s->bounds++, is_upper = i >= count, own = is_upper ? i - count : i;
                s->is_given[at] = 0, s->is_coupled = 1;
                s->bound_point[at] = -1 - (first + own);
                s->bound_axis[3 * at] = is_upper ? -1.0 : 1.0, s->bound_axis[3 * at + 1] = s->bound_axis[3 * at + 2] = 0;
                s->lower[at] = is_upper ? -upper[own] : target[own];
                s->bound_weight[at] = weight[own];
            }
        } else
            for (word i = 0; i < count; i++) {
                if (target[i] == -INFINITY) continue; /* no bound */
                if (s->bounds == s->most_bounds) {
                    s->bounds_needed++;
                    continue;
                }
                word at = s->bounds++;
                s->is_given[at] = kind == ROW_BOUND;
                s->lower[at] = target[i];
                s->bound_weight[at] = weight[i];
                if (kind == ROW_BOUND) memcpy(s->J + at * nv, rows + i * nv, (size_t)nv * sizeof(real));
                else {
                    s->bound_point[at] = points[i / first];
                    memcpy(s->bound_axis + 3 * at, rows + 3 * i, 3 * sizeof(real));
                }
            }
    }
    s->tabled_rows = s->rows, s->tabled_bounds = s->bounds;
    return s->bounds_needed;
}

/* Row of the acceleration of a place on a body along an axis, seen as (moment about the tree's center of mass, axis). */
static void spatial_row(const Pose *p, word body, const real *place, const real *axis, real *row) {
    const real *o = p->subtree_com + 3 * p->tree_root[body];
    real arm[3] = {place[0] - o[0], place[1] - o[1], place[2] - o[2]};
    cross(arm, axis, row);
    memcpy(row + 3, axis, 3 * sizeof(real));
}

/* Objectives on turns of bodies and on points along directions, gathered by body, then brought to the joints:
 * the entry (i, j) of the sum is cdof_iᵀ (squares summed over the subtree of the deeper body) cdof_j. */
static void add_bodies(System *s) {
    const Pose *p = s->pose;
    word order = p->nv + s->k + s->c, ld = stride(order);
    fill(0.0, s->squares, 42 * p->bodies);
    for (word b = 1; s->has_turns && b < p->bodies; b++)
        for (int e = 0; e < 3; e++) {
            real w = s->turn_weight[3 * b + e];
            w = w >= 0.0 ? w : NAN;
            s->squares[42 * b + 7 * e] += w;
            s->squares[42 * b + 36 + e] += w * (s->turn_target[3 * b + e] - p->body_biases[6 * b + e]);
        }
    for (word k = 0; k < s->directed; k++) {
        real w = s->direction_weight[k], row[6];
        if (w == 0.0) continue;
        w = w > 0.0 ? w : NAN;
        word i = s->direction_point[k];
        const real *axis = s->direction + 3 * k;
        word body = i < 0 ? s->direction_body[k] : p->point_body[i];
        const real *place = i < 0 ? s->direction_place + 3 * k : p->places + 3 * i;
        real *own = s->squares + 42 * body, v[3], bias[3];
        spatial_row(p, body, place, axis, row);
        if (i == -2) memcpy(row, axis, 3 * sizeof(real)), fill(0.0, row + 3, 3), fill(0.0, bias, 3);
        else if (i < 0) point_of_body(p, body, place, p->body_biases, v, bias);
        else memcpy(bias, p->point_biases + 3 * i, sizeof bias);
        real asked = w * (s->direction_target[k] - (i == -2 ? place[0] : dot(axis, bias, 3)));
        for (int e = 0; e < 6; e++) {
            own[36 + e] += asked * row[e];
            for (int d = 0; d < 6; d++) own[6 * e + d] += w * row[e] * row[d];
        }
    }
    for (word b = p->bodies - 1; b > 0; b--) {
        const real *own = s->squares + 42 * b;
        add(1.0, own, s->squares + 42 * p->parents[b], 42);
        for (word j = p->dof_first[b]; j < p->dof_first[b] + p->dof_count[b]; j++) {
            const real *motion = p->cdof + 6 * j;
            real moved[6];
            for (int e = 0; e < 6; e++) moved[e] = dot(own + 6 * e, motion, 6);
            s->form[j * ld + order] += dot(motion, own + 36, 6);
            for (word x = b; x > 0; x = p->parents[x])
                for (word i = p->dof_first[x]; i < p->dof_first[x] + p->dof_count[x] && i <= j; i++)
                    s->form[i * ld + j] += dot(p->cdof + 6 * i, moved, 6);
        }
    }
}

API word assemble(System *s) {
    Pose *p = s->pose;
    if (!s->is_spread && spread(s) != SOLVED) return NO_SUCH_POINT;
    for (word k = 0; k < s->directed; k++) {
        word i = s->direction_point[k], b = i < 0 ? s->direction_body[k] : 0;
        if (i < -2 || i >= p->points || b < 0 || b >= p->bodies) return NO_SUCH_POINT;
    }
    for (word i = 0; i < s->bounds; i++)
        if (!s->is_given[i] && (s->bound_point[i] < -p->nv || s->bound_point[i] >= p->points)) return NO_SUCH_POINT;
    word nv = p->nv, n = s->n, c = s->c, k = s->k, z0 = nv + k, order = z0 + c, ld = stride(order);
    for (word i = 0; i < order; i++) fill(0.0, s->form + i * ld + (i & ~(word)7), ld - (i & ~(word)7));
    add_rows(s, p->M, s->acts, -1.0, s->torque_weight, s->torque_target, p->bias, s->external, nv, s->room);
    /* λ: its weight is a share of the mean diagonal of B W Bᵀ, which for the weights of the torque stands there now */
    if (s->relative > 0.0 && n > 0) {
        real total = 0, *gram = s->room;
        if (memcmp(s->relative_weight, s->torque_weight, (size_t)nv * sizeof(real)) == 0)
            for (word e = 0; e < c; e++) memcpy(gram + e * c, s->form + (z0 + e) * ld + z0, (size_t)c * sizeof(real));
        else {
            fill(0.0, gram, c * c);
            for (word j = 0; j < nv; j++)
                for (word e = 0; e < c; e++)
                    add(s->relative_weight[j] * s->acts[j * c + e], s->acts + j * c + e, gram + e * c + e, c - e);
        }
        for (word i = 0; i < n; i++) {
            const real *own = s->share + 6 * i, *at = gram + s->first[i] * c + s->first[i];
            for (word e = 0; e < s->width[i]; e++) {
                total += own[e] * own[e] * at[e * c + e];
                for (word d = 0; d < e; d++) total += 2.0 * own[e] * own[d] * at[d * c + e];
            }
        }
        fill(s->relative * total / (real)n, s->weight, n);
    }
    /* torques with damping on top: (M + D)ᵀ W (M + D) is MᵀW M and what D adds */
    for (word j = 0; j < nv; j++) {
        real d = s->damping[j], wd = s->torque_weight[j] * d, *row = s->form + j * ld;
        if (wd == 0.0) continue;
        for (word i = 0; i < j; i++) s->form[i * ld + j] += wd * p->M[j * nv + i];
        add(wd, p->M + j * nv + j, row + j, nv - j);
        row[j] += wd * (p->M[j * nv + j] + d);
        add(-wd, s->acts + j * c, row + z0, c);
        row[order] += wd * (s->torque_target[j] - p->bias[j] + s->external[j]);
    }
    fill(0.0, s->row_u, s->tabled_rows * c);
    if (s->is_coupled) fill(0.0, s->X, s->tabled_bounds * c);
    if (s->rows) add_rows(s, s->row_a, s->row_u, 1.0, s->row_weight, s->row_target, NULL, NULL, s->rows, s->room);
    if (s->has_turns || s->directed) add_bodies(s);
    for (word i = 0; i < nv; i++) {
        s->form[i * ld + i] += s->dof_weight[i] >= 0.0 ? s->dof_weight[i] : NAN;
        s->form[i * ld + order] += s->dof_pull[i];
    }
    if (s->com_count) {
        real *jacobian = s->room, bias[3];
        com_rows(nv, p, s->com_root, jacobian, bias);
        for (word e = 0; e < s->com_count; e++) {
            memcpy(s->G + e * nv, jacobian + (s->com_first + e) * nv, (size_t)nv * sizeof(real));
            fill(0.0, s->D + e * c, c);
            s->form[(nv + e) * ld + order] = -bias[s->com_first + e];
        }
    }
    for (word e = 0; e < s->held_count; e++) {
        word j = s->held_first + e, at = s->com_count + e;
        memcpy(s->G + at * nv, p->M + j * nv, (size_t)nv * sizeof(real));
        for (word i = 0; i < c; i++) s->D[at * c + i] = -s->acts[j * c + i];
        s->form[(nv + at) * ld + order] = s->external[j] - p->bias[j];
    }
    for (word e = 0; e < k; e++) {
        for (word i = 0; i < nv; i++) s->form[i * ld + nv + e] = s->G[e * nv + i];
        memcpy(s->form + (nv + e) * ld + z0, s->D + e * c, (size_t)c * sizeof(real));
        s->form[(nv + e) * ld + order] += s->g[e];
    }
    for (word i = 0; i < s->bounds; i++) {
        real *J = s->J + i * nv;
        if (!s->is_given[i] && s->bound_point[i] < 0) {
            word j = -1 - s->bound_point[i];
            real sign = s->bound_axis[3 * i];
            for (word e = 0; e < nv; e++) J[e] = sign * p->M[j * nv + e];
            J[j] += sign * s->damping[j];
            for (word e = 0; e < c; e++) s->X[i * c + e] = -sign * s->acts[j * c + e];
            s->lower[i] -= sign * (p->bias[j] - s->external[j]);
        } else if (!s->is_given[i]) {
            const real *axis = s->bound_axis + 3 * i;
            point_row(p, s->bound_point[i], axis, J);
            s->lower[i] -= dot(axis, p->point_biases + 3 * s->bound_point[i], 3);
        }
        if (s->has_guess && !s->is_coupled && dot(s->guess, J, nv) < s->lower[i]) s->taken[i] = 1;
    }
    return SOLVED;
}

/* Eliminate pivots from … to of W, four rows at a time; the first `positive` are positive, the others negative. Each four
 * rows first take in all pivots above them. Returns −1, or the pivot that has the wrong sign. Room for 4 (to − from)
 * numbers. */
static word eliminate(real *W, word ld, word rows, word positive, word from, word to, const real *least, real *d,
                      real *room) {
    for (word j = from; j < rows; j += 4) {
        word m = rows - j < 4 ? rows - j : 4, known = (j < to ? j : to) - from, start = j & ~(word)7;
        real *own[4];
        for (word k = 0; k < known; k++) *(four *)(room + 4 * k) = -d[from + k] * *(const four *)(W + (from + k) * ld + j);
        for (word i = 0; i < m; i++) own[i] = W + (j + i) * ld;
        if (known) gather_rows(own, m, W + from * ld, ld, NULL, room, known, NULL, start, ld);
        for (word i = 0; i < m; i++) {
            for (word q = 0; q < i && j + q < to; q++)
                add(-own[q][j + i] * d[j + q], own[q] + start, own[i] + start, ld - start);
            if (j + i >= to) continue;
            real pivot = j + i < positive ? own[i][j + i] : -own[i][j + i];
            if (!(pivot > (least ? least[j + i - from] : 0.0) && isfinite(pivot))) return j + i;
            d[j + i] = 1.0 / own[i][j + i];
        }
    }
    return -1;
}

/* H = share Z shareᵀ + ε by rows, each made when it is first asked for. */
typedef struct {
    const System *s;
    word more, size, ld;
    const real *Z;
    real *rows, *half;
    flag *is_made;
    const real *sides; /* `share`, its columns by fours; NULL where contacts have other than four coefficients */
} Lazy;

/* Bring `share` into columns of four coefficients, those of a contact, which act through the same columns of the system;
 * 0 where they do not. */
static int turn_shares(const System *s, real *sides) {
    if (s->n % 4) return 0;
    for (word j = 0; j < s->n; j += 4)
        for (word i = 0; i < 4; i++) {
            if (s->first[j + i] != s->first[j] || s->width[j + i] != s->width[j]) return 0;
            for (word e = 0; e < 6; e++) sides[6 * j + 4 * e + i] = s->share[6 * (j + i) + e];
        }
    return 1;
}

static const real *lazy_row(void *of, word i) {
    Lazy *h = of;
    const System *s = h->s;
    word n = s->n, all = n + h->more;
    real *row = h->rows + i * all, *half = h->half;
    if (h->is_made[i]) return row;
    h->is_made[i] = 1;
    /* six numbers wherever a coefficient acts: what it has less is zero in `share`, so some may lie beyond the last */
    fill(0.0, half, h->size + 6);
    if (i < n) {
        const real *rows[6];
        for (word e = 0; e < s->width[i]; e++) rows[e] = h->Z + (s->first[i] + e) * h->ld;
        add_all(s->width[i], s->share + 6 * i, rows, half, h->size);
    } else
        memcpy(half, h->Z + (s->c + i - n) * h->ld, (size_t)h->size * sizeof(real));
    for (word j = 0; j < n && !h->sides; j++) row[j] = dot(half + s->first[j], s->share + 6 * j, 6);
    for (word j = 0; j < n && h->sides; j += 4) {
        const four *side = (const four *)(h->sides + 6 * j);
        const real *own = half + s->first[j];
        four sum = own[0] * side[0];
        for (word e = 1; e < s->width[j]; e++) sum += own[e] * side[e];
        *(four *)(row + j) = sum;
    }
    for (word q = 0; q < h->more; q++) row[n + q] = half[s->c + q];
    if (i < n) row[i] += s->weight[i];
    return row;
}

/* Relative residuals of an answer v = (a, η, z) in the problem as it was given: primal, dual, complementarity. The last
 * `hard` of η are of the hard bounds that act. Leaves what the answer misses of the rows of a and η at the head of `room`,
 * and behind it the slope along each of x. */
static void certify(System *s, word hard, const real *v, const real *x, real *room) {
    word nv = s->pose->nv, n = s->n, c = s->c, k = s->k, z0 = nv + k, order = z0 + c, ld = stride(order);
    const real *a = v, *eta = v + nv, *press = eta + k, *z = press + hard, *form = s->form;
    real *gradient = room, *missed = gradient + nv, *short_of = missed + k, *rates = short_of + hard, *pushed = rates + n + s->bounds, *pulled = pushed + c, *slope = pulled + c, *shorts = slope + c;
    real scale = 1e-300, x_scale = 1e-300, primal = 0, dual = 0, gap = 0, total = 1e-300;
    fill(0.0, pushed, 3 * c);
    for (word i = 0; i < nv; i++) gradient[i] = -form[i * ld + order];
    for (word i = 0; i < nv; i++) {
        const real *row = form + i * ld;
        scale = larger(larger(scale, fabs(row[order])), fabs(row[i] * a[i]));
        /* one sum where z follows: two round differently */
        gradient[i] += hard ? dot(row + i, v + i, z0 - i) + dot(row + z0, z, c) : dot(row + i, v + i, order - i);
        add(a[i], row + i + 1, gradient + i + 1, nv - i - 1);
        add(-a[i], row + z0, pushed, c); /* C a */
    }
    for (word e = 0; e < k; e++) {
        const real *row = form + (nv + e) * ld;
        missed[e] = dot(a, s->G + e * nv, nv) + dot(z, row + z0, c) - row[order];
        primal = larger(primal, fabs(missed[e]) / (1.0 + fabs(row[order])));
        add(eta[e], row + z0, pulled, c);
    }
    for (word e = 0; e < c; e++) {
        const real *row = form + (z0 + e) * ld;
        slope[e] += dot(row + z0 + e, z + e, c - e) - row[order] - pushed[e] + pulled[e];
        add(z[e], row + z0 + e + 1, slope + e + 1, c - e - 1);
    }
    for (word i = 0; i < s->bounds; i++) {
        shorts[i] = 0;
        if (!s->taken[i]) continue;
        real value = dot(a, s->J + i * nv, nv) - s->lower[i] - s->slacks[i];
        if (s->is_coupled) value += dot(z, s->X + i * c, c);
        if (isinf(s->bound_weight[i])) {
            shorts[i] = *press++, *short_of++ = value;
            primal = larger(primal, fabs(value) / (1.0 + fabs(s->lower[i])));
            x_scale = larger(x_scale, fabs(shorts[i]));
        } else {
            shorts[i] = s->bound_weight[i] * value;
            x_scale = larger(x_scale, fabs(s->bound_weight[i] * s->lower[i]));
        }
        add(shorts[i], s->J + i * nv, gradient, nv);
        if (s->is_coupled) add(shorts[i], s->X + i * c, slope, c);
    }
    for (word i = 0; i < nv; i++) dual = larger(dual, fabs(gradient[i]) / scale);
    for (word i = 0; i < n; i++) {
        real asked = 0, got = 0, held = 0;
        for (word e = 0; e < s->width[i]; e++) {
            real own = s->share[6 * i + e];
            word at = s->first[i] + e;
            asked -= own * form[(z0 + at) * ld + order];
            got += own * pushed[at];
            held += own * pulled[at];
        }
        x_scale = larger(larger(x_scale, fabs(asked - s->weight[i] * s->target[i])), larger(fabs(got), fabs(held)));
    }
    for (word i = 0; i < n + s->bounds; i++) {
        real rate, size;
        if (i < n) {
            rate = s->weight[i] * (x[i] - s->target[i]), size = x[i];
            for (word e = 0; e < s->width[i]; e++) rate += s->share[6 * i + e] * slope[s->first[i] + e];
        } else
            rate = -shorts[i - n], size = s->slacks[i - n];
        rates[i] = rate;
        dual = larger(dual, (size > 0.0 ? fabs(rate) : -rate) / x_scale);
        primal = larger(primal, -size);
        gap += fabs(size * rate);
        total += fabs(size) * x_scale;
    }
    s->residuals[0] = primal, s->residuals[1] = dual, s->residuals[2] = gap / total;
}

/* Take what an answer misses off again, with the factors at hand: rounding grows where weights differ by many orders. */
static void refine(const real *W, word ld, const real *d, word order, const real *missed, real *v, real *step) {
    for (word i = 0; i < order; i++) step[i] = -missed[i];
    for (word i = 0; i < order; i++) add(-step[i] * d[i], W + i * ld + i + 1, step + i + 1, order - i - 1);
    for (word i = order - 1; i >= 0; i--) {
        step[i] = (step[i] - dot(W + i * ld + i + 1, step + i + 1, order - i - 1)) * d[i];
        v[i] += step[i];
    }
}

/* From x = (λ, s) to v = (a, η, u, s) by the factors, z0 of (a, η); 0 where it is not finite. */
static int go_back(System *s, const real *W, word ld, const real *d, word z0, word order, const real *x, real *v) {
    word n = s->n, c = s->c;
    real *z = v + z0;
    fill(0.0, z, order - z0);
    v[order] = -1.0;
    for (word i = 0; i < n; i++)
        if (x[i] != 0.0) add(x[i], s->share + 6 * i, z + s->first[i], s->width[i]);
    for (word i = 0, q = 0; i < s->bounds; i++)
        if (s->taken[i] && !isinf(s->bound_weight[i])) z[c + q] = s->slacks[i] = x[n + q], q++;
    for (word i = z0 - 1; i >= 0; i--) {
        v[i] = -dot(W + i * ld + i + 1, v + i + 1, order - i) * d[i];
        if (!isfinite(v[i])) return 0;
    }
    return 1;
}

API word solve(System *s) {
    word nv = s->pose->nv, n = s->n, c = s->c, given = nv + s->k, own_order = given + c, own_ld = stride(own_order);
    fill(0.0, s->residuals, 5);
    for (word i = 0; i < n; i++) {
        s->x[i] = 0;
        if (!(s->weight[i] >= 0.0 && isfinite(s->weight[i] * s->target[i]))) return NOT_POSITIVE;
    }
    for (int round = 0; round < ROUNDS; round++) {
        real *room = s->room;
        word more = 0, hard = 0;
        for (word i = 0; i < s->bounds; i++) {
            s->slacks[i] = 0;
            if (s->taken[i]) isinf(s->bound_weight[i]) ? hard++ : more++;
        }
        word k = s->k + hard, z0 = nv + k, size = c + more, order = z0 + size, wide = order + 1, ld = stride(order);
        real *W = room, *d = W + order * ld, *v = d + order, *least = v + wide, *rest = least + k;
        /* the form, a row for each hard bound that acts, and a column and a row for each slack that is in */
        for (word i = 0; i < own_order; i++) {
            const real *row = s->form + i * own_ld;
            real *to = W + (i < given ? i : i + hard) * ld;
            word at = i & ~(word)7, cut = i < given ? given : own_order;
            if (hard) fill(0.0, to, ld);
            else fill(0.0, to + own_order, ld - own_order), cut = own_order;
            memcpy(to + at + (i < given ? 0 : hard), row + at, (size_t)(cut - at) * sizeof(real));
            if (cut < own_order) memcpy(to + z0, row + given, (size_t)c * sizeof(real));
            to[order] = row[own_order];
        }
        fill(0.0, W + given * ld, hard * ld);
        fill(0.0, W + (z0 + c) * ld, more * ld);
        for (word i = 0, at = z0 + c, held = given; i < s->bounds; i++) {
            if (!s->taken[i]) continue;
            const real *J = s->J + i * nv, *X = s->X + i * c;
            if (isinf(s->bound_weight[i])) {
                for (word p = 0; p < nv; p++) W[p * ld + held] = J[p];
                if (s->is_coupled) memcpy(W + held * ld + z0, X, (size_t)c * sizeof(real));
                W[held++ * ld + order] = s->lower[i];
                continue;
            }
            real w = s->bound_weight[i], asked = w * s->lower[i];
            for (word p = 0; p < nv; p++) {
                if (J[p] == 0.0) continue;
                real *row = W + p * ld, part = w * J[p];
                add(part, J + p, row + p, nv - p);
                if (s->is_coupled) add(part, X, row + z0, c);
                row[at] -= part;
                row[order] += asked * J[p];
            }
            for (word e = 0; s->is_coupled && e < c; e++) {
                real *row = W + (z0 + e) * ld, part = w * X[e];
                add(part, X + e, row + z0 + e, c - e);
                row[at] -= part;
                row[order] += asked * X[e];
            }
            W[at * ld + at] += w;
            W[at * ld + order] -= asked;
            at++;
        }
        if (eliminate(W, ld, order, nv, 0, nv, NULL, d, rest) >= 0) return NOT_POSITIVE;
        /* an equality that is a combination of others leaves a pivot of rounding only */
        for (word e = 0; e < k; e++) least[e] = (e < s->k ? 1e-13 : 1e-10) * fabs(W[(nv + e) * ld + nv + e]);
        if (eliminate(W, ld, order, nv, nv, z0, least, d, rest) >= 0) return DEPENDENT;
        /* x = (λ, s): its h here, the rows of its H when they are asked for */
        for (word e = 1; e < size; e++)
            for (word j = 0; j < e; j++) W[(z0 + e) * ld + z0 + j] = W[(z0 + j) * ld + z0 + e];
        word all = n + more;
        real *h = rest, *x = h + all, *rows = x + all, *half = rows + all * all, *sides = half + size + 6;
        real *next = sides + 6 * n;
        flag *is_made = (flag *)next, *expected = is_made + all;
        next += 2 * all / 8 + 2;
        Lazy H = {s, more, size, ld, W + z0 * ld + z0, rows, half, is_made, turn_shares(s, sides) ? sides : NULL};
        memset(is_made, 0, (size_t)all);
        memcpy(expected, s->warm, (size_t)n);
        memset(expected + n, 0, (size_t)more);
        for (word i = 0; i < n; i++) {
            h[i] = -s->weight[i] * s->target[i];
            for (word e = 0; e < s->width[i]; e++) h[i] -= s->share[6 * i + e] * W[(z0 + s->first[i] + e) * ld + order];
        }
        for (word q = 0; q < more; q++) h[n + q] = -W[(z0 + c + q) * ld + order];
        word solves = least_nonnegative(all, lazy_row, &H, h, expected, x, next);
        if (solves < 0) return CYCLED;
        s->residuals[3] += (real)solves;
        if (!go_back(s, W, ld, d, z0, order, x, v)) return NOT_POSITIVE;
        const real *z = v + z0;
        /* a bound left out must hold by itself; written so that nan is taken in and fails, as does a weight below 0. A
         * hard one that would have to pull is left out */
        int holds = 1;
        real most = 0;
        for (word e = given; e < z0; e++) most = larger(most, fabs(v[e]));
        for (word i = 0, held = given; i < s->bounds; i++) {
            if (s->taken[i]) {
                if (isinf(s->bound_weight[i]) && v[held++] > 1e-9 * most) s->taken[i] = 0, holds = 0;
                continue;
            }
            real value = dot(v, s->J + i * nv, nv) - s->lower[i];
            if (s->is_coupled) value += dot(z, s->X + i * c, c);
            if (!(value >= -1e-9 * (1.0 + fabs(s->lower[i])) && s->bound_weight[i] >= 0.0)) s->taken[i] = 1, holds = 0;
        }
        if (!holds) {
            for (word i = 0; i < n; i++) s->warm[i] = x[i] > 0.0;
            continue;
        }
        memcpy(s->x, x, (size_t)n * sizeof(real));
        real *proof = next + all * (all + 6), *spare = proof + z0 + n + 2 * s->bounds + 3 * c;
        certify(s, hard, v, x, proof);
        for (int again = 0; again < 3 && larger(s->residuals[0], s->residuals[1]) > 1e-9; again++) {
            refine(W, ld, d, z0, proof, v, spare);
            certify(s, hard, v, x, proof);
            if (all == 0 || s->residuals[1] <= 1e-9) continue;
            /* the slopes that are left, as a small problem around x */
            const real *rates = proof + z0;
            for (word i = 0; i < n; i++) h[i] = rates[i];
            for (word i = 0, q = 0; i < s->bounds; i++)
                if (s->taken[i] && !isinf(s->bound_weight[i])) h[n + q++] = rates[n + i];
            for (word i = 0; i < all; i++) {
                expected[i] = x[i] > 0.0;
                if (expected[i]) add(-x[i], lazy_row(&H, i), h, all);
            }
            if (least_nonnegative(all, lazy_row, &H, h, expected, x, next) < 0) return CYCLED;
            if (!go_back(s, W, ld, d, z0, order, x, v)) return NOT_POSITIVE;
            certify(s, hard, v, x, proof);
            refine(W, ld, d, z0, proof, v, spare);
            memcpy(s->x, x, (size_t)n * sizeof(real));
            certify(s, hard, v, x, proof);
        }
        memcpy(s->a, v, (size_t)nv * sizeof(real));
        /* rows of hard bounds may be near to depending on one another */
        return hard == 0 || larger(s->residuals[0], s->residuals[1]) <= HELD_TO ? SOLVED : DEPENDENT;
    }
    return CYCLED;
}

API void finish(System *s) {
    Pose *p = s->pose;
    word nv = p->nv, c = s->c;
    real *u = s->room, *pushed = u + c, largest = 0;
    fill(0.0, u, c);
    fill(0.0, s->forces, 3 * s->touching);
    for (word i = 0; i < s->bounds; i++) s->acting[i] = s->taken[i] && s->slacks[i] <= 0.0;
    for (word i = 0; i < s->n; i++) {
        if (s->x[i] == 0.0) continue;
        add(s->x[i], s->share + 6 * i, u + s->first[i], s->width[i]);
        add(s->x[i], s->directions + 3 * i, s->forces + 3 * s->owner[i], 3);
    }
    inverse_dynamics(nv, p, s->a, p->inverse);
    for (word i = 0; i < nv; i++) {
        pushed[i] = p->bias[i] + dot(p->M + i * nv, s->a, nv);
        largest = larger(largest, fabs(p->inverse[i] - pushed[i]));
        s->torque[i] = pushed[i] - dot(s->acts + i * c, u, c) - s->external[i];
    }
    s->residuals[4] = largest;
}

API word answer(System *s) {
    word status = assemble(s);
    if (status == SOLVED) status = solve(s);
    if (status == SOLVED) finish(s);
    return status;
}
