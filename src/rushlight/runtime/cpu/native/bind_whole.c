/* Whole numbers: sums, extremes, quotients of int64, numbers of bags; how many are not zero, and whether two arrays hold the same. */
#include <math.h>

#include "arrays.h"
#include "codes.h"

static int is_whole(PyObject *o) { return is_type(o, NPY_INT64) && PyArray_IS_C_CONTIGUOUS(ARRAY(o)); }

/* -- sums ------------------------------------------------------------------------------------------------ */

/* x seen as [outer][n][inner]: along n. Sums wrap around, as PyTorch's do. */
typedef struct {
    const uint64_t *x;
    uint64_t *out;
    idx outer, n, inner;
    int back, bytes;
    uint64_t mask;
} Whole;

static void sum_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    for (idx o = share(w->outer, i, parts); o < share(w->outer, i + 1, parts); o++) {
        const uint64_t *x = w->x + o * w->n * w->inner;
        uint64_t *out = w->out + o * w->inner;
        if (w->inner == 1) {
            uint64_t chain[16] = {0}, sum = 0; /* side by side: each waits for the one before it */
            idx k = 0;
            for (; k + 16 <= w->n; k += 16)
                for (int j = 0; j < 16; j++) chain[j] += x[k + j];
            for (int j = 0; j < 16; j++) sum += chain[j];
            for (; k < w->n; k++) sum += x[k];
            *out = sum;
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++)
            for (idx c = 0; c < w->inner; c++) out[c] += x[k * w->inner + c];
    }
}

int neighbours(PyObject *attrs, int ndim, int *first, int *last) {
    PyObject *dim = attr(attrs, "dim");
    if (!dim) return -1;
    *first = 0, *last = ndim - 1;
    if (dim == Py_None) return 1;
    if (!PyTuple_Check(dim) || PyTuple_GET_SIZE(dim) < 1) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dim); i++) {
        const long d = PyLong_AsLong(PyTuple_GET_ITEM(dim, i));
        if (d == -1 && PyErr_Occurred()) return -1;
        if (i == 0) *first = (int)d;
        if (d != *first + i) return 0;
        *last = (int)d;
    }
    return *first >= 0 && *last < ndim;
}

/* Reduce x, plain and not empty, over neighbouring dims; `keepdim` may be -1 with an exception. */
static PyObject *over_dims(PyArrayObject *x, PyObject *attrs, int keepdim, Whole *w, Part part, double ns_each) {
    const int ndim = PyArray_NDIM(x);
    int first, last, found = 0;
    const int fits = neighbours(attrs, ndim, &first, &last);
    if (fits < 0 || keepdim < 0) return NULL;
    if (!fits) return REFUSE;
    npy_intp shape[DIMS];
    w->x = PyArray_DATA(x), w->outer = w->n = w->inner = 1;
    for (int d = 0; d < ndim; d++) {
        const int gone = d >= first && d <= last;
        *(gone ? &w->n : d < first ? &w->outer : &w->inner) *= PyArray_DIM(x, d);
        if (!gone || keepdim) shape[found++] = gone ? 1 : PyArray_DIM(x, d);
    }
    PyArrayObject *out = array_new(found, shape, NPY_INT64);
    if (!out) return NULL;
    w->out = PyArray_DATA(out);
    const double ns = ns_each * (double)PyArray_SIZE(x);
    run_parts(part, w, threads_parts(ns, w->outer), ns);
    return (PyObject *)out;
}

static void count_part(void *what, ptrdiff_t i, ptrdiff_t parts);

PyObject *whole_sum(PyObject *o, PyObject *attrs) {
    if (is_type(o, NPY_BOOL) && PyArray_IS_C_CONTIGUOUS(ARRAY(o)) && PyArray_SIZE(ARRAY(o)) && PyArray_NDIM(ARRAY(o)) <= DIMS) {
        Whole truths = {.bytes = 1, .mask = 0xff};
        return over_dims(ARRAY(o), attrs, attr_flag(attrs, "keepdim"), &truths, count_part, 0.1);
    }
    if (!is_whole(o) || PyArray_SIZE(ARRAY(o)) == 0 || PyArray_NDIM(ARRAY(o)) > DIMS) return REFUSE;
    Whole w = {0};
    return over_dims(ARRAY(o), attrs, attr_flag(attrs, "keepdim"), &w, sum_part, 0.3);
}

