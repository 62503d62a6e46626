/* LSTM and GRU layers over all time steps: a product and a pass over the gates per step. */
#include "arrays.h"

typedef struct {
    idx steps, hidden, gates, frames, batch;
    idx *first, *alive; /* of each step: its first frame, how many sequences are alive */
    int reverse;
} Walk;

/* Attributes `sizes` and `reverse`, and the first two arguments, xw and h0; whether the call goes on. */
static int walk_of(Call *c, Walk *w, idx gates) {
    PyObject *sizes = attr_of(c, "sizes");
    PyArrayObject *xw = floats(c, 0), *h0 = floats(c, 1);
    w->reverse = flag_of(c, "reverse");
    if (c->ends || !need(c, PyTuple_Check(sizes) && PyArray_NDIM(xw) == 2 && PyArray_NDIM(h0) == 2)) return 0;
    w->steps = PyTuple_GET_SIZE(sizes), w->hidden = PyArray_DIM(h0, 1), w->batch = PyArray_DIM(h0, 0), w->gates = gates, w->frames = 0;
    if (!need(c, w->steps && w->hidden && PyArray_DIM(xw, 1) == gates * w->hidden)) return 0;
    if (!(w->first = room(c, (size_t)(2 * w->steps) * sizeof(idx)))) return 0;
    w->alive = w->first + w->steps;
    for (idx t = 0; t < w->steps; t++) {
        w->first[t] = w->frames;
        w->alive[t] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, t));
        if (w->alive[t] == -1 && PyErr_Occurred()) fail(c);
        if (!need(c, w->alive[t] > 0 && w->alive[t] <= w->batch)) return 0;
        w->frames += w->alive[t];
    }
    return need(c, w->frames == PyArray_DIM(xw, 0));
}

static float *matrix(Call *c, idx rows, idx cols) {
    const npy_intp shape[2] = {rows, cols};
    return new_floats(c, 2, shape);
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

/* -- LSTM and GRU: what differs is a row of gates, and how the product of the state gets to them ---------- */

typedef struct Layer {
    const Walk *w;
    void (*row)(const struct Layer *q, idx r, idx f); /* of sequence r, whose frame is f */
    double ns; /* of a number of a row */
    const float *xw, *w_hh, *b_hh, *gout;
    float *gates, *out, *h_before, *c_before, *h, *c, *z, *inner, *d, *e;
    idx rows, first; /* of the current step */
} Layer;

static void lstm_row(const Layer *q, idx r, idx f) {
    const idx n = q->w->hidden;
    memcpy(q->c_before + f * n, q->c + r * n, (size_t)n * 4);
    RL->lstm_cell(q->z + r * 4 * n, q->c_before + f * n, q->gates + f * 4 * n, q->c + r * n, q->h + r * n, n);
    memcpy(q->out + f * n, q->h + r * n, (size_t)n * 4);
}

static void gru_row(const Layer *q, idx r, idx f) {
    const idx n = q->w->hidden;
    RL->gru_cell(q->xw + f * 3 * n, q->z + r * 3 * n, q->gates + f * 3 * n, q->inner + f * n, q->h + r * n, n);
    memcpy(q->out + f * n, q->h + r * n, (size_t)n * 4);
}

static void lstm_row_back(const Layer *q, idx r, idx f) {
    const idx n = q->w->hidden;
    if (q->gout) RL->add_into(q->h + r * n, q->gout + f * n, n);
    RL->lstm_cell_grad(q->gates + f * 4 * n, q->c_before + f * n, q->h + r * n, q->c + r * n, q->d + f * 4 * n, n);
}

static void gru_row_back(const Layer *q, idx r, idx f) {
    const idx n = q->w->hidden;
    if (q->gout) RL->add_into(q->h + r * n, q->gout + f * n, n);
    RL->gru_cell_grad(q->gates + f * 3 * n, q->h_before + f * n, q->inner + f * n, q->h + r * n, q->d + f * 3 * n, q->e + f * 3 * n, n);
}

static void rows_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Layer *q = what;
    for (idx r = share(q->rows, i, parts); r < share(q->rows, i + 1, parts); r++) q->row(q, r, q->first + r);
}

/* The next step in the order of work. */
static void take_step(Layer *q, idx s, int backwards) {
    const idx t = q->w->reverse != backwards ? q->w->steps - 1 - s : s;
    q->rows = q->w->alive[t], q->first = q->w->first[t];
}

static void run_rows(Layer *q) { threads_run(rows_part, q, threads_parts((double)(q->rows * q->w->hidden) * q->ns, q->rows)); }

static void walk_ahead(Layer *q) {
    const Walk *w = q->w;
    const idx n = w->hidden, all = w->gates * n;
    const int adds = w->gates == 4; /* the product to the inputs, at once */
    Panels p;
    panels_make(&p, w, q->w_hh, all, n, 1);
    for (idx s = 0; s < w->steps; s++) {
        take_step(q, s, 0);
        memcpy(q->h_before + q->first * n, q->h, (size_t)(q->rows * n) * 4);
        if (adds) memcpy(q->z, q->xw + q->first * all, (size_t)(q->rows * all) * 4);
        multiply_panels(&p, q->z, q->h, q->w_hh, q->rows, 1, adds, q->b_hh);
        run_rows(q);
    }
    panels_done(&p);
}

