/* Sums: of everything, over leading dims, over trailing dims, or over both sides of the channels. */
#include "arrays.h"

/* x seen as [outer][keep][inner][tail]: summed over outer and inner. */
typedef struct {
    const float *x;
    float *out, *parts; /* parts: one result per share, added in order */
    idx outer, keep, inner, tail;
} Sum;

/* Rows added in blocks of 64 before the blocks are added: errors grow slowly, as in a pairwise sum. */
static void add_rows(const float *x, idx rows, idx step, idx n, float *out) {
    if (n > 1 && n <= FEW_SUMS && step == n) {
        RL->sum_columns(n, x, rows, out);
        return;
    }
    float block[1024];
    for (idx t = 0; t < n; t += 1024) { /* columns that stay in the first cache */
        const idx width = n - t < 1024 ? n - t : 1024;
        memset(out + t, 0, (size_t)width * 4);
        if (rows <= 64) { /* one block: where a zero comes first its bits are the same */
            for (idx r = 0; r < rows; r++) RL->add_into(out + t, x + r * step + t, width);
            continue;
        }
        for (idx r0 = 0; r0 < rows; r0 += 64) {
            const idx end = r0 + 64 < rows ? r0 + 64 : rows;
            memcpy(block, x + r0 * step + t, (size_t)width * 4);
            for (idx r = r0 + 1; r < end; r++) RL->add_into(block, x + r * step + t, width);
            RL->add_into(out + t, block, width);
        }
    }
}

/* Everything becomes one number: shares of the row. */
static void total_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Sum *s = what;
    const idx n = s->inner, from = share(n, i, parts);
    s->parts[i] = RL->sum(s->x + from, share(n, i + 1, parts) - from);
}

/* Columns: shares of the rows. */
static void columns_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Sum *s = what;
    const idx from = share(s->inner, i, parts), rows = share(s->inner, i + 1, parts) - from;
    add_rows(s->x + from * s->tail, rows, s->tail, s->tail, s->parts + i * s->tail);
}

/* Short rows, four side by side: each number waits for the one before it. The bits are those of RL->sum. */
static idx short_rows(const Sum *s, idx k, idx end) {
    const idx n = s->inner;
    for (; k + 4 <= end; k += 4) {
        const float *x = s->x + k * n;
        float sums[4] = {0};
        for (idx j = 0; j < n; j++)
            for (idx r = 0; r < 4; r++) sums[r] += x[r * n + j];
        memcpy(s->out + k, sums, sizeof sums);
    }
    return k;
}

/* What is kept is shared out: nothing has to be added afterwards. */
static void keep_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Sum *s = what;
    const idx row = s->inner * s->tail, end = share(s->keep, i + 1, parts);
    idx k = share(s->keep, i, parts);
    if (s->tail == 1 && s->outer == 1 && s->inner < 4 * RL->lanes) k = short_rows(s, k, end);
    for (; k < end; k++) {
        if (s->tail == 1) {
            double all = 0;
            for (idx o = 0; o < s->outer; o++) all += (double)RL->sum(s->x + (o * s->keep + k) * row, s->inner);
            s->out[k] = (float)all;
            continue;
        }
        float *to = s->out + k * s->tail, *each = s->parts + i * s->tail;
        if (s->outer == 1) {
            add_rows(s->x + k * row, s->inner, s->tail, s->tail, to);
            continue;
        }
        memset(to, 0, (size_t)s->tail * 4);
        for (idx o = 0; o < s->outer; o++) {
            add_rows(s->x + (o * s->keep + k) * row, s->inner, s->tail, s->tail, each);
            RL->add_into(to, each, s->tail);
        }
    }
}

static int sum_run(Sum *s) {
    const double ns = (double)(s->outer * s->keep) * (double)(s->inner * s->tail) * 0.3;
    const int one = s->outer == 1 && s->keep == 1;
    const idx parts = threads_parts(ns, one ? s->inner / 64 + 1 : s->keep);
    const size_t bytes = (one && parts == 1) || (!one && s->tail == 1) ? 0 : (size_t)(parts * s->tail) * 4;
    s->parts = bytes ? memory_take(bytes) : s->out; /* one share is the result */
    if (!s->parts) return -1;
    run_parts(!one ? keep_part : s->tail == 1 ? total_part : columns_part, s, parts, ns);
    if (one && bytes) shares_added(s->parts, parts, s->tail, s->out, s->tail);
    if (bytes) memory_give(s->parts, bytes);
    return 0;
}

static idx parts_of(PyArrayObject *x) { return PyArray_TYPE(x) == NPY_COMPLEX64 ? 2 : 1; }