/* -- the largest and the smallest ---------------------------------------------------------------------- */

static void extreme_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    for (idx o = share(w->outer, i, parts); o < share(w->outer, i + 1, parts); o++) {
        const int64_t *x = (const int64_t *)w->x + o * w->n * w->inner;
        int64_t *out = (int64_t *)w->out + o * w->inner;
        if (w->inner == 1) {
            int64_t best[4] = {x[0], x[0], x[0], x[0]};
            idx k = 0;
            if (w->back) {
                for (; k + 4 <= w->n; k += 4)
                    for (int j = 0; j < 4; j++) best[j] = x[k + j] < best[j] ? x[k + j] : best[j];
                for (; k < w->n; k++) best[0] = x[k] < best[0] ? x[k] : best[0];
                for (int j = 1; j < 4; j++) best[0] = best[j] < best[0] ? best[j] : best[0];
            } else {
                for (; k + 4 <= w->n; k += 4)
                    for (int j = 0; j < 4; j++) best[j] = x[k + j] > best[j] ? x[k + j] : best[j];
                for (; k < w->n; k++) best[0] = x[k] > best[0] ? x[k] : best[0];
                for (int j = 1; j < 4; j++) best[0] = best[j] > best[0] ? best[j] : best[0];
            }
            *out = best[0];
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++) {
            x += w->inner;
            if (w->back)
                for (idx c = 0; c < w->inner; c++) out[c] = x[c] < out[c] ? x[c] : out[c];
            else
                for (idx c = 0; c < w->inner; c++) out[c] = x[c] > out[c] ? x[c] : out[c];
        }
    }
}

PyObject *whole_extreme(PyObject *o, PyObject *attrs, int low) {
    if (!is_whole(o) || PyArray_SIZE(ARRAY(o)) == 0 || PyArray_NDIM(ARRAY(o)) > DIMS) return REFUSE;
    Whole w = {.back = low};
    return over_dims(ARRAY(o), attrs, attr_flag(attrs, "keepdim"), &w, extreme_part, 0.5);
}

/* -- how many are not zero ------------------------------------------------------------------------------ */

#define COUNT(name, T) \
    static void name(const Whole *w, idx o) { \
        const T *x = (const T *)w->x + o * w->n * w->inner, mask = (T)w->mask; \
        uint64_t *out = w->out + o * w->inner; \
        for (idx c = 0; c < w->inner; c++) out[c] = 0; \
        if (w->inner > 1) { \
            for (idx k = 0; k < w->n; k++, x += w->inner) \
                for (idx c = 0; c < w->inner; c++) out[c] += (x[c] & mask) != 0; \
            return; \
        } \
        for (idx k = 0; k < w->n; k += 1 << 20) { \
            const idx end = w->n - k < 1 << 20 ? w->n : k + (1 << 20); \
            uint32_t some = 0; \
            for (idx j = k; j < end; j++) some += (x[j] & mask) != 0; \
            *out += some; \
        } \
    }
COUNT(count_8, uint8_t)
COUNT(count_16, uint16_t)
COUNT(count_32, uint32_t)
COUNT(count_64, uint64_t)

static void count_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    for (idx o = share(w->outer, i, parts); o < share(w->outer, i + 1, parts); o++) {
        switch (w->bytes) {
        case 1: count_8(w, o); break;
        case 2: count_16(w, o); break;
        case 4: count_32(w, o); break;
        default: count_64(w, o);
        }
    }
}

