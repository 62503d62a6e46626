/* softmax, log_softmax, their gradients, attention_weights, and cross entropy: rows of a matrix shared out. */
#include "arrays.h"
#include "codes.h"
#include "halves.h"

typedef struct {
    const float *x, *y;
    float *out;
    idx rows, n, step; /* step: columns, where n numbers do not lie beside each other */
    int log, grad;
} Soft;

static void soft_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Soft *s = what;
    const idx from = share(s->rows, i, parts), rows = share(s->rows, i + 1, parts) - from, at = from * s->n;
    if (s->grad) RL->softmax_grad(s->x + at, s->y + at, s->out + at, rows, s->n, s->log);
    else RL->softmax(s->x + at, s->out + at, rows, s->n, s->log, NULL, NULL);
}

/* Over the middle of [rows][n][step]: pieces of COLUMNS columns are shared out. */
#define COLUMNS 64
static void columns_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Soft *s = what;
    const idx pieces = (s->step + COLUMNS - 1) / COLUMNS, all = s->rows * pieces;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const idx from = j % pieces * COLUMNS, at = j / pieces * s->n * s->step + from;
        const idx columns = s->step - from < COLUMNS ? s->step - from : COLUMNS;
        if (s->grad) RL->softmax_columns_grad(s->x + at, s->y + at, s->out + at, s->n, s->step, columns, s->log);
        else RL->softmax_columns(s->x + at, s->out + at, s->n, s->step, columns, s->log);
    }
}

/* softmax of attention: a row that is -inf everywhere attends to nothing. */
static void weights_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Soft *s = what;
    const idx end = share(s->rows, i + 1, parts);
    float tops[64], sums[64];
    for (idx from = share(s->rows, i, parts); from < end; from += 64) {
        const idx rows = end - from < 64 ? end - from : 64, at = from * s->n;
        RL->softmax(s->x + at, s->out + at, rows, s->n, 0, tops, sums);
        for (idx r = 0; r < rows; r++)
            if (tops[r] == -INFINITY) memset(s->out + at + r * s->n, 0, (size_t)s->n * 4);
    }
}

static void attention_weights(Call *c) {
    PyArrayObject *x = floats(c, 0);
    if (!x || !need(c, PyArray_NDIM(x) > 0 && PyArray_SIZE(x) > 0)) return;
    Soft s = {.x = DATA(x), .out = new_like(c, x), .n = PyArray_DIM(x, PyArray_NDIM(x) - 1)};
    s.rows = PyArray_SIZE(x) / s.n;
    if (!c->ends) run_shared(weights_part, &s, s.rows, (double)PyArray_SIZE(x) * 2.0);
}

enum { LOG = 1, GRAD = 2 };

static void soft(Call *c) {
    Soft s = {.log = c->which & LOG, .grad = (c->which & GRAD) != 0};
    PyArrayObject *x = floats(c, 0);
    if (!along(c, x, idx_of(c, "dim"), &s.rows, &s.n, &s.step) || !need(c, PyArray_SIZE(x) > 0)) return;
    if (s.grad) s.y = some_floats(c, 1, PyArray_SIZE(x));
    s.x = DATA(x), s.out = new_like(c, x);
    if (c->ends) return;
    run_shared(s.step == 1 ? soft_part : columns_part, &s, s.rows * ((s.step + COLUMNS - 1) / COLUMNS), (double)PyArray_SIZE(x) * 2.0);
}

/* -- cross entropy -------------------------------------------------------------------------------- */

typedef struct {
    const char *x; /* logits of float32 or of half precision, which is computed with as float32 */
    char *out;     /* the gradient, of the same type */
    int half;
    float *wide; /* room for a row of every part; only for half precision */
    float *losses, *stats; /* two numbers a row: its maximum, and the sum of exp(x - maximum) */
    const int64_t *target;
    idx rows, n, ignore;
    const float *grads; /* of the losses: one for each row, or one for all */
    int reduction;      /* 0 none, 1 sum, 2 mean */
    float *scale;       /* of the gradient, where it is the same for every row */
    void *result;       /* what the losses are reduced, or rounded, to */
    int result_half;
} Entropy;

