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

static PyObject *attention_weights(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!is_plain(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x);
    if (ndim < 1 || PyArray_SIZE(x) == 0) return REFUSE;
    PyArrayObject *out = array_like(x);
    if (!out) return NULL;
    Soft s = {.x = DATA(x), .out = DATA(out), .n = PyArray_DIM(x, ndim - 1)};
    s.rows = PyArray_SIZE(x) / s.n;
    const double ns = (double)PyArray_SIZE(x) * 2.0;
    run_parts(weights_part, &s, threads_parts(ns, s.rows), ns);
    return (PyObject *)out;
}

static PyObject *soft(PyObject *const *args, PyObject *attrs, int log, int grad) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!is_plain(args[0]) || (grad && !is_plain(args[1]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x);
    if (ndim < 1 || dim < 0 || dim >= ndim || PyArray_SIZE(x) == 0) return REFUSE;
    if (grad && PyArray_SIZE(ARRAY(args[1])) != PyArray_SIZE(x)) return REFUSE;
    PyArrayObject *out = array_like(x);
    if (!out) return NULL;
    Soft s = {.x = DATA(x), .y = grad ? DATA(ARRAY(args[1])) : NULL, .out = DATA(out), .log = log, .grad = grad};
    s.n = PyArray_DIM(x, dim), s.step = 1;
    for (int i = (int)dim + 1; i < ndim; i++) s.step *= PyArray_DIM(x, i);
    s.rows = PyArray_SIZE(x) / (s.n * s.step);
    const double ns = (double)PyArray_SIZE(x) * 2.0;
    const idx most = s.rows * ((s.step + COLUMNS - 1) / COLUMNS);
    run_parts(s.step == 1 ? soft_part : columns_part, &s, threads_parts(ns, most), ns);
    return (PyObject *)out;
}

