/* max_pool, avg_pool and their gradients over (N, C, *size), one plane after another. */
#include "arrays.h"

#include "codes.h"

typedef struct {
    idx in[3], out[3], k[3], s[3], p[3], d[3];
    idx planes;
    const float *x;
    float *y;
    int64_t *index;
    int simple;            /* 2 x 2 windows side by side */
    int include_pad;
    idx divisor;           /* 0: the window's size */
    int overlap;           /* max: windows share places; avg: this is the gradient */
    idx *first, *last;     /* per place of the kernel along the width: the windows that see it inside */
    idx *lead;             /* per window of a row: its first column inside */
    float *each;           /* per share: a row of quotients */
    int *outside;          /* gradient: whether some place is none of its window, or plane */
} Pool;

static idx out_size(const Pool *p, int i, int ceil_mode) {
    const idx room = p->in[i] + 2 * p->p[i] - p->d[i] * (p->k[i] - 1) - 1;
    if (!ceil_mode) return room / p->s[i] + 1;
    idx m = (room + p->s[i] - 1) / p->s[i] + 1;
    if ((m - 1) * p->s[i] >= p->in[i] + p->p[i]) m--; /* a window may not start in the padding behind */
    return m;
}

static int pool_geometry(Call *c, Pool *p, const idx *shape, int dilated) {
    const int ndim = PyArray_NDIM(ARRAY(c->args[0])), n = ndim - 2, lead = 3 - n, ceil_mode = flag_of(c, "ceil_mode");
    for (int i = 0; i < 3; i++) p->in[i] = p->k[i] = p->s[i] = p->d[i] = 1, p->p[i] = 0;
    dims_of(c, "kernel", p->k + lead, n), dims_of(c, "stride", p->s + lead, n), dims_of(c, "padding", p->p + lead, n);
    if (dilated) dims_of(c, "dilation", p->d + lead, n);
    if (c->ends) return 0;
    p->planes = shape[0] * shape[1];
    for (int i = 0; i < n; i++) p->in[lead + i] = shape[2 + i];
    for (int i = 0; i < 3; i++) p->out[i] = out_size(p, i, ceil_mode);
    return 1;
}

/* Images that have numbers. */
static PyArrayObject *images(Call *c) {
    PyArrayObject *a = floats(c, 0);
    return a && need(c, PyArray_NDIM(a) >= 3 && PyArray_NDIM(a) <= 5 && PyArray_SIZE(a) > 0) ? a : NULL;
}

/* The shape of what is made of them; whether the call goes on. */
static int pooled_shape(Call *c, const Pool *p, PyArrayObject *x, npy_intp *shape) {
    shape[0] = PyArray_DIM(x, 0), shape[1] = PyArray_DIM(x, 1);
    for (int i = 2; i < PyArray_NDIM(x); i++) need(c, (shape[i] = p->out[3 - PyArray_NDIM(x) + i]) > 0);
    return !c->ends;
}

/* The part of a window that lies inside: first and last + 1 of kernel places. */
static inline void inside(const Pool *p, int i, idx o, idx *lo, idx *hi) {
    const idx start = o * p->s[i] - p->p[i];
    *lo = start < 0 ? (-start + p->d[i] - 1) / p->d[i] : 0;
    const idx room = p->in[i] - start;
    *hi = room <= 0 ? 0 : (room + p->d[i] - 1) / p->d[i];
    if (*hi > p->k[i]) *hi = p->k[i];
}

/* What is the same for every row, worked out once: divisions are slow. */
static int pool_tables(Call *c, Pool *p) {
    p->first = table(c, (size_t)(2 * p->k[2] + p->out[2]) * sizeof(idx));
    if (!p->first) return 0;
    p->last = p->first + p->k[2];
    p->lead = p->last + p->k[2];
    for (idx kx = 0; kx < p->k[2]; kx++) {
        const idx at = kx * p->d[2] - p->p[2], room = p->in[2] - at; /* at: where window 0 has it */
        p->first[kx] = at < 0 ? (-at + p->s[2] - 1) / p->s[2] : 0;
        const idx last = room <= 0 ? 0 : (room + p->s[2] - 1) / p->s[2];
        p->last[kx] = last < p->out[2] ? last : p->out[2];
    }
    for (idx ox = 0; ox < p->out[2]; ox++) {
        idx lo, hi;
        inside(p, 2, ox, &lo, &hi);
        p->lead[ox] = ox * p->s[2] - p->p[2] + lo * p->d[2];
    }
    return 1;
}

#define ROW 512 /* windows worked on at once */

/* -- max ------------------------------------------------------------------------------------------ */