/* By bits: of floats all but the sign. */
static PyObject *count_nonzero(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!PyArray_CheckExact(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int type = PyArray_TYPE(x), floats = type == NPY_FLOAT32 || type == NPY_FLOAT64 || type == NPY_FLOAT16;
    if (!(floats || PyTypeNum_ISINTEGER(type) || type == NPY_BOOL) || !PyArray_ISALIGNED(x) || !PyArray_IS_C_CONTIGUOUS(x)) return REFUSE;
    if (!PyArray_ISNOTSWAPPED(x) || PyArray_SIZE(x) == 0 || PyArray_NDIM(x) > DIMS) return REFUSE;
    const int bits = 8 * (int)PyArray_ITEMSIZE(x);
    Whole w = {.bytes = bits / 8, .mask = UINT64_MAX >> (64 - bits + floats)};
    return over_dims(x, attrs, 0, &w, count_part, 0.4);
}

/* -- quotients and remainders --------------------------------------------------------------------------- */

typedef struct {
    int which;
    const int64_t *x, *y;
    idx x_step, y_step, n;
    int64_t *out;
} Quotient;

static void quotient_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Quotient *q = what;
    const idx from = share(q->n, i, parts), n = share(q->n, i + 1, parts) - from;
    RL->whole_divide(q->which, q->x + from * q->x_step, q->x_step, q->y + from * q->y_step, q->y_step, q->out + from, n);
}

/* A plain array, or one number (of Python's, or an array without dims), which goes to `number`; 0 where it is neither. */
static int whole_operand(PyObject *o, const int64_t **data, idx *step, int64_t *number) {
    if (PyLong_CheckExact(o)) {
        int over;
        *number = PyLong_AsLongLongAndOverflow(o, &over);
        *data = number, *step = 0;
        return !over;
    }
    if (!is_whole(o)) return 0;
    *data = PyArray_DATA(ARRAY(o)), *step = PyArray_NDIM(ARRAY(o)) > 0;
    return 1;
}

PyObject *whole_divide(PyObject *a, PyObject *b, int which) {
    int64_t first, second;
    Quotient q = {.which = which};
    if (!whole_operand(a, &q.x, &q.x_step, &first) || !whole_operand(b, &q.y, &q.y_step, &second)) return REFUSE;
    if (!q.x_step && !q.y_step) return REFUSE;
    PyArrayObject *like = ARRAY(q.x_step ? a : b);
    if (q.x_step && q.y_step && !PyArray_SAMESHAPE(like, ARRAY(b))) return REFUSE;
    PyArrayObject *out = array_new(PyArray_NDIM(like), PyArray_DIMS(like), NPY_INT64);
    if (!out) return NULL;
    q.out = PyArray_DATA(out), q.n = PyArray_SIZE(like);
    const double ns = 2.0 * (double)q.n;
    run_parts(quotient_part, &q, threads_parts(ns, q.n / 256 + 1), ns);
    return (PyObject *)out;
}

/* Four rows side by side. */
static void running_rows(const Whole *w, idx o) {
    const idx n = w->n, step = w->back ? -1 : 1;
    const uint64_t *x = w->x + o * n;
    uint64_t *out = w->out + o * n, sum[4] = {0};
    for (idx i = 0, k = w->back ? n - 1 : 0; i < n; i++, k += step)
        for (idx r = 0; r < 4; r++) out[r * n + k] = sum[r] += x[r * n + k];
}

static void running_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    const idx last = share(w->outer, i + 1, parts);
    idx o = share(w->outer, i, parts);
    for (; w->inner == 1 && o + 4 <= last; o += 4) running_rows(w, o);
    for (; o < last; o++) {
        const idx step = w->back ? -w->inner : w->inner;
        const uint64_t *x = w->x + o * w->n * w->inner + (w->back ? (w->n - 1) * w->inner : 0);
        uint64_t *out = w->out + (x - w->x), sum = 0;
        if (w->inner == 1) {
            for (idx k = 0; k < w->n; k++, x += step, out += step) *out = sum += *x;
            continue;
        }
        memcpy(out, x, (size_t)w->inner * 8);
        for (idx k = 1; k < w->n; k++) {
            x += step, out += step;
            for (idx c = 0; c < w->inner; c++) out[c] = out[c - step] + x[c];
        }
    }
}

