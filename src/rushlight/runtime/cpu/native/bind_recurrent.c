/* LSTM and GRU layers over all time steps: a product and a pass over the gates per step. */
#include "arrays.h"

typedef struct {
    idx steps, hidden, gates, frames, batch;
    idx *first, *alive; /* of each step: its first frame, how many sequences are alive */
    int reverse;
} Walk;

static void walk_free(Walk *w) { PyMem_RawFree(w->first); }

/* Attributes `sizes` and `reverse`; 0 to refuse, -1 with an exception. */
static int walk_of(Walk *w, PyObject *attrs, PyArrayObject *xw, PyArrayObject *h0, idx gates) {
    PyObject *sizes = attr(attrs, "sizes");
    w->reverse = attr_flag(attrs, "reverse");
    if (!sizes || w->reverse < 0) return -1;
    if (!PyTuple_Check(sizes) || PyArray_NDIM(xw) != 2 || PyArray_NDIM(h0) != 2) return 0;
    w->steps = PyTuple_GET_SIZE(sizes);
    w->hidden = PyArray_DIM(h0, 1), w->batch = PyArray_DIM(h0, 0), w->gates = gates;
    if (w->steps == 0 || w->hidden == 0 || PyArray_DIM(xw, 1) != gates * w->hidden) return 0;
    w->first = PyMem_RawMalloc((size_t)(2 * w->steps) * sizeof(idx));
    if (!w->first) return 0;
    w->alive = w->first + w->steps;
    w->frames = 0;
    for (idx t = 0; t < w->steps; t++) {
        w->first[t] = w->frames;
        w->alive[t] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, t));
        if (w->alive[t] <= 0 || w->alive[t] > w->batch) {
            walk_free(w);
            return PyErr_Occurred() ? -1 : 0;
        }
        w->frames += w->alive[t];
    }
    if (w->frames == PyArray_DIM(xw, 0)) return 1;
    walk_free(w);
    return 0;
}

static int all_plain(PyObject *const *args, int from, int to) {
    for (int i = from; i < to; i++)
        if (!is_plain(args[i])) return 0;
    return 1;
}

static PyArrayObject *matrix(idx rows, idx cols) {
    const npy_intp shape[2] = {rows, cols};
    return array_new(2, shape, NPY_FLOAT32);
}

/* A tuple of new arrays, taking over the references; NULL if any is missing. */
static PyObject *results(PyArrayObject *const *arrays, int n) {
    PyObject *tuple = PyTuple_New(n);
    int whole = tuple != NULL;
    for (int i = 0; i < n; i++) whole = whole && arrays[i];
    for (int i = 0; i < n; i++)
        if (whole) PyTuple_SET_ITEM(tuple, i, (PyObject *)arrays[i]);
        else Py_XDECREF(arrays[i]);
    if (whole) return tuple;
    Py_XDECREF(tuple);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* -- products: shares of columns -------------------------------------------------------------------- */

typedef struct {
    Gemm g;
    float *scratch;
    idx floats;
} Columns;

static void columns_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Columns *c = what;
    Gemm g = c->g;
    const idx blocks = (g.n + 23) / 24, from = share(blocks, i, parts) * 24;
    const idx end = share(blocks, i + 1, parts) * 24;
    g.b += from * g.b_col;
    g.c += from;
    if (g.bias) g.bias += from;
    g.n = (end < g.n ? end : g.n) - from;
    if (g.n > 0) RL->gemm(&g, c->scratch + i * c->floats);
}

static void columns_run(Columns *c) {
    const double ns = 2.0 * (double)(c->g.m * c->g.n) * (double)c->g.k / FLOPS_PER_NS;
    const idx parts = threads_parts(ns, (c->g.n + 23) / 24);
    c->floats = (idx)(RL->gemm_scratch(&c->g) / 4) + 16;
    const size_t bytes = (size_t)(parts * c->floats) * 4;
    c->scratch = memory_take(bytes);
    if (!c->scratch) return; /* out of memory: the arrays of this layer exist already, this cannot fail */
    threads_run(columns_part, c, parts);
    memory_give(c->scratch, bytes);
}

