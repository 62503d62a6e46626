/* One of two numbers by a truth value: `where` and `masked_fill`, of any shapes that fit together. */
#include "arrays.h"

enum { MASK, THEN, ELSE, OPERANDS };

typedef struct {
    int dims, bytes; /* bytes: of an element, 4 or 2 */
    idx size[DIMS], step[OPERANDS][DIMS]; /* outermost first, in elements; the last one is a row */
    const char *data[OPERANDS];
    char *out;
    idx rows;
} Select;

/* A row whose operands are rows or one number; `then` and `otherwise` step by 0 or 1. */
#define ROW(type) \
    static void row_##type(const char *mask, idx m_step, const type *a, idx a_step, const type *b, idx b_step, type *out, \
                           idx n) { \
        if (!m_step) { \
            const type *from = *mask ? a : b; \
            const idx step = *mask ? a_step : b_step; \
            for (idx i = 0; i < n; i++) out[i] = from[i * step]; \
        } else if (a_step && b_step) \
            for (idx i = 0; i < n; i++) { \
                const type x = a[i], y = b[i]; \
                out[i] = mask[i] ? x : y; \
            } \
        else if (b_step) { \
            const type x = *a; \
            for (idx i = 0; i < n; i++) { \
                const type y = b[i]; \
                out[i] = mask[i] ? x : y; \
            } \
        } else { \
            const type y = *b; \
            for (idx i = 0; i < n; i++) { \
                const type x = a[i * a_step]; \
                out[i] = mask[i] ? x : y; \
            } \
        } \
    }
ROW(uint32_t)
ROW(uint16_t)

static void select_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Select *s = what;
    const int last = s->dims - 1;
    const idx n = s->size[last];
    idx r = share(s->rows, i, parts), left = r, off[OPERANDS] = {0}, at[DIMS];
    for (int d = last - 1; d >= 0; d--) {
        at[d] = left % s->size[d];
        left /= s->size[d];
        for (int k = 0; k < OPERANDS; k++) off[k] += at[d] * s->step[k][d];
    }
    for (; r < share(s->rows, i + 1, parts); r++) {
        const char *mask = s->data[MASK] + off[MASK];
        const char *a = s->data[THEN] + off[THEN] * s->bytes, *b = s->data[ELSE] + off[ELSE] * s->bytes;
        char *out = s->out + r * n * s->bytes;
        const idx m = s->step[MASK][last], x = s->step[THEN][last], y = s->step[ELSE][last];
        if (s->bytes == 4) row_uint32_t(mask, m, (const uint32_t *)a, x, (const uint32_t *)b, y, (uint32_t *)out, n);
        else row_uint16_t(mask, m, (const uint16_t *)a, x, (const uint16_t *)b, y, (uint16_t *)out, n);
        for (int d = last - 1; d >= 0; d--) { /* the next row, without divisions */
            for (int k = 0; k < OPERANDS; k++) off[k] += s->step[k][d];
            if (++at[d] < s->size[d]) break;
            for (int k = 0; k < OPERANDS; k++) off[k] -= at[d] * s->step[k][d];
            at[d] = 0;
        }
    }
}

/* Steps along the result's dims, 0 where an operand is stretched; false where its dims lie in memory in another order. */
static int steps_along(PyArrayObject *a, int ndim, const npy_intp *shape, idx *step) {
    const int lead = ndim - PyArray_NDIM(a), bytes = (int)PyArray_ITEMSIZE(a);
    idx before = 0;
    for (int d = 0; d < ndim; d++) {
        step[d] = 0;
        if (d < lead || PyArray_DIM(a, d - lead) == 1) continue;
        if (PyArray_DIM(a, d - lead) != shape[d]) return 0;
        const npy_intp stride = PyArray_STRIDE(a, d - lead);
        if (stride % bytes || stride < 0) return 0;
        step[d] = stride / bytes;
        if (!step[d]) continue;
        if (before && step[d] > before) return 0;
        before = step[d];
    }
    return 1;
}