static PyObject *softmax(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return soft(a, attrs, 0, 0); }
static PyObject *log_softmax(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return soft(a, attrs, 1, 0); }
static PyObject *softmax_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return soft(a, attrs, 0, 1); }
static PyObject *log_softmax_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) {
    return soft(a, attrs, 1, 1);
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

/* Class indices as int64, C order: a new reference. */
static PyArrayObject *classes(PyObject *o) {
    if (is_type(o, NPY_INT64) && PyArray_IS_C_CONTIGUOUS(ARRAY(o))) return ARRAY(Py_NewRef(o));
    repeat_cannot();
    return ARRAY(PyArray_FROM_OTF(o, NPY_INT64, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_FORCECAST));
}

/* The logits, if they are 2-D numbers that are computed with here: a new reference, REFUSE, or NULL. */
static PyObject *take_logits(Entropy *e, PyObject *o) {
    if (!PyArray_CheckExact(o)) return REFUSE;
    PyArrayObject *x = ARRAY(o);
    e->half = PyArray_ISALIGNED(x) ? half_of(x) : NO_HALF;
    if (!(e->half || is_plain(o)) || PyArray_NDIM(x) != 2 || PyArray_SIZE(x) == 0) return REFUSE;
    if (!(x = array_plain(o))) return NULL;
    e->x = PyArray_DATA(x), e->rows = PyArray_DIM(x, 0), e->n = PyArray_DIM(x, 1);
    return (PyObject *)x;
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

/* Run parts, with room for their rows where these have to be widened; -1 with an exception. */
static int entropy_run(Entropy *e, Part part, double ns) {
    const ptrdiff_t parts = threads_parts(ns, e->rows);
    const size_t room = e->half ? (size_t)(parts * e->n) * 4 : 0;
    if (room && !(e->wide = memory_take(room))) {
        PyErr_NoMemory();
        return -1;
    }
    run_parts(part, e, parts, ns);
    if (room) memory_give(e->wide, room);
    return 0;
}

static int is_out_of_bounds(const void *what) {
    const Entropy *e = what;
    for (idx r = 0; r < e->rows; r++)
        if ((e->target[r] < 0 || e->target[r] >= e->n) && e->target[r] != e->ignore) return 1;
    return 0;
}

static idx out_of_bounds(const Entropy *e) {
    for (idx r = 0; r < e->rows; r++)
        if ((e->target[r] < 0 || e->target[r] >= e->n) && e->target[r] != e->ignore) return r;
    return -1;
}

static idx counted(const Entropy *e) {
    idx n = 0;
    for (idx r = 0; r < e->rows; r++) n += e->target[r] != e->ignore;
    return n;
}

static int old_reduction(PyObject *attrs) { /* 0 none, 1 sum, 2 mean */
    PyObject *s = attr(attrs, "reduction");
    if (!s) return -1;
    if (PyUnicode_CompareWithASCIIString(s, "mean") == 0) return 2;
    return PyUnicode_CompareWithASCIIString(s, "sum") == 0 ? 1 : 0;
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

/* Losses that are no result themselves lie in memory of the call's own. */
static PyObject *entropy_forward(Entropy *e, int type) {
    if (run_check(is_out_of_bounds, e))
        return PyErr_Format(PyExc_IndexError, "Target %lld is out of bounds.", (long long)e->target[out_of_bounds(e)]);
    const npy_intp shape[2] = {e->rows, 2};
    const size_t bytes = (size_t)e->rows * 4;
    const int own = e->reduction || type != NPY_FLOAT32;
    PyArrayObject *out = array_new(!e->reduction, shape, type), *stats = array_new(2, shape, NPY_FLOAT32);
    e->losses = !out ? NULL : own ? memory_take(bytes) : DATA(out);
    int status = -1;
    if (stats && e->losses) {
        e->stats = DATA(stats), e->result = PyArray_DATA(out), e->result_half = type == NPY_FLOAT32 ? NO_HALF : e->half;
        status = entropy_run(e, entropy_part, (double)(e->rows * e->n) * 2.5);
        if (status == 0 && own) run_once(result_part, e, 0.5 * (double)e->rows);
    }
    if (e->losses && own) memory_give(e->losses, bytes);
    if (status == 0) return Py_BuildValue("NN", out, stats);
    Py_XDECREF(out);
    Py_XDECREF(stats);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

static PyObject *cross_entropy(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Entropy e = {0};
    const int wide = attr_flag(attrs, "wide");
    if ((e.reduction = old_reduction(attrs)) < 0 || wide < 0 || attr_idx(attrs, "ignore_index", &e.ignore) < 0) return NULL;
    if (!PyArray_CheckExact(args[1]) || PyArray_NDIM(ARRAY(args[1])) != 1) return REFUSE;
    PyObject *out = REFUSE, *x = take_logits(&e, args[0]);
    if (!x || x == REFUSE) return x;
    if (PyArray_DIM(ARRAY(args[1]), 0) == e.rows) {
        PyArrayObject *target = classes(args[1]);
        if (target) e.target = PyArray_DATA(target);
        out = target ? entropy_forward(&e, wide ? NPY_FLOAT32 : PyArray_TYPE(ARRAY(x))) : NULL;
        Py_XDECREF(target);
    }
    Py_DECREF(x);
    return out;
}

static void scale_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Entropy *e = what;
    *e->scale = *e->grads;
    if (e->reduction == 2) *e->scale /= (float)counted(e);
}

static PyObject *entropy_backward(Entropy *e, PyArrayObject *g, int type) {
    const npy_intp shape[2] = {e->rows, e->n};
    PyArrayObject *out = array_new(2, shape, type);
    if (!out) return NULL;
    if (!(e->scale = memory_take(sizeof(float)))) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    e->out = PyArray_DATA(out), e->grads = DATA(g);
    run_once(scale_part, e, 0.5 * (double)e->rows);
    if (entropy_run(e, entropy_grad_part, (double)(e->rows * e->n) * 1.5) < 0) Py_CLEAR(out);
    memory_give(e->scale, sizeof(float));
    return (PyObject *)out;
}

static PyObject *cross_entropy_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Entropy e = {0};
    if ((e.reduction = old_reduction(attrs)) < 0 || attr_idx(attrs, "ignore_index", &e.ignore) < 0) return NULL;
    if (!PyArray_CheckExact(args[0]) || !is_plain(args[2]) || !PyArray_CheckExact(args[3])) return REFUSE;
    PyObject *out = REFUSE, *x = take_logits(&e, args[1]);
    if (!x || x == REFUSE) return x;
    const int type = PyArray_TYPE(ARRAY(x)), of_loss = PyArray_TYPE(ARRAY(args[0]));
    if ((of_loss == NPY_FLOAT32 || of_loss == type) && PyArray_SIZE(ARRAY(args[0])) == (e.reduction ? 1 : e.rows)) {
        const int plain = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST;
        PyArrayObject *g = ARRAY(PyArray_FROM_OTF(args[0], NPY_FLOAT32, plain)), *target = classes(args[3]);
        if ((PyObject *)g != args[0]) repeat_cannot(); /* a copy */
        if (target) e.target = PyArray_DATA(target);
        e.stats = DATA(ARRAY(args[2]));
        out = g && target ? entropy_backward(&e, g, type) : NULL;
        Py_XDECREF(g);
        Py_XDECREF(target);
    }
    Py_DECREF(x);
    return out;
}

const Entry softmax_entries[] = {
    {"attention_weights", attention_weights, 1, .repeats = 1}, {"softmax", softmax, 1, .repeats = 1}, {"log_softmax", log_softmax, 1, .repeats = 1}, {"softmax_grad", softmax_grad, 1, .repeats = 1},
    {"log_softmax_grad", log_softmax_grad, 1, .repeats = 1}, {"cross_entropy_fused", cross_entropy, 1, .repeats = 1},
    {"cross_entropy_grad", cross_entropy_grad, 1, .repeats = 1}, {NULL, NULL},
};