/* The first place of every window is the best so far. */
static void max_first(const float *restrict x, idx n, idx step, int32_t begin, float *restrict y, int32_t *restrict at) {
    if (step == 1)
        for (idx i = 0; i < n; i++) y[i] = x[i], at[i] = begin + (int32_t)i;
    else if (step == 2)
        for (idx i = 0; i < n; i++) y[i] = x[2 * i], at[i] = begin + 2 * (int32_t)i;
    else
        for (idx i = 0; i < n; i++) y[i] = x[i * step], at[i] = begin + (int32_t)(i * step);
}

static void max_windows(const Pool *p, const float *x, idx oz, idx oy, idx from, idx n, float *y, int64_t *index) {
    idx z0, z1, y0, y1;
    int32_t at[ROW];
    inside(p, 0, oz, &z0, &z1);
    inside(p, 1, oy, &y0, &y1);
    const idx z = oz * p->s[0] - p->p[0], top = oy * p->s[1] - p->p[1];
    const idx lead = ((z + z0 * p->d[0]) * p->in[1] + top + y0 * p->d[1]) * p->in[2];
    const int whole = y0 < y1 && z0 < z1 && p->first[0] <= from && p->last[0] >= from + n; /* all windows begin inside */
    if (whole) max_first(x + lead + p->lead[from], n, p->s[2], (int32_t)(lead + p->lead[from]), y, at);
    for (idx i = 0; !whole && i < n; i++) { /* what is left when nothing beats -inf: the first place inside */
        y[i] = -INFINITY;
        at[i] = (int32_t)(lead + p->lead[from + i]);
    }
    for (idx kz = z0; kz < z1; kz++)
        for (idx ky = y0; ky < y1; ky++) {
            const idx row = ((z + kz * p->d[0]) * p->in[1] + top + ky * p->d[1]) * p->in[2];
            for (idx kx = whole && kz == z0 && ky == y0; kx < p->k[2]; kx++) {
                const idx first = p->first[kx] > from ? p->first[kx] : from;
                const idx last = p->last[kx] < from + n ? p->last[kx] : from + n;
                if (first >= last) continue;
                const idx begin = row + first * p->s[2] + kx * p->d[2] - p->p[2];
                RL->max_row(x + begin, last - first, p->s[2], (int32_t)begin, y + first - from, at + first - from);
            }
        }
    for (idx i = 0; i < n; i++) index[i] = at[i];
}

static void max_plane(const Pool *p, const float *x, float *y, int64_t *index) {
    for (idx oz = 0; oz < p->out[0]; oz++)
        for (idx oy = 0; oy < p->out[1]; oy++, y += p->out[2], index += p->out[2])
            for (idx from = 0; from < p->out[2]; from += ROW)
                max_windows(p, x, oz, oy, from, p->out[2] - from < ROW ? p->out[2] - from : ROW, y + from,
                            index + from);
}

static void max_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pool *p = what;
    const idx in = p->in[0] * p->in[1] * p->in[2], out = p->out[0] * p->out[1] * p->out[2];
    for (idx c = share(p->planes, i, parts); c < share(p->planes, i + 1, parts); c++)
        if (p->simple) RL->max_2x2(p->x + c * in, p->in[1], p->in[2], p->in[2], p->y + c * out, p->index + c * out);
        else max_plane(p, p->x + c * in, p->y + c * out, p->index + c * out);
}

static void max_pool(Call *c) {
    Pool p = {0};
    npy_intp shape[5];
    PyArrayObject *x = images(c);
    if (!x || !pool_geometry(c, &p, PyArray_DIMS(x), 1) || !pooled_shape(c, &p, x, shape)) return;
    p.simple = p.k[0] == 1 && p.s[0] == 1 && p.in[0] == 1;
    for (int i = 1; i < 3; i++)
        p.simple = p.simple && p.k[i] == 2 && p.s[i] == 2 && p.p[i] == 0 && p.d[i] == 1 && p.out[i] == p.in[i] / 2;
    p.x = DATA(x), p.y = new_floats(c, PyArray_NDIM(x), shape), p.index = new_array(c, PyArray_NDIM(x), shape, NPY_INT64);
    if (!pool_tables(c, &p)) return;
    const double ns = (double)PyArray_SIZE(c->result[0]) * (p.simple ? 2.0 : 2.0 + 1.5 * (double)(p.k[0] * p.k[1] * p.k[2]));
    run_shared(max_part, &p, p.planes, ns);
}

static void max_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pool *p = what;
    const idx in = p->in[0], out = p->out[0];
    for (idx c = share(p->planes, i, parts); c < share(p->planes, i + 1, parts); c++) {
        float *to = p->y + c * in;
        const float *g = p->x + c * out;
        const int64_t *at = p->index + c * out;
        memset(to, 0, (size_t)in * 4);
        if (p->overlap)
            for (idx j = 0; j < out; j++) to[at[j]] += g[j];
        else
            for (idx j = 0; j < out; j++) to[at[j]] = g[j];
    }
}