/* The operands (NULL: a number, whose data is set) over their common shape. */
static PyObject *select_run(Select *s, PyArrayObject *const *given, PyArrayObject *like) {
    npy_intp shape[DIMS];
    idx step[OPERANDS][DIMS] = {{0}};
    int ndim = 0;
    for (int k = 0; k < OPERANDS; k++)
        if (given[k] && PyArray_NDIM(given[k]) > ndim) ndim = PyArray_NDIM(given[k]);
    if (ndim < 1 || ndim > DIMS) return REFUSE;
    for (int d = 0; d < ndim; d++) shape[d] = 1;
    for (int k = 0; k < OPERANDS; k++)
        for (int d = 0; given[k] && d < PyArray_NDIM(given[k]); d++)
            if (PyArray_DIM(given[k], d) != 1) shape[d + ndim - PyArray_NDIM(given[k])] = PyArray_DIM(given[k], d);
    for (int k = 0; k < OPERANDS; k++)
        if (given[k]) {
            if (!steps_along(given[k], ndim, shape, step[k])) return REFUSE;
            s->data[k] = PyArray_BYTES(given[k]);
        }
    for (int d = 0; d < ndim; d++) {
        const int l = s->dims - 1;
        if (shape[d] == 0) return REFUSE;
        if (shape[d] == 1) continue;
        int joins = l >= 0;
        for (int k = 0; k < OPERANDS && joins; k++) joins = s->step[k][l] == step[k][d] * shape[d];
        const int to = joins ? l : s->dims++;
        s->size[to] = joins ? s->size[l] * shape[d] : shape[d];
        for (int k = 0; k < OPERANDS; k++) s->step[k][to] = step[k][d];
    }
    const int last = s->dims - 1;
    if (last < 0 || s->size[last] < 4) return REFUSE;
    for (int k = 0; k < OPERANDS; k++)
        if (s->step[k][last] > 1) return REFUSE;
    PyArrayObject *out = array_new(ndim, shape, PyArray_TYPE(like));
    if (!out) return NULL;
    s->out = PyArray_BYTES(out), s->rows = 1;
    for (int d = 0; d < last; d++) s->rows *= s->size[d];
    const double ns = 0.6 * (double)PyArray_SIZE(out) + 6.0 * (double)s->rows;
    run_parts(select_part, s, threads_parts(ns, s->rows), ns);
    return (PyObject *)out;
}

static int is_mask(PyObject *o) { return PyArray_CheckExact(o) && PyArray_TYPE(ARRAY(o)) == NPY_BOOL; }

/* A plain number as float32; 0 where it is something else. */
static int number_of(PyObject *o, float *out) {
    if (!PyFloat_CheckExact(o) && !PyLong_CheckExact(o)) return 0;
    const double value = PyFloat_AsDouble(o);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    *out = (float)value;
    return 1;
}

/* x with a number, or an array without dims, where the mask is true. */
static PyObject *masked_fill(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (nargs != 3 || !is_float(args[0]) || !is_mask(args[1])) return REFUSE;
    float *number = table_take(sizeof *number);
    PyArrayObject *given[OPERANDS] = {ARRAY(args[1]), NULL, ARRAY(args[0])};
    Select s = {.bytes = 4};
    if (!number) return PyErr_NoMemory();
    if (is_float(args[2]) && PyArray_NDIM(ARRAY(args[2])) == 0) s.data[THEN] = PyArray_BYTES(ARRAY(args[2]));
    else if (number_of(args[2], number)) s.data[THEN] = (const char *)number;
    PyObject *out = s.data[THEN] ? select_run(&s, given, ARRAY(args[0])) : REFUSE;
    table_give(number);
    return out;
}

/* `numbers`: room for those that are no arrays. */
static PyObject *where_with(PyObject *const *args, PyObject *attrs, float *numbers) {
    PyArrayObject *given[OPERANDS] = {ARRAY(args[0])}, *like = NULL;
    Select s = {0};
    for (int k = THEN; k <= ELSE; k++) {
        PyObject *o = args[k];
        if (number_of(o, &numbers[k])) {
            s.data[k] = (const char *)&numbers[k];
            continue;
        }
        if (!PyArray_CheckExact(o) || !PyArray_ISBEHAVED_RO(ARRAY(o))) return REFUSE;
        if (like && PyArray_TYPE(like) != PyArray_TYPE(ARRAY(o))) return REFUSE;
        given[k] = like = ARRAY(o);
    }
    const int whole = given[THEN] && given[ELSE];
    if (!like || !(is_float((PyObject *)like) || (whole && PyArray_ITEMSIZE(like) == 2))) return REFUSE;
    PyObject *to = attr(attrs, "to"); /* None, or the dtype of the one array */
    if (!to) return NULL;
    if (to != Py_None && whole) return REFUSE;
    s.bytes = (int)PyArray_ITEMSIZE(like);
    return select_run(&s, given, like);
}

static PyObject *where(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (nargs != 3 || !is_mask(args[0])) return REFUSE;
    float *numbers = table_take(OPERANDS * sizeof *numbers);
    if (!numbers) return PyErr_NoMemory();
    PyObject *out = where_with(args, attrs, numbers);
    table_give(numbers);
    return out;
}

const Entry select_entries[] = {{"masked_fill", masked_fill, .repeats = 1}, {"where", where, .repeats = 1}, {NULL, NULL}};
