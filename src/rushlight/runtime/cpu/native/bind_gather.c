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

static void embedding_grad(Call *c) {
    const int by_freq = flag_of(c, "scale_by_freq");
    Lookup q = {.rows = idx_of(c, "rows"), .padding = idx_of(c, "padding_idx")};
    PyArrayObject *g = floats(c, 0), *index = typed(c, 1, NPY_INT64);
    if (c->ends || !need(c, !by_freq && PyArray_NDIM(g) == PyArray_NDIM(index) + 1)) return;
    q.count = PyArray_SIZE(index), q.width = PyArray_DIM(g, PyArray_NDIM(g) - 1);
    q.g = DATA(g), q.index = PyArray_DATA(index);
    const npy_intp shape[2] = {q.rows, q.width};
    if (!need(c, q.count * q.width == PyArray_SIZE(g) && q.width > 0) || !need(c, !run_check(is_outside, &q))) return;
    if (!(q.out = new_floats(c, 2, shape))) return;
    run_shared(lookup_part, &q, (q.width + 15) / 16, ((double)q.count * 0.5 + (double)q.rows * 0.1) * (double)q.width);
}

static void rows_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Lookup *q = what;
    for (idx j = 0; j < q->count; j++)
        memcpy(q->out + j * q->width, q->table + q->index[j] * q->width, (size_t)q->width * 4);
}

/* The shape of an array, and one dim more; 0 where there are too many. */
static int shape_and(Call *c, PyArrayObject *x, idx more, npy_intp *shape) {
    if (!need(c, PyArray_NDIM(x) < DIMS)) return 0;
    for (int d = 0; d < PyArray_NDIM(x); d++) shape[d] = PyArray_DIM(x, d);
    shape[PyArray_NDIM(x)] = more;
    return PyArray_NDIM(x) + 1;
}

/* Rows of the table one after the other, `index` of them; a wrong index is told by NumPy's body. */
static void embedding(Call *c) {
    npy_intp shape[DIMS];
    PyArrayObject *table = floats(c, 0), *index = typed(c, 1, NPY_INT64);
    if (c->ends || !need(c, PyArray_NDIM(table) == 2)) return;
    const int ndim = shape_and(c, index, PyArray_DIM(table, 1), shape);
    Lookup q = {.table = DATA(table), .index = PyArray_DATA(index), .count = PyArray_SIZE(index), .rows = PyArray_DIM(table, 0), .width = PyArray_DIM(table, 1)};
    if (!ndim || !need(c, !run_check(is_outside, &q)) || !(q.out = new_floats(c, ndim, shape))) return;
    run_once(rows_part, &q, 0.1 * (double)(q.count * q.width));
}

/* Sums or means of looked up rows, of those from each beginning to the next; what is wrong is told by NumPy's body. */
static void embedding_bag(Call *c) {
    const int mean = flag_of(c, "mean");
    PyArrayObject *table = floats(c, 0), *index = typed(c, 1, NPY_INT64), *begins = typed(c, 2, NPY_INT64);
    if (c->ends || !need(c, PyArray_NDIM(table) == 2 && PyArray_NDIM(index) == 1 && PyArray_NDIM(begins) == 1)) return;
    const idx rows = PyArray_DIM(table, 0), width = PyArray_DIM(table, 1), count = PyArray_SIZE(index), bags = PyArray_SIZE(begins);
    const int64_t *at = PyArray_DATA(index), *from = PyArray_DATA(begins);
    int fits = width > 0 && (bags == 0 || (from[0] == 0 && from[bags - 1] <= count));
    for (idx b = 1; b < bags; b++) fits &= from[b] >= from[b - 1];
    for (idx j = 0; j < count; j++) fits &= (uint64_t)at[j] < (uint64_t)rows;
    const npy_intp shape[2] = {bags, width};
    float *to = need(c, fits) ? new_floats(c, 2, shape) : NULL;
    for (idx b = 0; to && b < bags; b++, to += width) {
        const idx end = b + 1 < bags ? from[b + 1] : count, size = end - from[b];
        if (size > 0) memcpy(to, DATA(table) + at[from[b]] * width, (size_t)width * 4);
        else memset(to, 0, (size_t)width * 4);
        for (idx j = from[b] + 1; j < end; j++) RL->add_into(to, DATA(table) + at[j] * width, width);
        if (mean && size > 1)
            for (idx k = 0; k < width; k++) to[k] /= (float)size;
    }
}

/* Whether `n` places are inside. */
static int inside(const int64_t *at, idx n, idx size) {
    int fits = 1;
    for (idx j = 0; fits && j < n; j++) fits = at[j] >= 0 && at[j] < size;
    return fits;
}

/* Slices at some places of a dim, for arrays of any dtype; a wrong index is told by NumPy's body. */
static void index_select(Call *c) {
    idx outer, rows, bytes;
    PyArrayObject *x = any_type(c, 0), *index = typed(c, 1, NPY_INT64);
    const idx dim = idx_of(c, "dim");
    if (!along(c, x, dim, &outer, &rows, &bytes) || !need(c, PyArray_NDIM(x) <= DIMS && PyArray_NDIM(index) == 1)) return;
    bytes *= PyArray_ITEMSIZE(x);
    const int64_t *at = PyArray_DATA(index);
    const idx count = PyArray_SIZE(index);
    npy_intp shape[DIMS];
    for (int d = 0; d < PyArray_NDIM(x); d++) shape[d] = d == dim ? count : PyArray_DIM(x, d);
    const char *from = PyArray_BYTES(x);
    char *to = need(c, inside(at, count, rows)) ? new_array(c, PyArray_NDIM(x), shape, PyArray_TYPE(x)) : NULL;
    for (idx o = 0; to && o < outer; o++, from += rows * bytes)
        if (bytes == 4)
            for (idx j = 0; j < count; j++, to += 4) *(uint32_t *)to = ((const uint32_t *)from)[at[j]];
        else
            for (idx j = 0; j < count; j++, to += bytes) memcpy(to, from + at[j] * bytes, (size_t)bytes);
}

