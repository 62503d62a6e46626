/* lerp, addcmul and addcdiv of arrays of one shape, and cross products along a dim. */
#include "arrays.h"

#include "codes.h"

typedef struct {
    int which, by, from_end; /* by: lerp with a number */
    const float *x, *y, *z;
    float value;
    float *out;
    idx n;
} Three;

static void three_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Three *t = what;
    const idx lines = (t->n + 15) / 16, at = share(lines, i, parts) * 16;
    idx end = share(lines, i + 1, parts) * 16;
    end = end < t->n ? end : t->n;
    if (t->by) RL->lerp_by(t->x + at, t->y + at, t->value, t->from_end, t->out + at, end - at);
    else RL->three(t->which, t->x + at, t->y + at, t->z + at, t->value, t->out + at, end - at);
}

static void three_run(Call *c, Three *t) {
    PyArrayObject *x = floats(c, 0), *y = x ? floats_like(c, 1, x) : NULL;
    if (!t->by && y) t->z = DATA_OR_NULL(floats_like(c, 2, x));
    t->out = y ? new_like(c, x) : NULL;
    if (c->ends) return;
    t->x = DATA(x), t->y = DATA(y), t->n = PyArray_SIZE(x);
    run_shared(three_part, t, (t->n + 15) / 16, (double)t->n * 0.5);
}

static void lerp(Call *c) {
    Three t = {.which = T_LERP};
    if (!need(c, c->count >= 3)) return;
    if (PyFloat_CheckExact(c->args[2]) || PyLong_CheckExact(c->args[2])) {
        const double weight = PyFloat_AsDouble(c->args[2]);
        if (weight == -1.0 && PyErr_Occurred()) fail(c);
        t.by = 1, t.from_end = !(-0.5 < weight && weight < 0.5);
        t.value = (float)(t.from_end ? 1 - weight : weight);
    }
    three_run(c, &t);
}

/* addcmul, addcdiv */
static void added(Call *c) {
    PyObject *value = attr_of(c, "value");
    if (!value || !need(c, PyFloat_CheckExact(value) || PyLong_CheckExact(value))) return;
    const double by = PyFloat_AsDouble(value);
    if (by == -1.0 && PyErr_Occurred()) {
        PyErr_Clear(); /* an int beyond all floats: NumPy says so */
        refuse(c);
    }
    three_run(c, &(Three){.which = c->which, .value = (float)by});
}

/* -- cross products: [outer][3][inner] --------------------------------------------------------------------- */

typedef struct {
    const float *x, *y;
    float *out;
    idx outer, inner;
} Cross;

static void cross_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Cross *c = what;
    const idx n = c->inner;
    for (idx o = share(c->outer, i, parts); o < share(c->outer, i + 1, parts); o++) {
        const float *x = c->x + 3 * o * n, *y = c->y + 3 * o * n;
        float *out = c->out + 3 * o * n;
        for (idx k = 0; k < n; k++) {
            const float a = x[k], b = x[n + k], d = x[2 * n + k], e = y[k], f = y[n + k], g = y[2 * n + k];
            out[k] = b * g - d * f, out[n + k] = d * e - a * g, out[2 * n + k] = a * f - b * e;
        }
    }
}

static void cross(Call *c) {
    Cross q = {0};
    idx n;
    PyArrayObject *x = floats(c, 0), *y = x ? floats_like(c, 1, x) : NULL;
    if (!along(c, x, idx_of(c, "dim"), &q.outer, &n, &q.inner) || !need(c, n == 3) || !(q.out = new_like(c, x))) return;
    q.x = DATA(x), q.y = DATA(y);
    run_shared(cross_part, &q, q.outer, (double)PyArray_SIZE(x));
}

const Entry three_entries[] = {
    BOUND("lerp", lerp, .repeats = 1), BOUND("addcmul", added, .which = T_ADDCMUL, .repeats = 1),
    BOUND("addcdiv", added, .which = T_ADDCDIV, .repeats = 1), BOUND("cross", cross, .copies = COPIES, .repeats = 1), {NULL},
};
