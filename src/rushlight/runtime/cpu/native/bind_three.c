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

static int alike(PyObject *a, PyObject *b) {
    return is_plain(b) && PyArray_NDIM(ARRAY(a)) == PyArray_NDIM(ARRAY(b)) &&
           PyArray_CompareLists(PyArray_DIMS(ARRAY(a)), PyArray_DIMS(ARRAY(b)), PyArray_NDIM(ARRAY(a)));
}

static PyObject *three_run(Three *t, PyObject *const *args) {
    t->x = DATA(ARRAY(args[0])), t->y = DATA(ARRAY(args[1]));
    PyArrayObject *out = array_like(ARRAY(args[0]));
    if (!out) return NULL;
    t->out = DATA(out), t->n = PyArray_SIZE(out);
    const double ns = (double)t->n * 0.5;
    run_parts(three_part, t, threads_parts(ns, (t->n + 15) / 16), ns);
    return (PyObject *)out;
}

static PyObject *lerp(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Three t = {.which = T_LERP};
    if (!is_plain(args[0]) || !alike(args[0], args[1])) return REFUSE;
    if (PyFloat_CheckExact(args[2]) || PyLong_CheckExact(args[2])) {
        const double weight = PyFloat_AsDouble(args[2]);
        if (weight == -1.0 && PyErr_Occurred()) return NULL;
        t.by = 1, t.from_end = !(-0.5 < weight && weight < 0.5);
        t.value = (float)(t.from_end ? 1 - weight : weight);
        return three_run(&t, args);
    }
    if (!alike(args[0], args[2])) return REFUSE;
    t.z = DATA(ARRAY(args[2]));
    return three_run(&t, args);
}

static PyObject *added(int which, PyObject *const *args, PyObject *attrs) {
    Three t = {.which = which};
    PyObject *value = attr(attrs, "value");
    if (!value) return NULL;
    if (!is_plain(args[0]) || !alike(args[0], args[1]) || !alike(args[0], args[2])) return REFUSE;
    if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) return REFUSE;
    const double by = PyFloat_AsDouble(value);
    if (by == -1.0 && PyErr_Occurred()) {
        PyErr_Clear(); /* an int beyond all floats: NumPy says so */
        return REFUSE;
    }
    t.value = (float)by, t.z = DATA(ARRAY(args[2]));
    return three_run(&t, args);
}

static PyObject *addcmul(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return added(T_ADDCMUL, a, attrs); }
static PyObject *addcdiv(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return added(T_ADDCDIV, a, attrs); }

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

static PyObject *cross(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!is_plain(args[0]) || !alike(args[0], args[1])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    if (dim < 0 || dim >= PyArray_NDIM(x) || PyArray_DIM(x, dim) != 3) return REFUSE;
    Cross c = {.x = DATA(x), .y = DATA(ARRAY(args[1])), .outer = 1, .inner = 1};
    for (int d = 0; d < PyArray_NDIM(x); d++) *(d < dim ? &c.outer : &c.inner) *= d == dim ? 1 : PyArray_DIM(x, d);
    PyArrayObject *out = array_like(x);
    if (!out) return NULL;
    c.out = DATA(out);
    const double ns = (double)PyArray_SIZE(x);
    run_parts(cross_part, &c, threads_parts(ns, c.outer), ns);
    return (PyObject *)out;
}

const Entry three_entries[] = {{"lerp", lerp, .repeats = 1}, {"addcmul", addcmul, .repeats = 1}, {"addcdiv", addcdiv, .repeats = 1}, {"cross", cross, COPIES, .repeats = 1}, {NULL, NULL}};
