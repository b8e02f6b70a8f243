/* Small non-negative least squares by an active set (Lawson and Hanson 1974), warm-started; twin: step/system.py. */
#include "core.h"

/* The factor U of H over the coordinates that are free, UᵀU = H, in rows of n, and U⁻ᵀ(−f): a column more when one comes
 * in, and rotations of its rows when one goes. */
typedef struct {
    word n, count;
    word *passive;
    const real **rows;   /* of H, of the free coordinates */
    const real *f;
    real *U, *inverse, *right; /* inverse: one over its diagonal */
} Factor;

/* Take a coordinate in, with its row of H and n numbers of room; 0 where it depends on those that are in. */
static int take_in(Factor *a, word p, const real *h, real *y) {
    word n = a->n, count = a->count;
    real left = h[p], right = -a->f[p];
    for (word k = 0; k < count; k++) y[k] = h[a->passive[k]];
    for (word k = 0; k < count; k++) {
        y[k] *= a->inverse[k];
        left -= y[k] * y[k], right -= y[k] * a->right[k];
        add(-y[k], a->U + k * n + k + 1, y + k + 1, count - k - 1);
    }
    if (!(left > 0.0)) return 0;
    for (word k = 0; k < count; k++) a->U[k * n + count] = y[k];
    a->U[count * n + count] = sqrt(left), a->inverse[count] = 1.0 / sqrt(left);
    a->right[count] = right * a->inverse[count];
    a->passive[count] = p, a->rows[count] = h, a->count++;
    return 1;
}

/* Take in all that are expected, row by row of the factor, and leave out what depends on those before it. Room for 2 n
 * numbers. */
static void take_in_all(Factor *a, const flag *warm, const real *(*row_of)(void *, word), void *of, real *room) {
    word n = a->n, count = 0;
    real *part = room;
    const real **above = (const real **)(room + n);
    for (word i = 0; i < n; i++)
        if (warm[i]) a->passive[count] = i, a->rows[count++] = row_of(of, i);
    for (word k = 0; k < count;) {
        real *own = a->U + k * n, right = -a->f[a->passive[k]];
        for (word e = k; e < count; e++) own[e] = a->rows[k][a->passive[e]];
        for (word j = 0; j < k; j++) {
            above[j] = a->U + j * n + k, part[j] = -above[j][0];
            right += part[j] * a->right[j];
        }
        add_all(k, part, above, own + k, count - k);
        if (!(own[k] > 0.0)) {
            count--;
            for (word e = k; e < count; e++) a->passive[e] = a->passive[e + 1], a->rows[e] = a->rows[e + 1];
            for (word j = 0; j < k; j++) memmove(a->U + j * n + k, a->U + j * n + k + 1, (size_t)(count - k) * sizeof(real));
            continue;
        }
        a->inverse[k] = 1.0 / sqrt(own[k]), a->right[k] = right * a->inverse[k];
        for (word e = k; e < count; e++) own[e] *= a->inverse[k];
        k++;
    }
    a->count = count;
}

static void take_out(Factor *a, word r) {
    word n = a->n, count = --a->count;
    for (word k = r; k < count; k++) a->passive[k] = a->passive[k + 1], a->rows[k] = a->rows[k + 1];
    for (word k = 0; k < r; k++) memmove(a->U + k * n + r, a->U + k * n + r + 1, (size_t)(count - r) * sizeof(real));
    for (word k = r; k < count; k++) { /* what was right of its diagonal moves left, and the row below is turned into it */
        real *own = a->U + k * n + k, *below = own + n + 1;
        real size = sqrt(own[1] * own[1] + below[0] * below[0]), c = own[1] / size, s = below[0] / size;
        real x = a->right[k], y = a->right[k + 1];
        own[0] = size, a->inverse[k] = 1.0 / size;
        a->right[k] = c * x + s * y, a->right[k + 1] = c * y - s * x;
        for (word e = 1; e < count - k; e++) {
            x = own[e + 1], y = below[e];
            own[e] = c * x + s * y, below[e] = c * y - s * x;
        }
    }
}