/* Windows of 2 x 2 side by side, as nearly all are: what is not a place of its window is left to the others. */
static void max_grad_2x2(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pool *p = what;
    for (idx c = share(p->planes, i, parts); c < share(p->planes, i + 1, parts); c++)
        if (!RL->spread_2x2(p->x + c * p->out[0], p->index + c * p->out[0], p->in[1], p->in[2], p->y + c * p->in[0])) {
            *p->outside = 1; /* every part writes the same value */
            return;
        }
}

static void check_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pool *p = what;
    const idx n = p->planes * p->out[0], end = share(n, i + 1, parts);
    const uint64_t last = (uint64_t)p->in[0] - 1;
    uint64_t outside = 0; /* the sign of a place, or of what is left behind it */
    for (idx j = share(n, i, parts); j < end; j++) outside |= (uint64_t)p->index[j] | (last - (uint64_t)p->index[j]);
    if (outside >> 63) *p->outside = 1; /* every part writes the same value */
}

static void nothing_outside(void *what, ptrdiff_t i, ptrdiff_t parts) { *((const Pool *)what)->outside = 0; }
static int some_outside(const void *what) { return *((const Pool *)what)->outside; }

/* The gradient into p->y: 1, or 0 where some place is outside. */
static int max_grad_run(Pool *p, int halves, double ns) {
    run_once(nothing_outside, p, 1.0);
    if (halves) {
        run_parts(max_grad_2x2, p, threads_parts(ns / 2, p->planes), ns / 2);
        if (!run_check(some_outside, p)) return 1;
        run_once(nothing_outside, p, 1.0);
    }
    run_parts(check_part, p, threads_parts(ns / 4, p->planes), ns / 4);
    if (run_check(some_outside, p)) return 0;
    run_parts(max_grad_part, p, threads_parts(ns, p->planes), ns);
    return 1;
}

static void max_pool_grad(Call *c) {
    idx shape[5];
    PyArrayObject *g = images(c);
    const int64_t *index = g ? some_wholes(c, 1, PyArray_SIZE(g)) : NULL;
    const int overlap = flag_of(c, "overlap"), ndim = g ? PyArray_NDIM(g) : 0;
    if (!index || !dims_of(c, "x_shape", shape, ndim)) return;
    Pool p = {.x = DATA(g), .index = (int64_t *)index, .planes = shape[0] * shape[1], .overlap = overlap};
    p.in[0] = PyArray_MultiplyList(shape + 2, ndim - 2), p.out[0] = PyArray_MultiplyList(PyArray_DIMS(g) + 2, ndim - 2);
    p.in[1] = ndim == 4 ? shape[2] : 1, p.in[2] = shape[ndim - 1];
    if (!need(c, p.planes * p.out[0] == PyArray_SIZE(g) && p.in[0])) return;
    const int halves = ndim == 4 && shape[2] / 2 == PyArray_DIM(g, 2) && shape[3] / 2 == PyArray_DIM(g, 3) &&
                       shape[3] >= RL->lanes && /* of fewer most of a vector would be empty */
                       !overlap && RL->spread_2x2 && p.in[0] <= INT32_MAX;
    p.y = new_floats(c, ndim, shape), p.outside = room(c, sizeof *p.outside);
    if (!c->ends) need(c, max_grad_run(&p, halves, (double)PyArray_SIZE(g) * 1.5)); /* max_unpool with places of the user's: NumPy says which is wrong */
}

/* -- mean ----------------------------------------------------------------------------------------- */

/* How many places a window divides by, along one dim. */
static idx span(const Pool *p, int i, idx o) {
    idx lo = o * p->s[i] - p->p[i], hi = lo + p->k[i];
    const idx most = p->in[i] + p->p[i];
    if (hi > most) hi = most;
    if (!p->include_pad) {
        if (lo < 0) lo = 0;
        if (hi > p->in[i]) hi = p->in[i];
    }
    return hi - lo;
}

/* Divide a row of windows by how many places each has. */
static void divide_row(const Pool *p, idx oz, idx oy, const float *from, float *to) {
    const idx by = span(p, 0, oz) * span(p, 1, oy);
    if (p->divisor || (!p->p[2] && (p->out[2] - 1) * p->s[2] + p->k[2] <= p->in[2])) /* all alike */
        RL->binary_scalar(B_DIV, from, (float)(p->divisor ? p->divisor : by * p->k[2]), to, p->out[2]);
    else
        for (idx ox = 0; ox < p->out[2]; ox++) to[ox] = from[ox] / (float)(by * span(p, 2, ox));
}

