/* Between float32 and half precision, and from float32 to doubles and truth values: the `cast` kernel, and kernels that compute half precision in float32. */
#include "halves.h"

typedef struct {
    int half, widens;
    const void *x;
    void *out;
    idx n;
} Cast;

static void cast_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Cast *c = what;
    const idx blocks = (c->n + 63) / 64, from = share(blocks, i, parts) * 64, end = share(blocks, i + 1, parts) * 64;
    const idx n = (end < c->n ? end : c->n) - from;
    if (c->widens) RL->widen(c->half, (const uint16_t *)c->x + from, (float *)c->out + from, n);
    else RL->narrow(c->half, (const float *)c->x + from, (uint16_t *)c->out + from, n);
}

static void cast_run(Cast *c, PyArrayObject *x, PyArrayObject *out) {
    c->x = PyArray_DATA(x), c->out = PyArray_DATA(out), c->n = PyArray_SIZE(x);
    const double ns = 0.3 * (double)c->n;
    run_parts(cast_part, c, threads_parts(ns, c->n / 4096 + 1), ns);
}

PyArrayObject *array_widened(PyArrayObject *a) {
    PyArrayObject *plain = array_plain((PyObject *)a), *out = NULL;
    Given *const lent = given; /* for results, not for what they are made of */
    given = NULL;
    if (plain) out = array_like(plain);
    given = lent;
    Cast c = {.half = half_of(a), .widens = 1};
    if (out) cast_run(&c, plain, out);
    Py_XDECREF(plain);
    return out;
}

PyArrayObject *array_narrowed(PyArrayObject *a, int type, int half) {
    PyArrayObject *out = array_new(PyArray_NDIM(a), PyArray_DIMS(a), type);
    Cast c = {.half = half};
    if (out) cast_run(&c, a, out);
    return out;
}

/* Float32 as doubles, or as whether it is not 0. */
static void double_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Cast *c = what;
    const idx end = share(c->n, i + 1, parts);
    for (idx k = share(c->n, i, parts); k < end; k++) ((double *)c->out)[k] = (double)((const float *)c->x)[k];
}

static void truth_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Cast *c = what;
    const uint32_t *x = c->x;
    uint8_t *out = c->out;
    const idx end = share(c->n, i + 1, parts);
    for (idx k = share(c->n, i, parts); k < end; k++) out[k] = (x[k] & 0x7fffffffu) != 0;
}

static PyObject *cast_floats(PyArrayObject *x, int type) {
    PyArrayObject *out = array_new(PyArray_NDIM(x), PyArray_DIMS(x), type);
    if (!out) return NULL;
    Cast c = {.x = PyArray_DATA(x), .out = PyArray_DATA(out), .n = PyArray_SIZE(x)};
    const double ns = 0.3 * (double)c.n;
    run_parts(type == NPY_BOOL ? truth_part : double_part, &c, threads_parts(ns, c.n / 4096 + 1), ns);
    return (PyObject *)out;
}

static PyObject *cast(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *to = attr(attrs, "to");
    if (!to) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyArray_ISALIGNED(ARRAY(args[0]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int floats = is_float(args[0]);
    Cast c = {.half = floats ? NO_HALF : half_of(x), .widens = !floats};
    if ((!floats && !c.half) || !PyArray_IS_C_CONTIGUOUS(x)) return REFUSE;
    PyObject *np = PyObject_GetAttrString(to, "np");
    if (!np) return NULL;
    PyObject *result = REFUSE;
    if (PyArray_DescrCheck(np)) {
        PyArray_Descr *d = (PyArray_Descr *)np;
        if (floats) c.half = d->type_num == NPY_HALF ? FLOAT16 : d->type == 'E' ? BFLOAT16 : NO_HALF;
        if (floats && (d->type_num == NPY_BOOL || (d->type_num == NPY_FLOAT64 && PyDataType_ISNOTSWAPPED(d))))
            result = cast_floats(x, d->type_num);
        else if (floats ? c.half != NO_HALF : d->type_num == NPY_FLOAT32) {
            PyArrayObject *out = array_new(PyArray_NDIM(x), PyArray_DIMS(x), d->type_num);
            if (out) cast_run(&c, x, out);
            result = (PyObject *)out;
        }
    }
    Py_DECREF(np);
    return result;
}

const Entry cast_entries[] = {{"cast", cast, .repeats = 1}, {NULL, NULL}};