static void walk_back(Layer *q) {
    const Walk *w = q->w;
    const idx n = w->hidden, all = w->gates * n;
    Panels p;
    panels_make(&p, w, q->w_hh, n, all, 0);
    for (idx s = 0; s < w->steps; s++) {
        take_step(q, s, 1);
        run_rows(q);
        multiply_panels(&p, q->h, (q->e ? q->e : q->d) + q->first * all, q->w_hh, q->rows, 0, q->e != NULL, NULL);
    }
    panels_done(&p);
}

/* Of `which` gates, LSTM: xw, h0, c0, w_hh; GRU: xw, h0, w_hh, b_hh or None. */
static void sequence(Call *c) {
    Walk w;
    const int lstm = c->which == 4;
    if (!need(c, c->count == 4) || !walk_of(c, &w, c->which)) return;
    const idx n = w.hidden, size = w.batch * n, all = w.gates * n;
    const float *c0 = lstm ? some_floats(c, 2, size) : NULL;
    Layer q = {.w = &w, .row = lstm ? lstm_row : gru_row, .ns = lstm ? 10.0 : 8.0, .xw = DATA(ARRAY(c->args[0])),
               .w_hh = some_floats(c, 2 + lstm, all * n), .b_hh = lstm ? NULL : maybe_floats(c, 3, all),
               .z = room(c, (size_t)(w.batch * all) * 4)};
    q.out = matrix(c, w.frames, n), q.h = matrix(c, w.batch, n), q.c = lstm ? matrix(c, w.batch, n) : NULL;
    q.gates = matrix(c, w.frames, all), q.h_before = matrix(c, w.frames, n);
    *(lstm ? &q.c_before : &q.inner) = matrix(c, w.frames, n);
    if (c->ends) return;
    memcpy(q.h, DATA(ARRAY(c->args[1])), (size_t)size * 4);
    if (lstm) memcpy(q.c, c0, (size_t)size * 4);
    Py_BEGIN_ALLOW_THREADS
    walk_ahead(&q);
    Py_END_ALLOW_THREADS
}

/* A gradient to start from: a copy of what arrived, or zeros. */
static void start(float *to, const float *from, idx n) {
    if (from) memcpy(to, from, (size_t)n * 4);
    else memset(to, 0, (size_t)n * 4);
}

static void sum_frames(const float *e, idx frames, idx n, float *out) {
    memset(out, 0, (size_t)n * 4);
    for (idx f = 0; f < frames; f++) RL->add_into(out, e + f * n, n);
}

/* LSTM: xw, h0, c0, w_hh, gates, h_before, c_before, gout, gh, gc; GRU: xw, h0, w_hh, b_hh, gates, h_before, inner, gout, gh */
static void sequence_grad(Call *c) {
    Walk w;
    const int lstm = c->which == 4;
    if (!need(c, c->count == 9 + lstm) || !walk_of(c, &w, c->which)) return;
    const idx n = w.hidden, size = w.batch * n, frames = w.frames * n, all = w.gates * n;
    Layer q = {.w = &w, .row = lstm ? lstm_row_back : gru_row_back, .ns = lstm ? 6.0 : 4.0, .w_hh = some_floats(c, 2 + lstm, all * n),
               .gates = some_floats(c, 4, w.frames * all), .h_before = some_floats(c, 5, frames), .gout = maybe_floats(c, 7, frames)};
    *(lstm ? &q.c_before : &q.inner) = some_floats(c, 6, frames);
    const float *gh = maybe_floats(c, 8, size), *gc = lstm ? maybe_floats(c, 9, size) : NULL;
    q.d = matrix(c, w.frames, all), q.h = matrix(c, w.batch, n), q.c = lstm ? matrix(c, w.batch, n) : NULL;
    q.e = lstm ? NULL : room(c, (size_t)(w.frames * all) * 4);
    float *to_w = matrix(c, all, n), *to_b = lstm ? NULL : new_floats(c, 1, &all);
    if (c->ends) return;
    start(q.h, gh, size);
    if (lstm) start(q.c, gc, size);
    Py_BEGIN_ALLOW_THREADS
    walk_back(&q);
    multiply_frames(to_w, lstm ? q.d : q.e, q.h_before, w.frames, all, n);
    if (to_b) sum_frames(q.e, w.frames, all, to_b);
    Py_END_ALLOW_THREADS
}

const Entry recurrent_entries[] = {
    BOUND("lstm_sequence", sequence, .which = 4, .copies = COPIES), BOUND("lstm_sequence_grad", sequence_grad, .which = 4, .copies = COPIES),
    BOUND("gru_sequence", sequence, .which = 3, .copies = COPIES), BOUND("gru_sequence_grad", sequence_grad, .which = 3, .copies = COPIES), {NULL},
};
