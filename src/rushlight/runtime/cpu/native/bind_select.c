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
static void select_run(Call *c, Select *s, PyArrayObject *const *given, PyArrayObject *like) {
    npy_intp shape[DIMS];
    idx step[OPERANDS][DIMS] = {{0}};
    int ndim = 0;
    for (int k = 0; k < OPERANDS; k++)
        if (given[k] && PyArray_NDIM(given[k]) > ndim) ndim = PyArray_NDIM(given[k]);
    if (!need(c, ndim >= 1 && ndim <= DIMS)) return;
    for (int d = 0; d < ndim; d++) shape[d] = 1;
    for (int k = 0; k < OPERANDS; k++)
        for (int d = 0; given[k] && d < PyArray_NDIM(given[k]); d++)
            if (PyArray_DIM(given[k], d) != 1) shape[d + ndim - PyArray_NDIM(given[k])] = PyArray_DIM(given[k], d);
    for (int k = 0; k < OPERANDS; k++)
        if (given[k]) {
            if (!need(c, steps_along(given[k], ndim, shape, step[k]))) return;
            s->data[k] = PyArray_BYTES(given[k]);
        }
    for (int d = 0; d < ndim; d++) {
        const int l = s->dims - 1;
        if (!need(c, shape[d])) return;
        if (shape[d] == 1) continue;
        int joins = l >= 0;
        for (int k = 0; k < OPERANDS && joins; k++) joins = s->step[k][l] == step[k][d] * shape[d];
        const int to = joins ? l : s->dims++;
        s->size[to] = joins ? s->size[l] * shape[d] : shape[d];
        for (int k = 0; k < OPERANDS; k++) s->step[k][to] = step[k][d];
    }
    const int last = s->dims - 1;
    if (!need(c, last >= 0 && s->size[last] >= 4)) return;
    for (int k = 0; k < OPERANDS; k++) need(c, s->step[k][last] <= 1);
    if (!(s->out = new_array(c, ndim, shape, PyArray_TYPE(like)))) return;
    s->rows = 1;
    for (int d = 0; d < last; d++) s->rows *= s->size[d];
    run_shared(select_part, s, s->rows, 0.6 * (double)(s->rows * s->size[last]) + 6.0 * (double)s->rows);
}

static PyArrayObject *mask_at(Call *c, int i) {
    PyArrayObject *mask = array_at(c, i);
    return mask && need(c, PyArray_TYPE(mask) == NPY_BOOL && c->count == OPERANDS) ? mask : NULL;
}

/* Whether it is a plain number: operand `k`, which is kept in `numbers`. */
static int takes_number(Select *s, int k, PyObject *o, float *numbers) {
    double value;
    if (!plain_number(o, &value)) return 0;
    numbers[k] = (float)value, s->data[k] = (const char *)&numbers[k];
    return 1;
}

/* x with a number, or an array without dims, where the mask is true. */
static void masked_fill(Call *c) {
    PyArrayObject *given[OPERANDS] = {mask_at(c, 1), NULL, strided(c, 0)};
    float *numbers = table(c, OPERANDS * sizeof *numbers);
    Select s = {.bytes = 4};
    if (c->ends) return;
    if (is_float(c->args[2]) && PyArray_NDIM(ARRAY(c->args[2])) == 0) s.data[THEN] = PyArray_BYTES(ARRAY(c->args[2]));
    else if (!need(c, takes_number(&s, THEN, c->args[2], numbers))) return;
    select_run(c, &s, given, given[ELSE]);
}

static void where(Call *c) {
    PyArrayObject *given[OPERANDS] = {mask_at(c, MASK)}, *like = NULL;
    PyObject *to = attr_of(c, "to"); /* None, or the dtype of the one array */
    float *numbers = table(c, OPERANDS * sizeof *numbers);
    Select s = {0};
    if (c->ends) return;
    for (int k = THEN; k <= ELSE; k++) {
        if (takes_number(&s, k, c->args[k], numbers)) continue;
        given[k] = array_at(c, k);
        if (!given[k] || !need(c, PyArray_ISBEHAVED_RO(given[k]) && (!like || PyArray_TYPE(like) == PyArray_TYPE(given[k])))) return;
        like = given[k];
    }
    const int whole = given[THEN] && given[ELSE];
    if (!need(c, like && (is_float((PyObject *)like) || (whole && PyArray_ITEMSIZE(like) == 2)) && !(to != Py_None && whole))) return;
    s.bytes = (int)PyArray_ITEMSIZE(like);
    select_run(c, &s, given, like);
}

const Entry select_entries[] = {BOUND("masked_fill", masked_fill, .repeats = 1), BOUND("where", where, .repeats = 1), {NULL}};
