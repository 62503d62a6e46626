/* Rows of a table looked up, and rows of gradients added to those that were. */
#include "arrays.h"

typedef struct {
    const float *g, *table;
    const int64_t *index;
    float *out;
    idx count, width, rows, padding;
} Lookup;

/* Whether some index is none of a row: what it is to NumPy's body. */
static int is_outside(const void *what) {
    const Lookup *q = what;
    for (idx j = 0; j < q->count; j++)
        if (q->index[j] < 0 || q->index[j] >= q->rows) return 1;
    return 0;
}

/* Shares of the table's columns: every share walks all indices, so no two write to one place. */
static void lookup_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Lookup *q = what;
    const idx blocks = (q->width + 15) / 16, from = share(blocks, i, parts) * 16;
    const idx end = share(blocks, i + 1, parts) * 16, n = (end < q->width ? end : q->width) - from;
    if (n <= 0) return;
    for (idx r = 0; r < q->rows; r++) memset(q->out + r * q->width + from, 0, (size_t)n * 4);
    for (idx j = 0; j < q->count; j++)
        if (q->index[j] != q->padding)
            RL->add_into(q->out + q->index[j] * q->width + from, q->g + j * q->width + from, n);
}

static PyObject *embedding_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Lookup q = {0};
    const int by_freq = attr_flag(attrs, "scale_by_freq");
    if (by_freq < 0 || attr_idx(attrs, "rows", &q.rows) < 0 || attr_idx(attrs, "padding_idx", &q.padding) < 0)
        return NULL;
    if (by_freq || !is_plain(args[0]) || !is_type(args[1], NPY_INT64)) return REFUSE;
    PyArrayObject *g = ARRAY(args[0]), *index = ARRAY(args[1]);
    if (!PyArray_IS_C_CONTIGUOUS(index) || PyArray_NDIM(g) != PyArray_NDIM(index) + 1) return REFUSE;
    q.count = PyArray_SIZE(index), q.width = PyArray_DIM(g, PyArray_NDIM(g) - 1);
    q.g = DATA(g), q.index = PyArray_DATA(index);
    if (q.count * q.width != PyArray_SIZE(g) || q.width == 0) return REFUSE;
    if (run_check(is_outside, &q)) return REFUSE;
    const npy_intp shape[2] = {q.rows, q.width};
    PyArrayObject *out = array_new(2, shape, NPY_FLOAT32);
    if (!out) return NULL;
    q.out = DATA(out);
    const double ns = ((double)q.count * 0.5 + (double)q.rows * 0.1) * (double)q.width;
    run_parts(lookup_part, &q, threads_parts(ns, (q.width + 15) / 16), ns);
    return (PyObject *)out;
}

static void rows_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Lookup *q = what;
    for (idx j = 0; j < q->count; j++)
        memcpy(q->out + j * q->width, q->table + q->index[j] * q->width, (size_t)q->width * 4);
}

/* Rows of the table one after the other, `index` of them; a wrong index is told by NumPy's body. */
static PyObject *embedding(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (nargs < 2 || !is_plain(args[0]) || !is_type(args[1], NPY_INT64)) return REFUSE;
    PyArrayObject *table = ARRAY(args[0]), *index = ARRAY(args[1]);
    const int ndim = PyArray_NDIM(index);
    if (PyArray_NDIM(table) != 2 || !PyArray_IS_C_CONTIGUOUS(index) || ndim + 1 > DIMS) return REFUSE;
    Lookup q = {.table = DATA(table), .index = PyArray_DATA(index), .count = PyArray_SIZE(index)};
    q.rows = PyArray_DIM(table, 0), q.width = PyArray_DIM(table, 1);
    if (run_check(is_outside, &q)) return REFUSE;
    npy_intp shape[DIMS];
    for (int d = 0; d < ndim; d++) shape[d] = PyArray_DIM(index, d);
    shape[ndim] = q.width;
    PyArrayObject *out = array_new(ndim + 1, shape, NPY_FLOAT32);
    if (!out) return NULL;
    q.out = DATA(out);
    run_once(rows_part, &q, 0.1 * (double)(q.count * q.width));
    return (PyObject *)out;
}