/* c = (add ? c : 0) + a b, all of contiguous rows; b transposed if `flip`. */
static void multiply(float *c, const float *a, const float *b, idx m, idx n, idx k, int flip, int add,
                     const float *bias) {
    Columns x = {.g = {.m = m, .n = n, .k = k, .a = a, .b = b, .bias = bias, .c = c, .a_row = k, .a_col = 1,
                       .b_row = flip ? 1 : n, .b_col = flip ? k : 1, .ldc = n, .add = add}};
    columns_run(&x);
}

/* gw (n, k) = d^T (frames, n) times h (frames, k). */
static void multiply_frames(float *c, const float *d, const float *h, idx frames, idx n, idx k) {
    Columns x = {.g = {.m = n, .n = k, .k = frames, .a = d, .b = h, .c = c, .a_row = 1, .a_col = n, .b_row = k,
                       .b_col = 1, .ldc = k}};
    columns_run(&x);
}

/* -- the same weights at every step: packed once ------------------------------------------------------ */

typedef struct {
    float *packed; /* panels [k][width] of B, or NULL: then B is packed at every step */
    size_t bytes;
    idx n, k, width;
    Gemm g;
} Panels;

/* B (k, n) is w, or w transposed if `flip`. */
static void panels_make(Panels *p, const Walk *w, const float *b, idx n, idx k, int flip) {
    *p = (Panels){.n = n, .k = k, .width = 2 * RL->lanes};
    const idx panels = (n + p->width - 1) / p->width;
    if (w->frames < 64 || w->batch < 2 || w->batch > MOST_ROWS_HERE || (n % RL->lanes && RL->lanes != 16)) return;
    p->bytes = (size_t)(panels * p->width * k) * 4;
    p->packed = memory_take(p->bytes);
    for (idx i = 0; p->packed && i < panels; i++) {
        float *to = p->packed + i * p->width * k;
        const idx from = i * p->width, cols = n - from < p->width ? n - from : p->width;
        if (flip) RL->transpose(b + from * k, cols, k, k, to, p->width);
        else
            for (idx r = 0; r < k; r++) memcpy(to + r * p->width, b + r * n + from, (size_t)cols * 4);
    }
}

static void panels_done(Panels *p) {
    if (p->packed) memory_give(p->packed, p->bytes);
}

static void panels_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Panels *p = what;
    const idx panels = (p->n + p->width - 1) / p->width;
    for (idx j = share(panels, i, parts); j < share(panels, i + 1, parts); j++) {
        Gemm g = p->g;
        const idx from = j * p->width;
        g.n = p->n - from < p->width ? p->n - from : p->width;
        g.b = p->packed + from * p->k;
        g.c += from;
        if (g.bias) g.bias += from;
        RL->gemm(&g, NULL);
    }
}

/* c = (add ? c : 0) + a B; `w` and `flip` are what B was made of. */
static void multiply_panels(Panels *p, float *c, const float *a, const float *w, idx m, int flip, int add, const float *bias) {
    if (!p->packed) {
        multiply(c, a, w, m, p->n, p->k, flip, add, bias);
        return;
    }
    p->g = (Gemm){.m = m, .k = p->k, .a = a, .bias = bias, .c = c, .a_row = p->k, .a_col = 1, .b_row = p->width,
                  .b_col = 1, .ldc = p->n, .add = add};
    const double ns = 2.0 * (double)(m * p->n) * (double)p->k / FLOPS_PER_NS;
    threads_run(panels_part, p, threads_parts(ns, (p->n + p->width - 1) / p->width));
}

/* -- LSTM ------------------------------------------------------------------------------------------- */

typedef struct {
    const Walk *w;
    const float *xw, *w_hh, *b_hh, *gout;
    float *gates, *out, *h_before, *c_before, *h, *c, *z, *inner, *d, *e;
    idx rows, first; /* of the current step */
} Layer;

static void lstm_rows(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Layer *q = what;
    const idx n = q->w->hidden;
    for (idx r = share(q->rows, i, parts); r < share(q->rows, i + 1, parts); r++) {
        const idx f = q->first + r;
        memcpy(q->c_before + f * n, q->c + r * n, (size_t)n * 4);
        RL->lstm_cell(q->z + r * 4 * n, q->c_before + f * n, q->gates + f * 4 * n, q->c + r * n, q->h + r * n, n);
        memcpy(q->out + f * n, q->h + r * n, (size_t)n * 4);
    }
}