static void avg_row(const Pool *p, const float *x, idx oz, idx oy, float *y) {
    idx z0, z1, y0, y1;
    inside(p, 0, oz, &z0, &z1);
    inside(p, 1, oy, &y0, &y1);
    memset(y, 0, (size_t)p->out[2] * 4);
    for (idx kz = z0; kz < z1; kz++)
        for (idx ky = y0; ky < y1; ky++) {
            const idx row = ((oz * p->s[0] - p->p[0] + kz) * p->in[1] + oy * p->s[1] - p->p[1] + ky) * p->in[2];
            for (idx kx = 0; kx < p->k[2]; kx++) {
                const idx first = p->first[kx], last = p->last[kx];
                if (first < last)
                    RL->add_row(x + row + first * p->s[2] + kx - p->p[2], last - first, p->s[2], y + first);
            }
        }
    divide_row(p, oz, oy, y, y);
}

static void avg_plane(const Pool *p, const float *x, float *y) {
    for (idx oz = 0; oz < p->out[0]; oz++)
        for (idx oy = 0; oy < p->out[1]; oy++, y += p->out[2]) avg_row(p, x, oz, oy, y);
}

static void avg_grad_row(const Pool *p, const float *each, idx oz, idx oy, float *gx) {
    idx z0, z1, y0, y1;
    inside(p, 0, oz, &z0, &z1);
    inside(p, 1, oy, &y0, &y1);
    for (idx kz = z0; kz < z1; kz++)
        for (idx ky = y0; ky < y1; ky++) {
            const idx row = ((oz * p->s[0] - p->p[0] + kz) * p->in[1] + oy * p->s[1] - p->p[1] + ky) * p->in[2];
            for (idx kx = 0; kx < p->k[2]; kx++) {
                float *to = gx + row + kx - p->p[2];
                for (idx ox = p->first[kx]; ox < p->last[kx]; ox++) to[ox * p->s[2]] += each[ox];
            }
        }
}

static void avg_grad_plane(const Pool *p, const float *g, float *gx, float *each) {
    memset(gx, 0, (size_t)(p->in[0] * p->in[1] * p->in[2]) * 4);
    for (idx oz = 0; oz < p->out[0]; oz++)
        for (idx oy = 0; oy < p->out[1]; oy++, g += p->out[2]) {
            divide_row(p, oz, oy, g, each);
            avg_grad_row(p, each, oz, oy, gx);
        }
}

static void avg_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Pool *p = what;
    const idx in = p->in[0] * p->in[1] * p->in[2], out = p->out[0] * p->out[1] * p->out[2];
    for (idx c = share(p->planes, i, parts); c < share(p->planes, i + 1, parts); c++)
        if (p->overlap) avg_grad_plane(p, p->x + c * out, p->y + c * in, p->each + i * p->out[2]);
        else avg_plane(p, p->x + c * in, p->y + c * out);
}

static void avg_run(Call *c, Pool *p, int ndim, const npy_intp *shape, double results) {
    PyObject *divisor = attr_of(c, "divisor");
    p->include_pad = flag_of(c, "include_pad");
    if (divisor && divisor != Py_None) p->divisor = idx_of(c, "divisor");
    const double ns = results * (2.0 + (double)(p->k[0] * p->k[1] * p->k[2]));
    const idx parts = threads_parts(ns, p->planes);
    p->y = new_floats(c, ndim, shape), p->each = room(c, (size_t)(parts * p->out[2]) * 4);
    if (pool_tables(c, p)) run_parts(avg_part, p, parts, ns);
}

static void avg_pool(Call *c) {
    Pool p = {0};
    npy_intp shape[5];
    PyArrayObject *x = images(c);
    if (!x || !pool_geometry(c, &p, PyArray_DIMS(x), 0) || !pooled_shape(c, &p, x, shape)) return;
    p.x = DATA(x);
    avg_run(c, &p, PyArray_NDIM(x), shape, (double)PyArray_MultiplyList(shape, PyArray_NDIM(x)));
}

static void avg_pool_grad(Call *c) {
    Pool p = {.overlap = 1};
    idx shape[5];
    PyArrayObject *g = images(c);
    const int ndim = g ? PyArray_NDIM(g) : 0;
    if (!g || !dims_of(c, "x_shape", shape, ndim) || !pool_geometry(c, &p, shape, 0)) return;
    for (int i = 2; i < ndim; i++) need(c, p.out[3 - ndim + i] == PyArray_DIM(g, i) && shape[i]);
    p.x = DATA(g);
    if (!c->ends) avg_run(c, &p, ndim, shape, (double)PyArray_SIZE(g));
}

const Entry pool_entries[] = {
    BOUND("max_pool", max_pool, .copies = TURNS, .repeats = 1), BOUND("max_pool_grad", max_pool_grad, .copies = TURNS, .repeats = 1),
    BOUND("avg_pool", avg_pool, .copies = TURNS, .repeats = 1), BOUND("avg_pool_grad", avg_pool_grad, .copies = TURNS, .repeats = 1), {NULL},
};