/* Sums or means of looked up rows, of those from each beginning to the next; what is wrong is told by NumPy's body. */
static PyObject *embedding_bag(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    const int mean = attr_flag(attrs, "mean");
    if (mean < 0) return NULL;
    if (!is_plain(args[0]) || !is_type(args[1], NPY_INT64) || !is_type(args[2], NPY_INT64)) return REFUSE;
    PyArrayObject *table = ARRAY(args[0]), *index = ARRAY(args[1]), *begins = ARRAY(args[2]);
    if (PyArray_NDIM(table) != 2 || PyArray_NDIM(index) != 1 || PyArray_NDIM(begins) != 1) return REFUSE;
    if (!PyArray_IS_C_CONTIGUOUS(index) || !PyArray_IS_C_CONTIGUOUS(begins)) return REFUSE;
    const idx rows = PyArray_DIM(table, 0), width = PyArray_DIM(table, 1), count = PyArray_SIZE(index), bags = PyArray_SIZE(begins);
    const int64_t *at = PyArray_DATA(index), *from = PyArray_DATA(begins);
    int fits = width > 0 && (bags == 0 || (from[0] == 0 && from[bags - 1] <= count));
    for (idx b = 1; b < bags; b++) fits &= from[b] >= from[b - 1];
    for (idx j = 0; j < count; j++) fits &= (uint64_t)at[j] < (uint64_t)rows;
    if (!fits) return REFUSE;
    const npy_intp shape[2] = {bags, width};
    PyArrayObject *out = array_new(2, shape, NPY_FLOAT32);
    if (!out) return NULL;
    float *to = DATA(out);
    for (idx b = 0; b < bags; b++, to += width) {
        const idx end = b + 1 < bags ? from[b + 1] : count, size = end - from[b];
        if (size > 0) memcpy(to, DATA(table) + at[from[b]] * width, (size_t)width * 4);
        else memset(to, 0, (size_t)width * 4);
        for (idx j = from[b] + 1; j < end; j++) RL->add_into(to, DATA(table) + at[j] * width, width);
        if (mean && size > 1)
            for (idx k = 0; k < width; k++) to[k] /= (float)size;
    }
    return (PyObject *)out;
}

/* Slices at some places of a dim, for arrays of any dtype; a wrong index is told by NumPy's body. */
static PyObject *index_select(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!PyArray_CheckExact(args[0]) || !is_type(args[1], NPY_INT64)) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *index = ARRAY(args[1]);
    const int ndim = PyArray_NDIM(x), type = PyArray_TYPE(x);
    if (!PyArray_IS_C_CONTIGUOUS(x) || !PyArray_ISALIGNED(x) || type == NPY_OBJECT || !PyArray_ISNOTSWAPPED(x)) return REFUSE;
    if (ndim < 1 || ndim > DIMS || dim < 0 || dim >= ndim || PyArray_NDIM(index) != 1 || !PyArray_IS_C_CONTIGUOUS(index))
        return REFUSE;
    const int64_t *at = PyArray_DATA(index);
    const idx rows = PyArray_DIM(x, dim), count = PyArray_SIZE(index);
    for (idx j = 0; j < count; j++)
        if (at[j] < 0 || at[j] >= rows) return REFUSE;
    npy_intp shape[DIMS];
    idx outer = 1, bytes = PyArray_ITEMSIZE(x);
    for (int d = 0; d < ndim; d++) {
        shape[d] = d == dim ? count : PyArray_DIM(x, d);
        if (d != dim) *(d < dim ? &outer : &bytes) *= shape[d];
    }
    PyArrayObject *out = array_new(ndim, shape, type);
    if (!out) return NULL;
    const char *from = PyArray_BYTES(x);
    char *to = PyArray_BYTES(out);
    for (idx o = 0; o < outer; o++, from += rows * bytes)
        if (bytes == 4)
            for (idx j = 0; j < count; j++, to += 4) *(uint32_t *)to = ((const uint32_t *)from)[at[j]];
        else
            for (idx j = 0; j < count; j++, to += bytes) memcpy(to, from + at[j] * bytes, (size_t)bytes);
    return (PyObject *)out;
}

