/* Loops over bodies and points, and MuJoCo's functions; the twins are in `physics/bodies.py`.
 *
 * Spatial vectors are MuJoCo's: (angular, linear), linear part at the center of mass of the body's tree. */
#include "core.h"

typedef void (*OnData)(const void *, void *);
typedef void (*FullMatrix)(const void *, void *, real *);
typedef void (*Recursion)(const void *, void *, int, real *);

API void move(Pose *p) {
    Engine *e = p->engine;
    ((OnData)e->mj_kinematics)(e->model, e->data);
    ((OnData)e->mj_comPos)(e->model, e->data);
    ((OnData)e->mj_comVel)(e->model, e->data);
}

API void mass_and_bias(Pose *p) {
    Engine *e = p->engine;
    ((OnData)e->mj_makeM)(e->model, e->data);
    ((FullMatrix)e->mj_fullM)(e->model, e->data, p->M);
    ((Recursion)e->mj_rne)(e->model, e->data, 0, p->bias);
}

API void inverse_dynamics(word n, Pose *p, const real *a, real *out) {
    Engine *e = p->engine;
    if (n != p->nv) return;
    memcpy(p->a, a, (size_t)n * sizeof(real));
    ((Recursion)e->mj_rne)(e->model, e->data, 1, out);
}

/* Spatial acceleration of each body, gravity left out: Σ (cdof a + cdof_dot v) along the chain; a may be NULL. */
void spatial_accelerations(const Pose *p, const real *v, const real *a, real *out) {
    fill(0.0, out, 6);
    for (word b = 1; b < p->bodies; b++) {
        real *own = out + 6 * b;
        memcpy(own, out + 6 * p->parents[b], 6 * sizeof(real));
        for (word j = p->dof_first[b]; j < p->dof_first[b] + p->dof_count[b]; j++) {
            add(v[j], p->cdof_dot + 6 * j, own, 6);
            if (a) add(a[j], p->cdof + 6 * j, own, 6);
        }
    }
}

API void body_accelerations(word n, word m, Pose *p, const real *a, real *out) {
    if (n == p->nv && m == p->bodies) spatial_accelerations(p, p->v, a, out);
}

API word place(Pose *p) {
    for (word j = 0; j < p->nv; j++)
        if (!isfinite(p->v[j])) return j;
    for (word j = 0; j < p->nq; j++)
        if (!isfinite(p->q[j])) return 0;
    move(p);
    spatial_accelerations(p, p->v, NULL, p->body_biases);
    for (word i = 0; i < p->points; i++)
        for (int c = 0; c < 3; c++)
            p->centers[3 * i + c] = p->xpos[3 * p->point_body[i] + c] +
                                    dot(p->xmat + 9 * p->point_body[i] + 3 * c, p->point_offsets + 3 * i, 3);
    return -1;
}

/* Velocity and acceleration of a material point: v + ω × r, a + α × r + ω × (v + ω × r). */
static void material(const real *velocity, const real *acceleration, const real *arm, real *v, real *a) {
    real turn[3];
    cross(velocity, arm, v);
    add(1.0, velocity + 3, v, 3);
    cross(acceleration, arm, a);
    cross(velocity, v, turn);
    for (int e = 0; e < 3; e++) a[e] += acceleration[3 + e] + turn[e];
}

/* Velocity and acceleration of a material point of a body. */
void point_of_body(const Pose *p, word body, const real *place, const real *accelerations, real *v, real *a) {
    const real *o = p->subtree_com + 3 * p->tree_root[body];
    real arm[3] = {place[0] - o[0], place[1] - o[1], place[2] - o[2]};
    material(p->cvel + 6 * body, accelerations + 6 * body, arm, v, a);
}

API void touch(word n, Pose *p, const real *normals) {
    for (word i = 0; i < n && i < p->points; i++) {
        for (int c = 0; c < 3; c++)
            p->places[3 * i + c] = p->centers[3 * i + c] - p->point_radii[i] * normals[3 * i + c];
        point_of_body(p, p->point_body[i], p->places + 3 * i, p->body_biases, p->velocities + 3 * i,
                      p->point_biases + 3 * i);
    }
}

API void point_motion(word k, word m, Pose *p, const word *bodies, const real *places, const real *accelerations,
                      real *velocities, real *out) {
    if (m != p->bodies) return;
    for (word i = 0; i < k; i++)
        point_of_body(p, bodies[i], places + 3 * i, accelerations, velocities + 3 * i, out + 3 * i);
}