/* float32, or complex numbers of two */
static PyArrayObject *summed(Call *c) { return typed(c, 0, c->count && is_type(c->args[0], NPY_COMPLEX64) ? NPY_COMPLEX64 : NPY_FLOAT32); }

/* Sort dims into the four groups, behind them the two parts of complex numbers; false when they alternate more often. */
static int sum_groups(Sum *s, PyArrayObject *x, const char *reduced) {
    idx *group[4] = {&s->outer, &s->keep, &s->inner, &s->tail};
    int at = 0;
    s->outer = s->keep = s->inner = s->tail = 1;
    for (int i = 0; i <= PyArray_NDIM(x); i++) {
        const idx size = i < PyArray_NDIM(x) ? PyArray_DIM(x, i) : parts_of(x);
        if (size == 1) continue;
        while (at < 4 && (at % 2 == 0) != (i < PyArray_NDIM(x) && reduced[i])) at++;
        if (at == 4) return 0;
        *group[at] *= size;
    }
    if (s->inner == 1) { /* sums over leading dims only are columns */
        s->inner = s->outer;
        s->tail *= s->keep;
        s->outer = s->keep = 1;
    }
    return 1;
}

typedef struct {
    float *out;
    idx n;
    float by;
} Scale;

static void scale_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Scale *s = what;
    for (idx j = 0; j < s->n; j++) s->out[j] /= s->by;
}

static void sum_over(Call *c, PyArrayObject *x, const char *reduced, int ndim, const npy_intp *shape, float scale) {
    Sum s = {.x = DATA(x)};
    if (!need(c, sum_groups(&s, x, reduced)) || !(s.out = new_array(c, ndim, shape, PyArray_TYPE(x)))) return;
    if (sum_run(&s) < 0) fail(c);
    Scale by = {s.out, PyArray_SIZE(c->result[0]) * parts_of(x), scale};
    if (!c->ends && scale != 1.0f) run_once(scale_part, &by, (double)by.n);
}

/* `dim`: None, or a tuple of dims in ascending order (never negative). */
static int marked(Call *c, int ndim, char *reduced) {
    PyObject *dim = attr_of(c, "dim");
    if (!dim || !need(c, dim == Py_None || PyTuple_Check(dim))) return 0;
    memset(reduced, dim == Py_None, DIMS);
    for (Py_ssize_t i = 0; dim != Py_None && i < PyTuple_GET_SIZE(dim); i++) {
        const long d = PyLong_AsLong(PyTuple_GET_ITEM(dim, i));
        if (d == -1 && PyErr_Occurred()) fail(c);
        if (!need(c, d >= 0 && d < ndim)) return 0;
        reduced[d] = 1;
    }
    return 1;
}

/* sum; of `which` 1 mean */
static void sum(Call *c) {
    if (!c->which && (is_type(c->args[0], NPY_INT64) || is_type(c->args[0], NPY_BOOL))) {
        repeat_cannot();
        whole_sum(c);
        return;
    }
    PyArrayObject *x = summed(c);
    char reduced[DIMS];
    npy_intp shape[DIMS];
    const int keepdim = flag_of(c, "keepdim");
    if (!x || !need(c, PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0) || !marked(c, PyArray_NDIM(x), reduced)) return;
    int n = 0;
    idx count = 1;
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        if (reduced[i]) count *= PyArray_DIM(x, i);
        if (!reduced[i] || keepdim) shape[n++] = reduced[i] ? 1 : PyArray_DIM(x, i);
    }
    sum_over(c, x, reduced, n, shape, c->which ? (float)count : 1.0f);
}

static void sum_to_size(Call *c) {
    PyArrayObject *x = summed(c);
    PyObject *target = attr_of(c, "shape");
    if (!x || !target || !need(c, PyTuple_Check(target) && PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0)) return;
    const int ndim = PyArray_NDIM(x), lead = ndim - (int)PyTuple_GET_SIZE(target);
    npy_intp shape[DIMS];
    char reduced[DIMS] = {0};
    if (!need(c, lead >= 0) || !dims_of(c, "shape", shape, ndim - lead)) return;
    for (int i = 0; i < ndim; i++) reduced[i] = i < lead || (shape[i - lead] == 1 && PyArray_DIM(x, i) != 1);
    sum_over(c, x, reduced, ndim - lead, shape, 1.0f);
}

const Entry reduce_entries[] = {
    BOUND("sum", sum, .repeats = 1), BOUND("mean", sum, .which = 1, .repeats = 1), BOUND("sum_to_size", sum_to_size, .repeats = 1), {NULL},
};