/* x (N, C, ...) at flat places of each plane; a wrong one is told by NumPy's body. */
static void pool_take(Call *c) {
    PyArrayObject *x = floats(c, 0), *index = typed(c, 1, NPY_INT64);
    if (c->ends || !need(c, PyArray_NDIM(x) >= 2 && PyArray_NDIM(index) >= 2 && PyArray_NDIM(index) <= DIMS && PyArray_SIZE(index) > 0)) return;
    const idx planes = PyArray_DIM(x, 0) * PyArray_DIM(x, 1);
    if (!need(c, planes > 0 && PyArray_DIM(index, 0) * PyArray_DIM(index, 1) == planes)) return;
    const idx size = PyArray_SIZE(x) / planes, count = PyArray_SIZE(index) / planes;
    const int64_t *at = PyArray_DATA(index);
    const float *from = DATA(x);
    float *to = need(c, inside(at, planes * count, size)) ? new_like(c, index) : NULL;
    for (idx p = 0; to && p < planes; p++, from += size)
        for (idx j = 0; j < count; j++) *to++ = from[*at++];
}

/* Matrices without what lies above a diagonal (tril), or below it (triu, of `which` 1). */
static void triangle(Call *c) {
    const idx diagonal = idx_of(c, "diagonal");
    PyArrayObject *x = any_type(c, 0);
    if (!x || !need(c, PyArray_NDIM(x) >= 2 && PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0)) return;
    const int ndim = PyArray_NDIM(x);
    const idx rows = PyArray_DIM(x, ndim - 2), n = PyArray_DIM(x, ndim - 1), bytes = PyArray_ITEMSIZE(x);
    const char *from = PyArray_BYTES(x);
    char *to = new_of(c, x, PyArray_TYPE(x));
    for (idx left = to ? PyArray_SIZE(x) / n : 0, r = 0; left > 0; left--, from += n * bytes, to += n * bytes, r = r + 1 < rows ? r + 1 : 0) {
        idx cut = c->which ? r + diagonal : r + diagonal + 1; /* where what is kept begins, or ends */
        cut = cut < 0 ? 0 : cut > n ? n : cut;
        const size_t low = (size_t)(cut * bytes), high = (size_t)((n - cut) * bytes);
        if (c->which) memset(to, 0, low), memcpy(to + low, from + low, high);
        else memcpy(to, from, low), memset(to + low, 0, high);
    }
}

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
static void nonzero(Call *c) {
    PyArrayObject *x = any_type(c, 0);
    if (!x || !need(c, PyArray_NDIM(x) >= 1 && PyArray_NDIM(x) <= DIMS)) return;
    const int ndim = PyArray_NDIM(x), type = PyArray_TYPE(x);
    if (!need(c, type == NPY_BOOL || type == NPY_FLOAT32 || type == NPY_INT64)) return;
    const void *data = PyArray_DATA(x);
    const idx n = PyArray_SIZE(x);
    idx found = 0, at[DIMS] = {0}, size[DIMS];
    if (type == NPY_BOOL) { COUNT(uint8_t) } else if (type == NPY_FLOAT32) { COUNT(float) } else { COUNT(int64_t) }
    for (int d = 0; d < ndim; d++) size[d] = PyArray_DIM(x, d);
    npy_intp shape[2] = {ndim, found};
    PyArrayObject *out = aside(c, array_new(2, shape, NPY_INT64));
    int64_t *list = room(c, (size_t)((found + 1) * ndim) * 8); /* one more: the place that is not kept */
    idx k = 0;
    if (c->ends) return;
    if (type == NPY_BOOL) { LIST(uint8_t) } else if (type == NPY_FLOAT32) { LIST(float) } else { LIST(int64_t) }
    for (int d = 0; d < ndim; d++)
        memcpy((int64_t *)PyArray_DATA(out) + d * found, list + d * (found + 1), (size_t)found * 8);
    new_made(c, ARRAY(PyArray_Transpose(out, NULL)));
}

static void one_hot(Call *c) {
    const idx classes = idx_of(c, "classes");
    npy_intp shape[DIMS];
    PyArrayObject *x = typed(c, 0, NPY_INT64);
    const int ndim = x && need(c, classes >= 1) ? shape_and(c, x, classes, shape) : 0;
    int64_t *to = ndim ? new_array(c, ndim, shape, NPY_INT64) : NULL;
    if (!to) return;
    const int64_t *at = PyArray_DATA(x);
    memset(to, 0, (size_t)(PyArray_SIZE(x) * classes) * 8);
    for (idx i = 0, n = PyArray_SIZE(x); i < n; i++, to += classes)
        if (at[i] >= 0 && at[i] < classes) to[at[i]] = 1;
}

const Entry gather_entries[] = {
    BOUND("embedding_grad", embedding_grad, .copies = COPIES, .repeats = 1), BOUND("embedding", embedding, .repeats = 1),
    BOUND("embedding_bag", embedding_bag), BOUND("index_select", index_select), BOUND("pool_take", pool_take), BOUND("tril", triangle, .which = 0),
    BOUND("triu", triangle, .which = 1), BOUND("nonzero", nonzero), BOUND("one_hot", one_hot), {NULL},
};