static void lstm_walk(Layer *q) {
    const Walk *w = q->w;
    const idx n = w->hidden;
    Panels p;
    panels_make(&p, w, q->w_hh, 4 * n, n, 1);
    for (idx s = 0; s < w->steps; s++) {
        const idx t = w->reverse ? w->steps - 1 - s : s;
        q->rows = w->alive[t], q->first = w->first[t];
        memcpy(q->h_before + q->first * n, q->h, (size_t)(q->rows * n) * 4);
        memcpy(q->z, q->xw + q->first * 4 * n, (size_t)(q->rows * 4 * n) * 4);
        multiply_panels(&p, q->z, q->h, q->w_hh, q->rows, 1, 1, NULL);
        threads_run(lstm_rows, q, threads_parts((double)(q->rows * n) * 10.0, q->rows));
    }
    panels_done(&p);
}

static PyObject *lstm(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Walk w;
    if (nargs != 4 || !all_plain(args, 0, 4)) return REFUSE;
    PyArrayObject *xw = ARRAY(args[0]), *h0 = ARRAY(args[1]), *c0 = ARRAY(args[2]), *w_hh = ARRAY(args[3]);
    const int found = walk_of(&w, attrs, xw, h0, 4);
    if (found <= 0) return found < 0 ? NULL : REFUSE;
    const idx n = w.hidden, size = w.batch * n;
    if (PyArray_SIZE(w_hh) != 4 * n * n || PyArray_SIZE(c0) != size) {
        walk_free(&w);
        return REFUSE;
    }
    PyArrayObject *a[6] = {matrix(w.frames, n), matrix(w.batch, n), matrix(w.batch, n), matrix(w.frames, 4 * n),
                           matrix(w.frames, n), matrix(w.frames, n)};
    const size_t bytes = (size_t)(w.batch * 4 * n) * 4;
    Layer q = {.w = &w, .xw = DATA(xw), .w_hh = DATA(w_hh), .z = memory_take(bytes)};
    PyObject *tuple = results(a, 6);
    if (tuple && q.z) {
        q.out = DATA(a[0]), q.h = DATA(a[1]), q.c = DATA(a[2]), q.gates = DATA(a[3]);
        q.h_before = DATA(a[4]), q.c_before = DATA(a[5]);
        memcpy(q.h, DATA(h0), (size_t)size * 4);
        memcpy(q.c, DATA(c0), (size_t)size * 4);
        Py_BEGIN_ALLOW_THREADS
        lstm_walk(&q);
        Py_END_ALLOW_THREADS
    }
    if (q.z) memory_give(q.z, bytes);
    walk_free(&w);
    return tuple;
}

static void lstm_grad_rows(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Layer *q = what;
    const idx n = q->w->hidden;
    for (idx r = share(q->rows, i, parts); r < share(q->rows, i + 1, parts); r++) {
        const idx f = q->first + r;
        if (q->gout) RL->add_into(q->h + r * n, q->gout + f * n, n);
        RL->lstm_cell_grad(q->gates + f * 4 * n, q->c_before + f * n, q->h + r * n, q->c + r * n, q->d + f * 4 * n, n);
    }
}

static void lstm_grad_walk(Layer *q) {
    const Walk *w = q->w;
    const idx n = w->hidden;
    Panels p;
    panels_make(&p, w, q->w_hh, n, 4 * n, 0);
    for (idx s = 0; s < w->steps; s++) {
        const idx t = w->reverse ? s : w->steps - 1 - s;
        q->rows = w->alive[t], q->first = w->first[t];
        threads_run(lstm_grad_rows, q, threads_parts((double)(q->rows * n) * 6.0, q->rows));
        multiply_panels(&p, q->h, q->d + q->first * 4 * n, q->w_hh, q->rows, 0, 0, NULL);
    }
    panels_done(&p);
}

/* A gradient to start from: a copy of what arrived, or zeros. */
static void start(float *to, PyObject *from, idx n) {
    if (from == Py_None) memset(to, 0, (size_t)n * 4);
    else memcpy(to, DATA(ARRAY(from)), (size_t)n * 4);
}