/* z = −H⁻¹ f over the free coordinates. */
static void solve_free(const Factor *a, real *z) {
    word n = a->n, count = a->count;
    real last = 0; /* the number just found is not read back from memory */
    for (word k = count - 1; k >= 0; k--) {
        const real *row = a->U + k * n + k;
        real sum = a->right[k] - (k + 2 < count ? dot(row + 2, z + k + 2, count - k - 2) : 0.0);
        if (k + 1 < count) sum -= row[1] * last;
        z[k] = last = sum * a->inverse[k];
    }
}

/* The coordinate whose slope is the most negative, −1 where none is; coordinates differ in unit, and each slope is as
 * exact as what it is the sum of. */
static word most_wanted(const Factor *a, const real *x, word refused, real *gradient, real *part) {
    memcpy(gradient, a->f, (size_t)a->n * sizeof(real));
    for (word k = 0; k < a->count; k++) part[k] = x[a->passive[k]];
    add_all(a->count, part, a->rows, gradient, a->n);
    for (word k = 0; k < a->count; k++) gradient[a->passive[k]] = 0;
    if (refused >= 0) gradient[refused] = 0;
    for (;;) {
        word best = -1;
        real worst = 0;
        for (word i = 0; i < a->n; i++)
            if (gradient[i] < worst) best = i, worst = gradient[i];
        if (best < 0) return -1;
        real size = fabs(a->f[best]);
        for (word k = 0; k < a->count; k++) size += x[a->passive[k]] * fabs(a->rows[k][best]);
        if (worst < -1e-12 * size) return best;
        gradient[best] = 0;
    }
}

/* Min ½ xᵀH x + fᵀx, x ≥ 0; the number of solves, −1 if it cycled. Rows of H are asked for when they are needed.
 * Room for n (n + 6) numbers. */
word least_nonnegative(word n, const real *(*row_of)(void *, word), void *of, const real *f, const flag *warm, real *x,
                       real *room) {
    real *z = room, *gradient = z + n, *inverse = gradient + n, *right = inverse + n, *U = right + n;
    word *passive = (word *)(U + n * n);
    Factor a = {n, 0, passive, (const real **)(passive + n), f, U, inverse, right};
    word solves = 0, most = 10 * n + 50;
    fill(0.0, x, n);
    /* first throw out what comes out negative until the rest stands */
    take_in_all(&a, warm, row_of, of, z);
    for (word before = -1; a.count && before != a.count;) {
        before = a.count;
        solves++;
        solve_free(&a, z);
        for (word k = before - 1; k >= 0; k--)
            if (!(z[k] > 0.0)) take_out(&a, k);
    }
    for (word k = 0; k < a.count; k++) x[passive[k]] = z[k];
    for (word entering, refused = -1; (entering = most_wanted(&a, x, refused, gradient, z)) >= 0;) {
        int is_new = 1;
        refused = -1;
        if (++solves >= most) return -1;
        if (!take_in(&a, entering, row_of(of, entering), z)) {
            refused = entering;
            continue;
        }
        for (real step = 0; step < 1.0 && a.count; is_new = 0) {
            if (!is_new && ++solves >= most) return -1;
            solve_free(&a, z);
            if (is_new && z[a.count - 1] <= 0.0) { /* dependent, or rounding only: it does not want to grow */
                refused = entering;
                take_out(&a, a.count - 1);
                break;
            }
            step = 1.0;
            for (word k = 0; k < a.count; k++)
                if (z[k] <= 0.0) step = smaller(step, x[passive[k]] / (x[passive[k]] - z[k]));
            for (word k = a.count - 1; k >= 0; k--) {
                real *own = x + passive[k];
                *own += step * (z[k] - *own);
                if (step >= 1.0 || *own > 1e-14 * (1.0 + fabs(z[k]))) continue;
                *own = 0;
                take_out(&a, k);
            }
        }
    }
    return solves;
}

typedef struct {
    const real *H;
    word n;
} Full;

static const real *full_row(void *of, word i) { return ((Full *)of)->H + i * ((Full *)of)->n; }

API word nonnegative(word n, word most, const real *H, const real *f, const flag *warm, real *x, real *room) {
    Full full = {H, n};
    if (most < n * (n + 6)) return -1;
    return least_nonnegative(n, full_row, &full, f, warm, x, room);
}