/* Argument i, classes, as int64 in C order. */
static int take_classes(Call *c, Entropy *e, int i) {
    PyObject *o = c->args[i];
    if (!need(c, PyArray_CheckExact(o))) return 0;
    if (is_type(o, NPY_INT64) && PyArray_IS_C_CONTIGUOUS(ARRAY(o))) return e->target = PyArray_DATA(ARRAY(o)), 1;
    repeat_cannot();
    PyArrayObject *copy = aside(c, ARRAY(PyArray_FROM_OTF(o, NPY_INT64, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_FORCECAST)));
    return copy ? e->target = PyArray_DATA(copy), 1 : 0;
}

/* The logits, argument i, if they are 2-D numbers that are computed with here; NULL where it ends. */
static PyArrayObject *take_logits(Call *c, Entropy *e, int i) {
    if (c->ends || !need(c, PyArray_CheckExact(c->args[i]))) return NULL;
    PyArrayObject *x = ARRAY(c->args[i]);
    e->half = PyArray_ISALIGNED(x) ? half_of(x) : NO_HALF;
    if (!need(c, (e->half || is_plain((PyObject *)x)) && PyArray_NDIM(x) == 2 && PyArray_SIZE(x) > 0)) return NULL;
    if (!(x = aside(c, array_plain((PyObject *)x)))) return NULL;
    e->x = PyArray_DATA(x), e->rows = PyArray_DIM(x, 0), e->n = PyArray_DIM(x, 1);
    return x;
}

/* A row of part i as float32. */
static const float *logits_row(const Entropy *e, idx r, ptrdiff_t i) {
    if (!e->half) return (const float *)e->x + r * e->n;
    float *to = e->wide + i * e->n;
    RL->widen(e->half, (const uint16_t *)e->x + r * e->n, to, e->n);
    return to;
}

static void entropy_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Entropy *e = what;
    const idx end = share(e->rows, i + 1, parts);
    float logs[64], gaps[64];
    for (idx from = share(e->rows, i, parts); from < end; from += 64) { /* logarithms of many rows at once */
        const idx rows = end - from < 64 ? end - from : 64;
        for (idx k = 0; k < rows; k++) {
            const float *x = logits_row(e, from + k, i);
            float *both = e->stats + 2 * (from + k);
            const int64_t t = e->target[from + k];
            RL->softmax_sums(x, e->n, both);
            logs[k] = both[1];
            gaps[k] = t == e->ignore ? 0.0f : x[t] - both[0];
        }
        RL->unary(U_LOG, logs, logs, rows);
        for (idx k = 0; k < rows; k++)
            e->losses[from + k] = e->target[from + k] == e->ignore ? 0.0f : logs[k] - gaps[k];
    }
}

static void entropy_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Entropy *e = what;
    for (idx r = share(e->rows, i, parts); r < share(e->rows, i + 1, parts); r++) {
        const int64_t t = e->target[r];
        const float g = t == e->ignore ? 0.0f : e->reduction ? *e->scale : e->grads[r];
        float *out = e->half ? e->wide + i * e->n : (float *)e->out + r * e->n;
        RL->softmax_again(logits_row(e, r, i), out, e->n, e->stats + 2 * r, g);
        if (t != e->ignore) out[t] -= g;
        if (e->half) RL->narrow(e->half, out, (uint16_t *)e->out + r * e->n, e->n);
    }
}

/* Run parts, with room for their rows where these have to be widened. */
static void entropy_run(Call *c, Entropy *e, Part part, double ns) {
    const ptrdiff_t parts = threads_parts(ns, e->rows);
    e->wide = room(c, e->half ? (size_t)(parts * e->n) * 4 : 0);
    if (!c->ends) run_parts(part, e, parts, ns);
}

static idx out_of_bounds(const Entropy *e) {
    for (idx r = 0; r < e->rows; r++)
        if ((e->target[r] < 0 || e->target[r] >= e->n) && e->target[r] != e->ignore) return r;
    return -1;
}
static int is_out_of_bounds(const void *what) { return out_of_bounds(what) >= 0; }

static idx counted(const Entropy *e) {
    idx n = 0;
    for (idx r = 0; r < e->rows; r++) n += e->target[r] != e->ignore;
    return n;
}