static int arrived(PyObject *o, idx n) { return o == Py_None || (is_plain(o) && PyArray_SIZE(ARRAY(o)) == n); }

static PyObject *lstm_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Walk w; /* args: xw, h0, c0, w_hh, gates, h_before, c_before, gout, gh, gc */
    if (nargs != 10 || !all_plain(args, 0, 7)) return REFUSE;
    PyArrayObject *xw = ARRAY(args[0]), *h0 = ARRAY(args[1]);
    const int found = walk_of(&w, attrs, xw, h0, 4);
    if (found <= 0) return found < 0 ? NULL : REFUSE;
    const idx n = w.hidden, size = w.batch * n;
    if (!arrived(args[7], w.frames * n) || !arrived(args[8], size) || !arrived(args[9], size)) {
        walk_free(&w);
        return REFUSE;
    }
    PyArrayObject *a[4] = {matrix(w.frames, 4 * n), matrix(w.batch, n), matrix(w.batch, n), matrix(4 * n, n)};
    PyObject *tuple = results(a, 4);
    if (tuple) {
        Layer q = {.w = &w, .w_hh = DATA(ARRAY(args[3])), .gates = DATA(ARRAY(args[4])),
                   .h_before = DATA(ARRAY(args[5])), .c_before = DATA(ARRAY(args[6])),
                   .gout = args[7] == Py_None ? NULL : DATA(ARRAY(args[7])),
                   .d = DATA(a[0]), .h = DATA(a[1]), .c = DATA(a[2])};
        start(q.h, args[8], size);
        start(q.c, args[9], size);
        Py_BEGIN_ALLOW_THREADS
        lstm_grad_walk(&q);
        multiply_frames(DATA(a[3]), q.d, q.h_before, w.frames, 4 * n, n);
        Py_END_ALLOW_THREADS
    }
    walk_free(&w);
    return tuple;
}

/* -- GRU -------------------------------------------------------------------------------------------- */

static void gru_rows(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Layer *q = what;
    const idx n = q->w->hidden;
    for (idx r = share(q->rows, i, parts); r < share(q->rows, i + 1, parts); r++) {
        const idx f = q->first + r;
        RL->gru_cell(q->xw + f * 3 * n, q->z + r * 3 * n, q->gates + f * 3 * n, q->inner + f * n, q->h + r * n, n);
        memcpy(q->out + f * n, q->h + r * n, (size_t)n * 4);
    }
}

static void gru_walk(Layer *q) {
    const Walk *w = q->w;
    const idx n = w->hidden;
    Panels p;
    panels_make(&p, w, q->w_hh, 3 * n, n, 1);
    for (idx s = 0; s < w->steps; s++) {
        const idx t = w->reverse ? w->steps - 1 - s : s;
        q->rows = w->alive[t], q->first = w->first[t];
        memcpy(q->h_before + q->first * n, q->h, (size_t)(q->rows * n) * 4);
        multiply_panels(&p, q->z, q->h, q->w_hh, q->rows, 1, 0, q->b_hh);
        threads_run(gru_rows, q, threads_parts((double)(q->rows * n) * 8.0, q->rows));
    }
    panels_done(&p);
}

static PyObject *gru(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Walk w; /* args: xw, h0, w_hh, b_hh or None */
    if (nargs != 4 || !all_plain(args, 0, 3)) return REFUSE;
    PyArrayObject *xw = ARRAY(args[0]), *h0 = ARRAY(args[1]);
    const int found = walk_of(&w, attrs, xw, h0, 3);
    if (found <= 0) return found < 0 ? NULL : REFUSE;
    const idx n = w.hidden;
    if (PyArray_SIZE(ARRAY(args[2])) != 3 * n * n || !arrived(args[3], 3 * n)) {
        walk_free(&w);
        return REFUSE;
    }
    PyArrayObject *a[5] = {matrix(w.frames, n), matrix(w.batch, n), matrix(w.frames, 3 * n), matrix(w.frames, n),
                           matrix(w.frames, n)};
    const size_t bytes = (size_t)(w.batch * 3 * n) * 4;
    Layer q = {.w = &w, .xw = DATA(xw), .w_hh = DATA(ARRAY(args[2])), .z = memory_take(bytes)};
    if (args[3] != Py_None) q.b_hh = DATA(ARRAY(args[3]));
    PyObject *tuple = results(a, 5);
    if (tuple && q.z) {
        q.out = DATA(a[0]), q.h = DATA(a[1]), q.gates = DATA(a[2]), q.h_before = DATA(a[3]), q.inner = DATA(a[4]);
        memcpy(q.h, DATA(h0), (size_t)(w.batch * n) * 4);
        Py_BEGIN_ALLOW_THREADS
        gru_walk(&q);
        Py_END_ALLOW_THREADS
    }
    if (q.z) memory_give(q.z, bytes);
    walk_free(&w);
    return tuple;
}

