/* Windows: the largest of those that no step describes (adaptive and fractional max pooling of (N, C, *size)); sums of columns. */
#include "arrays.h"

typedef struct {
    const float *x, *samples; /* samples: [plane][dims], or NULL for adaptive windows */
    float *out;
    int64_t *at;
    idx planes, in[3], size[3], kernel[3];
    int dims, lead; /* lead: of three dims those that are not there */
    int failed;
} Windows;

/* The first place of window `o` of dim `d` and the one behind the last; `u`: what was drawn for this plane. */
static void window_of(const Windows *w, int d, idx o, float u, idx *first, idx *end) {
    const idx n = w->in[d], m = w->size[d];
    if (!w->samples) {
        *first = o * n / m, *end = ((o + 1) * n + m - 1) / m;
        return;
    }
    *first = n - w->kernel[d];
    if (o < m - 1) {
        const double alpha = (double)(n - w->kernel[d]) / (double)(m - 1);
        *first = (idx)(((double)o + (double)u) * alpha) - (idx)(u * (float)alpha);
    }
    *end = *first + w->kernel[d];
}

static void windows_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Windows *w = what;
    const idx area = w->in[0] * w->in[1] * w->in[2], all = w->size[0] + w->size[1] + w->size[2];
    idx *edges = memory_take((size_t)(2 * all) * sizeof(idx));
    if (!edges) {
        w->failed = 1;
        return;
    }
    idx *edge[3] = {edges, edges + 2 * w->size[0], edges + 2 * (w->size[0] + w->size[1])};
    for (idx p = share(w->planes, i, parts), begin = p; p < share(w->planes, i + 1, parts); p++) {
        if (w->samples || p == begin)
            for (int d = 0; d < 3; d++) {
                /* two dims are drawn for in the order (width, height), three in (t, h, w) */
                const int k = d - w->lead, column = w->dims == 2 ? 1 - k : k;
                const float u = w->samples && k >= 0 ? w->samples[p * w->dims + column] : 0.0f;
                for (idx o = 0; o < w->size[d]; o++) {
                    if (k < 0) edge[d][2 * o] = 0, edge[d][2 * o + 1] = 1;
                    else window_of(w, d, o, u, &edge[d][2 * o], &edge[d][2 * o + 1]);
                    if (edge[d][2 * o] < 0 || edge[d][2 * o + 1] > w->in[d]) w->failed = 1;
                }
            }
        if (w->failed) break;
        const float *x = w->x + p * area;
        float *out = w->out + p * w->size[0] * w->size[1] * w->size[2];
        int64_t *at = w->at + (out - w->out);
        for (idx a = 0; a < w->size[0]; a++)
            for (idx b = 0; b < w->size[1]; b++)
                for (idx c = 0; c < w->size[2]; c++, out++, at++) {
                    idx best = (edge[0][2 * a] * w->in[1] + edge[1][2 * b]) * w->in[2] + edge[2][2 * c];
                    float top = x[best];
                    for (idx z = edge[0][2 * a]; z < edge[0][2 * a + 1]; z++)
                        for (idx y = edge[1][2 * b]; y < edge[1][2 * b + 1]; y++) {
                            const idx row = (z * w->in[1] + y) * w->in[2];
                            for (idx k = row + edge[2][2 * c]; k < row + edge[2][2 * c + 1]; k++)
                                if (x[k] > top || x[k] != x[k]) top = x[k], best = k; /* of NaNs the last */
                        }
                    *out = top, *at = best;
                }
    }
    memory_give(edges, (size_t)(2 * all) * sizeof(idx));
}

/* adaptive_max_pool(x), or of `which` 1 fractional_max_pool(x, samples) */
static void max_pool(Call *c) {
    Windows w = {0};
    PyArrayObject *x = floats(c, 0);
    if (!x || !need(c, PyArray_NDIM(x) >= 3 && PyArray_NDIM(x) <= 5 && PyArray_SIZE(x) > 0)) return;
    const int n = PyArray_NDIM(x) - 2;
    npy_intp shape[5] = {PyArray_DIM(x, 0), PyArray_DIM(x, 1)};
    w.x = DATA(x), w.dims = n, w.lead = 3 - n, w.planes = shape[0] * shape[1];
    for (int d = 0; d < 3; d++) w.in[d] = w.size[d] = w.kernel[d] = 1;
    if (!dims_of(c, "size", w.size + w.lead, n)) return;
    if (c->which && (!dims_of(c, "kernel", w.kernel + w.lead, n) || !(w.samples = some_floats(c, 1, w.planes * n)))) return;
    idx places = w.planes;
    for (int d = 0; d < n; d++) {
        w.in[w.lead + d] = PyArray_DIM(x, 2 + d), shape[2 + d] = w.size[w.lead + d];
        if (!need(c, shape[2 + d] >= 1)) return;
        places *= shape[2 + d];
    }
    w.out = new_floats(c, n + 2, shape), w.at = new_array(c, n + 2, shape, NPY_INT64);
    if (c->ends) return;
    run_shared(windows_part, &w, w.planes, 1.5 * (double)PyArray_SIZE(x) + 5.0 * (double)places);
    if (w.failed) refuse(c);
}