/* The rows' losses reduced, and rounded to the type that was asked for. */
static void result_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Entropy *e = what;
    float one = 0.0f;
    if (e->reduction) {
        one = RL->sum(e->losses, e->rows);
        if (e->reduction == 2) one /= (float)counted(e);
    }
    if (e->result_half) RL->narrow(e->result_half, e->reduction ? &one : e->losses, e->result, e->reduction ? 1 : e->rows);
    else *(float *)e->result = one;
}

static void cross_entropy(Call *c) {
    Entropy e = {.ignore = idx_of(c, "ignore_index"), .reduction = reduction_of(c)};
    const int wide = flag_of(c, "wide");
    if (!need(c, PyArray_CheckExact(c->args[1]) && PyArray_NDIM(ARRAY(c->args[1])) == 1)) return;
    PyArrayObject *x = take_logits(c, &e, 0);
    if (!x || !need(c, PyArray_DIM(ARRAY(c->args[1]), 0) == e.rows) || !take_classes(c, &e, 1)) return;
    if (run_check(is_out_of_bounds, &e)) {
        PyErr_Format(PyExc_IndexError, "Target %lld is out of bounds.", (long long)e.target[out_of_bounds(&e)]);
        fail(c);
    }
    const npy_intp shape[2] = {e.rows, 2};
    const int type = wide ? NPY_FLOAT32 : PyArray_TYPE(x), own = e.reduction || type != NPY_FLOAT32;
    e.result = new_array(c, !e.reduction, shape, type), e.stats = new_floats(c, 2, shape);
    e.losses = own ? room(c, (size_t)e.rows * 4) : e.result; /* those that are no result lie in memory of the call's own */
    e.result_half = type == NPY_FLOAT32 ? NO_HALF : e.half;
    if (!c->ends) entropy_run(c, &e, entropy_part, (double)(e.rows * e.n) * 2.5);
    if (!c->ends && own) run_once(result_part, &e, 0.5 * (double)e.rows);
}

static void scale_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Entropy *e = what;
    *e->scale = *e->grads;
    if (e->reduction == 2) *e->scale /= (float)counted(e);
}

static void cross_entropy_grad(Call *c) {
    Entropy e = {.ignore = idx_of(c, "ignore_index"), .reduction = reduction_of(c)};
    if (!need(c, PyArray_CheckExact(c->args[0]))) return;
    PyArrayObject *g = ARRAY(c->args[0]), *stats = floats(c, 2), *x = take_logits(c, &e, 1);
    if (!x || !need(c, PyArray_SIZE(g) == (e.reduction ? 1 : e.rows) && (PyArray_TYPE(g) == NPY_FLOAT32 || PyArray_TYPE(g) == PyArray_TYPE(x)))) return;
    if (!is_plain((PyObject *)g)) {
        repeat_cannot(); /* a copy */
        const int plain = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST;
        g = aside(c, ARRAY(PyArray_FROM_OTF((PyObject *)g, NPY_FLOAT32, plain)));
    }
    if (!g || !take_classes(c, &e, 3)) return;
    const npy_intp shape[2] = {e.rows, e.n};
    e.stats = DATA(stats), e.grads = DATA(g);
    e.out = new_array(c, 2, shape, PyArray_TYPE(x)), e.scale = room(c, sizeof(float));
    if (c->ends) return;
    run_once(scale_part, &e, 0.5 * (double)e.rows);
    entropy_run(c, &e, entropy_grad_part, (double)(e.rows * e.n) * 1.5);
}

#define SOFT(name, bind, number) BOUND(name, bind, .which = number, .copies = COPIES, .repeats = 1)
const Entry softmax_entries[] = {
    SOFT("attention_weights", attention_weights, 0), SOFT("softmax", soft, 0), SOFT("log_softmax", soft, LOG), SOFT("softmax_grad", soft, GRAD),
    SOFT("log_softmax_grad", soft, LOG + GRAD), SOFT("cross_entropy_fused", cross_entropy, 0), SOFT("cross_entropy_grad", cross_entropy_grad, 0), {NULL},
};