static void gru_grad_rows(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Layer *q = what;
    const idx n = q->w->hidden;
    for (idx r = share(q->rows, i, parts); r < share(q->rows, i + 1, parts); r++) {
        const idx f = q->first + r;
        if (q->gout) RL->add_into(q->h + r * n, q->gout + f * n, n);
        RL->gru_cell_grad(q->gates + f * 3 * n, q->h_before + f * n, q->inner + f * n, q->h + r * n, q->d + f * 3 * n,
                          q->e + f * 3 * n, n);
    }
}

static void gru_grad_walk(Layer *q) {
    const Walk *w = q->w;
    const idx n = w->hidden;
    Panels p;
    panels_make(&p, w, q->w_hh, n, 3 * n, 0);
    for (idx s = 0; s < w->steps; s++) {
        const idx t = w->reverse ? s : w->steps - 1 - s;
        q->rows = w->alive[t], q->first = w->first[t];
        threads_run(gru_grad_rows, q, threads_parts((double)(q->rows * n) * 4.0, q->rows));
        multiply_panels(&p, q->h, q->e + q->first * 3 * n, q->w_hh, q->rows, 0, 1, NULL);
    }
    panels_done(&p);
}

static void sum_frames(const float *e, idx frames, idx n, float *out) {
    memset(out, 0, (size_t)n * 4);
    for (idx f = 0; f < frames; f++) RL->add_into(out, e + f * n, n);
}

static PyObject *gru_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Walk w; /* args: xw, h0, w_hh, b_hh, gates, h_before, inner, gout, gh */
    if (nargs != 9 || !all_plain(args, 0, 3) || !all_plain(args, 4, 7)) return REFUSE;
    PyArrayObject *xw = ARRAY(args[0]), *h0 = ARRAY(args[1]);
    const int found = walk_of(&w, attrs, xw, h0, 3);
    if (found <= 0) return found < 0 ? NULL : REFUSE;
    const idx n = w.hidden, size = w.batch * n;
    if (!arrived(args[7], w.frames * n) || !arrived(args[8], size)) {
        walk_free(&w);
        return REFUSE;
    }
    const npy_intp wide = 3 * n;
    PyArrayObject *a[4] = {matrix(w.frames, 3 * n), matrix(w.batch, n), matrix(3 * n, n),
                           array_new(1, &wide, NPY_FLOAT32)};
    const size_t bytes = (size_t)(w.frames * 3 * n) * 4;
    float *e = memory_take(bytes);
    PyObject *tuple = results(a, 4);
    if (tuple && e) {
        Layer q = {.w = &w, .w_hh = DATA(ARRAY(args[2])), .gates = DATA(ARRAY(args[4])),
                   .h_before = DATA(ARRAY(args[5])), .inner = DATA(ARRAY(args[6])),
                   .gout = args[7] == Py_None ? NULL : DATA(ARRAY(args[7])), .d = DATA(a[0]), .h = DATA(a[1]), .e = e};
        start(q.h, args[8], size);
        Py_BEGIN_ALLOW_THREADS
        gru_grad_walk(&q);
        multiply_frames(DATA(a[2]), e, q.h_before, w.frames, 3 * n, n);
        sum_frames(e, w.frames, 3 * n, DATA(a[3]));
        Py_END_ALLOW_THREADS
    }
    if (e) memory_give(e, bytes);
    walk_free(&w);
    return tuple;
}

const Entry recurrent_entries[] = {
    {"lstm_sequence", lstm, 1}, {"lstm_sequence_grad", lstm_grad, 1}, {"gru_sequence", gru, 1},
    {"gru_sequence_grad", gru_grad, 1}, {NULL, NULL},
};