/* x (N, C, ...) at flat places of each plane; a wrong one is told by NumPy's body. */
static PyObject *pool_take(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!is_plain(args[0]) || !is_type(args[1], NPY_INT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[1]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *index = ARRAY(args[1]);
    if (PyArray_NDIM(x) < 2 || PyArray_NDIM(index) < 2 || PyArray_NDIM(index) > DIMS || PyArray_SIZE(index) == 0) return REFUSE;
    const idx planes = PyArray_DIM(x, 0) * PyArray_DIM(x, 1);
    if (planes == 0 || PyArray_DIM(index, 0) * PyArray_DIM(index, 1) != planes) return REFUSE;
    const idx size = PyArray_SIZE(x) / planes, count = PyArray_SIZE(index) / planes;
    const int64_t *at = PyArray_DATA(index);
    for (idx j = 0; j < planes * count; j++)
        if (at[j] < 0 || at[j] >= size) return REFUSE;
    PyArrayObject *out = array_new(PyArray_NDIM(index), PyArray_DIMS(index), NPY_FLOAT32);
    if (!out) return NULL;
    float *to = DATA(out);
    const float *from = DATA(x);
    for (idx p = 0; p < planes; p++, from += size)
        for (idx j = 0; j < count; j++) *to++ = from[*at++];
    return (PyObject *)out;
}

/* Matrices without what lies above a diagonal, or below it. */
static PyObject *triangle(PyObject *const *args, PyObject *attrs, int upper) {
    idx diagonal;
    if (attr_idx(attrs, "diagonal", &diagonal) < 0) return NULL;
    if (!PyArray_CheckExact(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x);
    if (ndim < 2 || ndim > DIMS || !PyArray_IS_C_CONTIGUOUS(x) || PyArray_TYPE(x) == NPY_OBJECT || PyArray_SIZE(x) == 0) return REFUSE;
    PyArrayObject *out = array_new(ndim, PyArray_DIMS(x), PyArray_TYPE(x));
    if (!out) return NULL;
    const idx rows = PyArray_DIM(x, ndim - 2), n = PyArray_DIM(x, ndim - 1), bytes = PyArray_ITEMSIZE(x);
    const char *from = PyArray_BYTES(x);
    char *to = PyArray_BYTES(out);
    for (idx left = PyArray_SIZE(x) / n, r = 0; left > 0; left--, from += n * bytes, to += n * bytes, r = r + 1 < rows ? r + 1 : 0) {
        idx cut = upper ? r + diagonal : r + diagonal + 1; /* where what is kept begins, or ends */
        cut = cut < 0 ? 0 : cut > n ? n : cut;
        const size_t low = (size_t)(cut * bytes), high = (size_t)((n - cut) * bytes);
        if (upper) memset(to, 0, low), memcpy(to + low, from + low, high);
        else memcpy(to, from, low), memset(to + low, 0, high);
    }
    return (PyObject *)out;
}

static PyObject *tril(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return triangle(a, attrs, 0); }
static PyObject *triu(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return triangle(a, attrs, 1); }

/* -- where something is -------------------------------------------------------------------------------- */

#define COUNT(T) \
    for (idx i = 0; i < n; i++) found += ((const T *)data)[i] != 0;
#define LIST(T) \
    for (idx i = 0; i < n; i++) { \
        for (int d = 0; d < ndim; d++) list[d * (found + 1) + k] = at[d]; \
        k += ((const T *)data)[i] != 0; \
        for (int d = ndim - 1; d >= 0 && ++at[d] == size[d]; d--) at[d] = 0; \
    }

/* Places [count][dims] of what is not 0, column by column as PyTorch has them; each is written, and kept if it is one. */
static PyObject *nonzero(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!PyArray_CheckExact(args[0]) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[0])) || !PyArray_ISBEHAVED_RO(ARRAY(args[0]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x), type = PyArray_TYPE(x);
    if (ndim < 1 || ndim > DIMS || (type != NPY_BOOL && type != NPY_FLOAT32 && type != NPY_INT64)) return REFUSE;
    const void *data = PyArray_DATA(x);
    const idx n = PyArray_SIZE(x);
    idx found = 0, at[DIMS] = {0}, size[DIMS];
    if (type == NPY_BOOL) { COUNT(uint8_t) } else if (type == NPY_FLOAT32) { COUNT(float) } else { COUNT(int64_t) }
    for (int d = 0; d < ndim; d++) size[d] = PyArray_DIM(x, d);
    npy_intp shape[2] = {ndim, found};
    PyArrayObject *out = array_new(2, shape, NPY_INT64);
    int64_t *list = memory_take((size_t)((found + 1) * ndim) * 8); /* one more: the place that is not kept */
    idx k = 0;
    if (!out || !list) {
        Py_XDECREF(out);
        if (list) memory_give(list, (size_t)((found + 1) * ndim) * 8);
        return out ? PyErr_NoMemory() : NULL;
    }
    if (type == NPY_BOOL) { LIST(uint8_t) } else if (type == NPY_FLOAT32) { LIST(float) } else { LIST(int64_t) }
    for (int d = 0; d < ndim; d++)
        memcpy((int64_t *)PyArray_DATA(out) + d * found, list + d * (found + 1), (size_t)found * 8);
    memory_give(list, (size_t)((found + 1) * ndim) * 8);
    PyObject *turned = PyArray_Transpose(out, NULL);
    Py_DECREF(out);
    return turned;
}

static PyObject *one_hot(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    idx classes;
    if (attr_idx(attrs, "classes", &classes) < 0) return NULL;
    if (!is_type(args[0], NPY_INT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[0])) || classes < 1) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x);
    if (ndim >= DIMS) return REFUSE;
    npy_intp shape[DIMS];
    for (int d = 0; d < ndim; d++) shape[d] = PyArray_DIM(x, d);
    shape[ndim] = classes;
    PyArrayObject *out = array_new(ndim + 1, shape, NPY_INT64);
    if (!out) return NULL;
    const int64_t *at = PyArray_DATA(x);
    int64_t *to = PyArray_DATA(out);
    memset(to, 0, (size_t)PyArray_NBYTES(out));
    for (idx i = 0, n = PyArray_SIZE(x); i < n; i++, to += classes)
        if (at[i] >= 0 && at[i] < classes) to[at[i]] = 1;
    return (PyObject *)out;
}

const Entry gather_entries[] = {{"embedding_grad", embedding_grad, 1, .repeats = 1}, {"embedding", embedding, .repeats = 1}, {"embedding_bag", embedding_bag}, {"index_select", index_select},
                                {"pool_take", pool_take}, {"tril", tril}, {"triu", triu}, {"nonzero", nonzero}, {"one_hot", one_hot}, {NULL, NULL}};