API void point_jacobians(word k, word r, word n, Pose *p, const word *bodies, const real *places, real *out) {
    if (n != p->nv || r != 3 * k) return;
    fill(0.0, out, r * n);
    for (word i = 0; i < k; i++) {
        word b = bodies[i];
        const real *at = places + 3 * i, *o = p->subtree_com + 3 * p->tree_root[b];
        real arm[3] = {at[0] - o[0], at[1] - o[1], at[2] - o[2]}, speed[3], *rows = out + 3 * i * n;
        for (; b > 0; b = p->parents[b])
            for (word j = p->dof_first[b]; j < p->dof_first[b] + p->dof_count[b]; j++) {
                cross(p->cdof + 6 * j, arm, speed);
                for (int e = 0; e < 3; e++) rows[e * n + j] = p->cdof[6 * j + 3 + e] + speed[e];
            }
    }
}

/* Row (nv,) of the acceleration of a contact point along an axis. */
void point_row(const Pose *p, word point, const real *axis, real *out) {
    word b = p->point_body[point];
    const real *o = p->subtree_com + 3 * p->tree_root[b], *place = p->places + 3 * point;
    real arm[3] = {place[0] - o[0], place[1] - o[1], place[2] - o[2]}, row[6];
    cross(arm, axis, row);
    memcpy(row + 3, axis, 3 * sizeof(real));
    fill(0.0, out, p->nv);
    for (; b > 0; b = p->parents[b])
        for (word j = p->dof_first[b]; j < p->dof_first[b] + p->dof_count[b]; j++) out[j] = dot(p->cdof + 6 * j, row, 6);
}

API void point_rows(word k, word m, word r, word n, Pose *p, const word *points, const real *axes, real *rows,
                    real *constants) {
    if (n != p->nv || r != k * m) return;
    for (word i = 0; i < r; i++) {
        point_row(p, points[i / m], axes + 3 * i, rows + i * n);
        constants[i] = dot(axes + 3 * i, p->point_biases + 3 * points[i / m], 3);
    }
}

API void point_torques(word k, word n, Pose *p, const word *bodies, const real *places, const real *forces, real *out) {
    if (n != p->nv) return;
    fill(0.0, out, n);
    for (word i = 0; i < k; i++) {
        word b = bodies[i];
        const real *at = places + 3 * i, *o = p->subtree_com + 3 * p->tree_root[b];
        real arm[3] = {at[0] - o[0], at[1] - o[1], at[2] - o[2]}, wrench[6];
        cross(arm, forces + 3 * i, wrench);
        memcpy(wrench + 3, forces + 3 * i, 3 * sizeof(real));
        for (; b > 0; b = p->parents[b])
            for (word j = p->dof_first[b]; j < p->dof_first[b] + p->dof_count[b]; j++)
                out[j] += dot(p->cdof + 6 * j, wrench, 6);
    }
}

/* Acceleration of the center of mass of the tree on `root`. */
void com_acceleration(const Pose *p, word root, const real *accelerations, real *out) {
    real total = 0, v[3], a[3];
    fill(0.0, out, 3);
    for (word b = 1; b < p->bodies; b++) {
        if (p->tree_root[b] != root) continue;
        point_of_body(p, b, p->xipos + 3 * b, accelerations, v, a);
        add(p->body_masses[b], a, out, 3);
        total += p->body_masses[b];
    }
    for (int e = 0; e < 3; e++) out[e] /= total;
}

API void com_rows(word n, Pose *p, word root, real *jacobian, real *bias) {
    const real *o = p->subtree_com + 3 * root;
    if (n != p->nv) return;
    fill(0.0, jacobian, 3 * n);
    for (word j = 0; j < n; j++) {
        word b = p->dof_body[j];
        if (p->tree_root[b] != root) continue;
        const real *own = p->cdof + 6 * j, *com = p->subtree_com + 3 * b;
        real share = p->subtree_masses[b] / p->subtree_masses[root], speed[3];
        real arm[3] = {com[0] - o[0], com[1] - o[1], com[2] - o[2]};
        cross(own, arm, speed);
        for (int e = 0; e < 3; e++) jacobian[e * n + j] = share * (own[3 + e] + speed[e]);
    }
    com_acceleration(p, root, p->body_biases, bias);
}
