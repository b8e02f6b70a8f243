/* A reference frame: everything known of the undisturbed motion at one instant. Twin: filter/reference.py. */
#include "core.h"

static const real *row_of(void *of, word i) {
    Actor *a = of;
    return a->H + i * 4 * a->pose->points;
}

/* Least squares of a wrench by the cones of the touching points; their number of coefficients. Force in world axes,
 * moment about the root in its axes and over a length, so that a figure of any size weighs them alike. */
static word cone_system(Actor *s, const Reference *r) {
    const Pose *p = s->pose;
    word n = 0, most = 4 * p->points;
    const real *place = p->xpos + 3 * s->root, *axes = p->xmat + 9 * s->root;
    for (word i = 0; i < p->points; i++) {
        if (!r->flags[i]) continue;
        real arm[3], moment[3];
        for (int e = 0; e < 3; e++) arm[e] = r->points[3 * i + e] - place[e];
        for (word c = 0; c < 4; c++, n++) {
            const real *f = s->directions + 12 * i + 3 * c;
            real *own = s->wrenches + 6 * n;
            cross(arm, f, moment);
            for (int e = 0; e < 3; e++) {
                own[e] = f[e];
                own[3 + e] = (axes[e] * moment[0] + axes[3 + e] * moment[1] + axes[6 + e] * moment[2]) / s->length;
            }
        }
    }
    real trace = 0;
    for (word i = 0; i < n; i++) {
        const real *own = s->wrenches + 6 * i;
        for (word j = 0; j <= i; j++) s->H[i * most + j] = s->H[j * most + i] = dot(own, s->wrenches + 6 * j, 6);
        trace += s->H[i * most + i];
        s->f[i] = -dot(own, s->needed, 3) - dot(own + 3, s->needed + 3, 3) / s->length;
    }
    for (word i = 0; i < n; i++) s->H[i * most + i] += s->regularization * trace / (real)n;
    return n;
}

/* Contacts of a streamed frame: low and slow points touch, others will after height over downward speed. A landing is
 * known only when it is near. Nobody knows when a streamed foot lifts; while the root rests it is not soon. */
static void estimate_touch(const Actor *s, Reference *r) {
    real speed = sqrt(r->v[0] * r->v[0] + r->v[1] * r->v[1]), slow = larger(s->least_speed, s->travel_share * speed);
    for (word i = 0; i < s->pose->points; i++) {
        const real *v = r->point_velocities + 3 * i, *place_of = r->points + 3 * i;
        real height = place_of[2] - s->floor, time = INFINITY;
        int touches = height < s->height_limit && sqrt(dot(v, v, 3)) < slow;
        if (touches) time = 0.0;
        else if (v[2] < 0.0) time = smaller(larger(height / larger(-v[2], 1e-9), 0.0), 10.0 * s->contact_time);
        int near = time < s->contact_time;
        if (!s->knows_touch) r->flags[i] = (flag)touches, r->times_to_contact[i] = time;
        for (int e = 0; e < 3; e++) r->landings[3 * i + e] = near ? place_of[e] + time * v[e] : NAN;
        r->progress[i] = touches ? 1.0 : near ? 1.0 - time / s->contact_time : 0.0;
        r->times_to_lift[i] = touches && speed < 0.5 * slow ? INFINITY : 0.0;
    }
}

API word reference_frame(Actor *s, Reference *r) {
    Pose *p = s->pose;
    word nv = p->nv, points = p->points;
    for (word i = 0; i < p->nq; i++)
        if (!isfinite(r->q[i])) return 0;
    for (word i = 0; i < nv; i++)
        if (!isfinite(r->v[i])) return 0;
    memcpy(p->q, r->q, (size_t)p->nq * sizeof(real));
    memcpy(p->v, r->v, (size_t)nv * sizeof(real));
    place(p);
    inverse_dynamics(nv, p, r->a, s->needed);
    spatial_accelerations(p, r->v, r->a, s->cacc);
    for (word b = 0; b < p->bodies; b++) {
        memcpy(r->orientations + 4 * b, p->xquat + 4 * b, 4 * sizeof(real));
        memcpy(r->angular_velocities + 3 * b, p->cvel + 6 * b, 3 * sizeof(real));
        memcpy(r->angular_accelerations + 3 * b, s->cacc + 6 * b, 3 * sizeof(real));
    }
    for (word i = 0; i < points; i++) {
        real *place_of = r->points + 3 * i;
        memcpy(place_of, p->centers + 3 * i, 3 * sizeof(real));
        place_of[2] -= p->point_radii[i];
        point_of_body(p, p->point_body[i], place_of, s->cacc, r->point_velocities + 3 * i, r->point_accelerations + 3 * i);
    }
    memcpy(r->subtree_coms, p->subtree_com, 3 * (size_t)p->bodies * sizeof(real));
    memcpy(r->com, p->subtree_com + 3 * s->root, 3 * sizeof(real));
    com_acceleration(p, s->root, s->cacc, r->com_acceleration);
    if (s->estimates) estimate_touch(s, r);
    word n = cone_system(s, r), k = 0;
    real *x = s->room, *forces = x + n, *rest = forces + 3 * points;
    flag *expected = (flag *)rest;
    rest += n / 8 + 1;
    for (word i = 0; i < points; i++)
        if (r->flags[i]) memcpy(expected + 4 * k++, s->warm + 4 * i, 4);
    /* any λ* keeps the run exact: τ* takes what is left */
    if (n > 0 && least_nonnegative(n, row_of, s, s->f, expected, x, rest) < 0) fill(0.0, x, n);
    k = 0;
    fill(0.0, forces, 3 * points);
    for (word i = 0; i < points; i++)
        for (word c = 0; c < 4; c++) {
            real own = r->flags[i] ? x[k++] : 0.0;
            r->coefficients[4 * i + c] = own;
            s->warm[4 * i + c] = own > 0.0;
            add(own, s->directions + 12 * i + 3 * c, forces + 3 * i, 3);
        }
    point_torques(points, nv, p, p->point_body, r->points, forces, r->torque);
    for (word j = 0; j < nv; j++) r->torque[j] = s->needed[j] - r->torque[j];
    return 1;
}