PyObject *whole_cumsum(PyObject *o, PyObject *attrs) {
    idx dim;
    const int back = attr_flag(attrs, "reverse");
    if (back < 0 || attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!is_whole(o) || PyArray_SIZE(ARRAY(o)) == 0 || dim < 0 || dim >= PyArray_NDIM(ARRAY(o))) return REFUSE;
    PyArrayObject *x = ARRAY(o);
    Whole w = {.x = PyArray_DATA(x), .outer = 1, .inner = 1, .n = PyArray_DIM(x, dim), .back = back};
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        if (d < dim) w.outer *= PyArray_DIM(x, d);
        if (d > dim) w.inner *= PyArray_DIM(x, d);
    }
    PyArrayObject *out = array_new(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    if (!out) return NULL;
    w.out = PyArray_DATA(out);
    const double ns = 0.6 * (double)PyArray_SIZE(x);
    run_parts(running_part, &w, threads_parts(ns, w.outer), ns);
    return (PyObject *)out;
}

/* -- bags ------------------------------------------------------------------------------------------------ */

/* Which bag each of `total` places lies in, by where bags begin. */
static PyObject *bag_numbers(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx total;
    if (attr_idx(attrs, "total", &total) < 0) return NULL;
    if (!is_whole(args[0]) || PyArray_NDIM(ARRAY(args[0])) != 1) return REFUSE;
    const int64_t *starts = PyArray_DATA(ARRAY(args[0]));
    const idx count = PyArray_SIZE(ARRAY(args[0]));
    if (count == 0 || starts[0] != 0 || starts[count - 1] > total) return REFUSE;
    for (idx i = 1; i < count; i++)
        if (starts[i] < starts[i - 1]) return REFUSE;
    npy_intp n = total;
    PyArrayObject *out = array_new(1, &n, NPY_INT64);
    if (!out) return NULL;
    int64_t *to = PyArray_DATA(out);
    for (idx b = 0; b < count; b++)
        for (idx i = starts[b], end = b + 1 < count ? starts[b + 1] : total; i < end; i++) to[i] = b;
    return (PyObject *)out;
}

/* -- the same everywhere ---------------------------------------------------------------------------------- */

#define STRETCH 1024 /* numbers that are compared before the answer is looked at */

static int equal_floats(const float *x, const float *y, idx n) {
    for (idx i = 0; i < n; i += STRETCH) {
        const idx end = i + STRETCH < n ? i + STRETCH : n;
        int differ = 0;
        for (idx k = i; k < end; k++) differ |= x[k] != y[k];
        if (differ) return 0;
    }
    return 1;
}

static PyObject *equal_everywhere(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *y = ARRAY(args[1]);
    const int type = PyArray_TYPE(x), bits = PyTypeNum_ISINTEGER(type) || type == NPY_BOOL;
    if (PyArray_TYPE(y) != type || !(bits || type == NPY_FLOAT32) || !PyArray_ISALIGNED(x) || !PyArray_ISALIGNED(y)) return REFUSE;
    if (!PyArray_IS_C_CONTIGUOUS(x) || !PyArray_IS_C_CONTIGUOUS(y) || PyArray_SIZE(x) != PyArray_SIZE(y)) return REFUSE;
    if (!PyArray_ISNOTSWAPPED(x) || !PyArray_ISNOTSWAPPED(y)) return REFUSE;
    const int same = bits ? memcmp(PyArray_DATA(x), PyArray_DATA(y), (size_t)PyArray_NBYTES(x)) == 0
                          : equal_floats(DATA(x), DATA(y), PyArray_SIZE(x));
    return PyBool_FromLong(same);
}

const Entry whole_entries[] = {
    {"count_nonzero", count_nonzero}, {"bag_numbers", bag_numbers}, {"equal_everywhere", equal_everywhere}, {NULL, NULL},
};
