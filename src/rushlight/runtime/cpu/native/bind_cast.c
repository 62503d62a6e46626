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

static void cast_run(Cast *c, PyArrayObject *x, void *out, Part part) {
    c->x = PyArray_DATA(x), c->out = out, c->n = PyArray_SIZE(x);
    if (out) run_shared(part, c, c->n / 4096 + 1, 0.3 * (double)c->n);
}

PyArrayObject *array_widened(PyArrayObject *a) {
    PyArrayObject *plain = array_plain((PyObject *)a), *out = NULL;
    Given *const lent = given; /* for results, not for what they are made of */
    given = NULL;
    if (plain) out = array_like(plain);
    given = lent;
    Cast c = {.half = half_of(a), .widens = 1};
    if (out) cast_run(&c, plain, PyArray_DATA(out), cast_part);
    Py_XDECREF(plain);
    return out;
}

PyArrayObject *array_narrowed(PyArrayObject *a, int type, int half) {
    PyArrayObject *out = array_new(PyArray_NDIM(a), PyArray_DIMS(a), type);
    Cast c = {.half = half};
    if (out) cast_run(&c, a, PyArray_DATA(out), cast_part);
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

static void cast_to(Call *c, PyArrayObject *x, const PyArray_Descr *to) {
    const int floats = is_float((PyObject *)x), type = to->type_num;
    Cast k = {.half = half_of(x), .widens = 1};
    if (floats) k.half = type == NPY_HALF ? FLOAT16 : to->type == 'E' ? BFLOAT16 : NO_HALF, k.widens = 0;
    Part part = floats && type == NPY_BOOL ? truth_part : floats && type == NPY_FLOAT64 && PyDataType_ISNOTSWAPPED(to) ? double_part : cast_part;
    if (need(c, part != cast_part || (k.half && (floats || type == NPY_FLOAT32)))) cast_run(&k, x, new_of(c, x, type), part);
}

static void cast(Call *c) {
    PyObject *to = attr_of(c, "to");
    PyArrayObject *x = array_at(c, 0);
    if (c->ends || !need(c, PyArray_ISALIGNED(x) && PyArray_IS_C_CONTIGUOUS(x) && (is_float((PyObject *)x) || half_of(x)))) return;
    PyObject *np = PyObject_GetAttrString(to, "np");
    if (!np) fail(c);
    else if (need(c, PyArray_DescrCheck(np))) cast_to(c, x, (PyArray_Descr *)np);
    Py_XDECREF(np);
}

const Entry cast_entries[] = {BOUND("cast", cast, .repeats = 1), {NULL}};
