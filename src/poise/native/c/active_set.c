/* Small non-negative least squares by an active set (Lawson and Hanson 1974), warm-started; twin: step/active_set.py. */
#include "core.h"

/* Min ½ xᵀH x + fᵀx, x ≥ 0; the number of solves, −1 if it cycled. Rows of H are asked for when they are needed.
 * Room for n (n + 6) numbers. */
word least_nonnegative(word n, const real *(*row_of)(void *, word), void *of, const real *f, const flag *warm, real *x,
                       real *room) {
    real *work = room, *z = work + n, *gradient = z + n, *chol = gradient + n;
    word *passive = (word *)(chol + n * n);
    flag *is_passive = (flag *)(passive + n);
    word count = 0;
    for (word i = 0; i < n; i++) {
        x[i] = 0;
        is_passive[i] = 0;
        if (warm[i]) passive[count++] = i;
    }
    word solves = 0, known = 0; /* leading rows of the factor that still hold */
    word entering = -1, refused = -1;
    int is_warm = 1; /* first throw out what comes out negative until the rest stands */
    while (solves < 10 * n + 50) {
        if (count > 0) {
            solves++;
            int is_positive = 1;
            for (word i = known; i < count && is_positive; i++) {
                const real *h = row_of(of, passive[i]);
                real *own = chol + i * n;
                for (word j = 0; j < i; j++) own[j] = (h[passive[j]] - dot(own, chol + j * n, j)) * work[j];
                real s = h[passive[i]] - dot(own, own, i);
                if (s > 0.0) work[i] = 1.0 / sqrt(s);
                else is_positive = 0;
            }
            word kept = 0;
            if (is_positive) {
                for (word i = 0; i < count; i++) z[i] = (-f[passive[i]] - dot(chol + i * n, z, i)) * work[i];
                for (word i = count - 1; i >= 0; i--) {
                    z[i] *= work[i];
                    add(-z[i], chol + i * n, z, i);
                }
            }
            if (is_warm) {
                known = is_positive ? count : 0;
                for (word i = 0; i < (is_positive ? count : 0); i++) {
                    if (z[i] > 0.0) passive[kept++] = passive[i];
                    else if (i < known) known = i;
                }
                is_warm = kept < count && kept > 0;
                count = kept;
                if (is_warm) continue;
                for (word i = 0; i < count; i++) {
                    x[passive[i]] = z[i];
                    is_passive[passive[i]] = 1;
                }
            } else if (!is_positive || (entering >= 0 && z[count - 1] <= 0.0)) {
                /* dependent, or rounding only: this coordinate does not want to grow */
                word p = passive[--count];
                x[p] = 0;
                is_passive[p] = 0;
                if (count < known) known = count;
                refused = p;
            } else {
                known = count;
                entering = -1;
                real step = 1.0;
                for (word k = 0; k < count; k++)
                    if (z[k] <= 0.0) {
                        real own = x[passive[k]];
                        step = smaller(step, own / (own - z[k]));
                    }
                for (word k = 0; k < count; k++) {
                    word p = passive[k];
                    x[p] += step * (z[k] - x[p]);
                    if (step >= 1.0 || x[p] > 1e-14 * (1.0 + fabs(z[k]))) passive[kept++] = p;
                    else {
                        x[p] = 0;
                        is_passive[p] = 0;
                        if (k < known) known = k;
                    }
                }
                count = kept;
                if (step < 1.0 && count > 0) continue;
            }
        }
        is_warm = 0;
        memcpy(gradient, f, (size_t)n * sizeof(real));
        for (word k = 0; k < count; k++) add(x[passive[k]], row_of(of, passive[k]), gradient, n);
        word best = -1;
        real worst = 0; /* coordinates differ in unit: each slope is as exact as what it is the sum of */
        for (word i = 0; i < n; i++) {
            if (is_passive[i] || i == refused || !(gradient[i] < worst)) continue;
            real size = fabs(f[i]);
            for (word k = 0; k < count; k++) size += x[passive[k]] * fabs(row_of(of, passive[k])[i]);
            if (!(gradient[i] < -1e-12 * size)) continue;
            best = i;
            worst = gradient[i];
        }
        if (best < 0) return solves;
        passive[count++] = best;
        is_passive[best] = 1;
        entering = best;
        refused = -1;
    }
    return -1;
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