/* -- col2im: columns of windows added back to the places the windows saw ------------------------------------ */

typedef struct {
    const float *x;
    float *out;
    idx planes, size[2], kernel[2], stride[2], padding[2], dilation[2], windows[2];
} Fold;

/* Along one dim, for one place of the kernel: the windows that have it inside, and where the first of them does. */
static idx fold_inside(const Fold *f, int d, idx k, idx *first, idx *count) {
    const idx at = k * f->dilation[d] - f->padding[d], room = f->size[d] - at;
    *first = at < 0 ? (-at + f->stride[d] - 1) / f->stride[d] : 0;
    idx end = room <= 0 ? 0 : (room + f->stride[d] - 1) / f->stride[d];
    if (end > f->windows[d]) end = f->windows[d];
    *count = end > *first ? end - *first : 0;
    return at + *first * f->stride[d];
}

static void fold_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Fold *f = what;
    const idx area = f->size[0] * f->size[1], all = f->windows[0] * f->windows[1], step = f->stride[1];
    for (idx p = share(f->planes, i, parts); p < share(f->planes, i + 1, parts); p++) {
        const float *x = f->x + p * f->kernel[0] * f->kernel[1] * all;
        float *out = f->out + p * area;
        memset(out, 0, (size_t)area * 4);
        for (idx a = 0; a < f->kernel[0]; a++)
            for (idx b = 0; b < f->kernel[1]; b++, x += all) { /* in this order NumPy's sums are added up */
                idx top, rows, left, columns;
                const idx y = fold_inside(f, 0, a, &top, &rows), at = fold_inside(f, 1, b, &left, &columns);
                for (idx r = 0; r < rows; r++) {
                    const float *from = x + (top + r) * f->windows[1] + left;
                    float *to = out + (y + r * f->stride[0]) * f->size[1] + at;
                    if (step == 1) RL->add_into(to, from, columns);
                    else
                        for (idx c = 0; c < columns; c++) to[c * step] += from[c];
                }
            }
    }
}

static void col2im(Call *c) {
    PyArrayObject *x = floats(c, 0);
    PyObject *size = attr_of(c, "size");
    if (!x || !size || !need(c, PyArray_NDIM(x) == 3 && PyTuple_Check(size) && PyTuple_GET_SIZE(size) == 2)) return;
    Fold f = {.x = DATA(x)};
    if (!dims_of(c, "size", f.size, 2) || !dims_of(c, "kernel", f.kernel, 2) || !dims_of(c, "stride", f.stride, 2) ||
        !dims_of(c, "padding", f.padding, 2) || !dims_of(c, "dilation", f.dilation, 2))
        return;
    idx windows = 1, places = 1;
    for (int d = 0; d < 2; d++) {
        if (!need(c, f.size[d] > 0 && f.kernel[d] > 0 && f.stride[d] > 0 && f.dilation[d] > 0 && f.padding[d] >= 0)) return;
        const idx left = f.size[d] + 2 * f.padding[d] - f.dilation[d] * (f.kernel[d] - 1) - 1;
        if (!need(c, left >= 0)) return;
        windows *= f.windows[d] = left / f.stride[d] + 1, places *= f.kernel[d];
    }
    if (!need(c, PyArray_DIM(x, 2) == windows && PyArray_DIM(x, 1) % places == 0 && PyArray_SIZE(x) > 0)) return;
    const npy_intp shape[4] = {PyArray_DIM(x, 0), PyArray_DIM(x, 1) / places, f.size[0], f.size[1]};
    f.planes = shape[0] * shape[1], f.out = new_floats(c, 4, shape);
    if (!c->ends) run_shared(fold_part, &f, f.planes, 0.6 * (double)PyArray_SIZE(x));
}

const Entry window_entries[] = {
    BOUND("col2im", col2im), BOUND("adaptive_max_pool", max_pool, .which = 0), BOUND("fractional_max_pool", max_pool, .which = 1), {NULL},
};
