/* softmax, log_softmax, their gradients, attention_weights, and cross entropy: rows of a matrix shared out. */
#include "arrays.h"

typedef struct {
    const float *x, *y;
    float *out;
    idx rows, n;
    int log, grad;
} Soft;

static void soft_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Soft *s = what;
    const idx from = share(s->rows, i, parts), rows = share(s->rows, i + 1, parts) - from, at = from * s->n;
    if (s->grad) RL->softmax_grad(s->x + at, s->y + at, s->out + at, rows, s->n, s->log);
    else RL->softmax(s->x + at, s->out + at, rows, s->n, s->log, NULL, NULL);
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

/* Only along the last dim, where rows lie in memory. */
static PyObject *soft(PyObject *const *args, PyObject *attrs, int log, int grad) {
    idx dim;
    if (attr_idx(attrs, "dim", &dim) < 0) return NULL;
    if (!is_plain(args[0]) || (grad && !is_plain(args[1]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x);
    if (ndim < 1 || dim != ndim - 1 || PyArray_SIZE(x) == 0) return REFUSE;
    if (grad && PyArray_SIZE(ARRAY(args[1])) != PyArray_SIZE(x)) return REFUSE;
    PyArrayObject *out = array_like(x);
    if (!out) return NULL;
    Soft s = {.x = DATA(x), .y = grad ? DATA(ARRAY(args[1])) : NULL, .out = DATA(out), .log = log, .grad = grad};
    s.n = PyArray_DIM(x, ndim - 1);
    s.rows = PyArray_SIZE(x) / s.n;
    const double ns = (double)PyArray_SIZE(x) * 2.0;
    run_parts(soft_part, &s, threads_parts(ns, s.rows), ns);
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
    const float *x;
    float *probs, *losses;
    const int64_t *target;
    idx rows, n, ignore;
    float scale;        /* of the gradient, the same for every row, or ... */
    const float *grads; /* ... one for each */
} Entropy;

/* Class indices as int64, C order: a new reference. */
static PyArrayObject *classes(PyObject *o) {
    if (is_type(o, NPY_INT64) && PyArray_IS_C_CONTIGUOUS(ARRAY(o))) return ARRAY(Py_NewRef(o));
    return ARRAY(PyArray_FROM_OTF(o, NPY_INT64, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_FORCECAST));
}

static void entropy_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Entropy *e = what;
    const idx end = share(e->rows, i + 1, parts);
    float tops[64], sums[64];
    for (idx from = share(e->rows, i, parts); from < end; from += 64) {
        const idx rows = end - from < 64 ? end - from : 64, at = from * e->n;
        RL->softmax(e->x + at, e->probs + at, rows, e->n, 0, tops, sums);
        for (idx r = 0; r < rows; r++) {
            const int64_t t = e->target[from + r];
            e->losses[from + r] = t == e->ignore ? 0.0f : logf(sums[r]) - (e->x[at + r * e->n + t] - tops[r]);
        }
    }
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

static int reduction_of(PyObject *attrs) { /* 0 none, 1 sum, 2 mean */
    PyObject *s = attr(attrs, "reduction");
    if (!s) return -1;
    if (PyUnicode_CompareWithASCIIString(s, "mean") == 0) return 2;
    return PyUnicode_CompareWithASCIIString(s, "sum") == 0 ? 1 : 0;
}

static PyObject *entropy_result(Entropy *e, PyArrayObject *losses, PyArrayObject *probs, int reduction) {
    const double ns = (double)(e->rows * e->n) * 3.0;
    run_parts(entropy_part, e, threads_parts(ns, e->rows), ns);
    if (reduction) {
        PyArrayObject *one = array_new(0, NULL, NPY_FLOAT32);
        if (!one) return NULL;
        const float sum = RL->sum(e->losses, e->rows);
        *DATA(one) = reduction == 2 ? sum / (float)counted(e) : sum;
        return Py_BuildValue("NO", one, probs);
    }
    return Py_BuildValue("OO", losses, probs);
}

static PyObject *cross_entropy(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Entropy e = {0};
    const int reduction = reduction_of(attrs);
    if (reduction < 0 || attr_idx(attrs, "ignore_index", &e.ignore) < 0) return NULL;
    if (!is_plain(args[0]) || !PyArray_CheckExact(args[1])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    if (PyArray_NDIM(x) != 2 || PyArray_SIZE(x) == 0 || PyArray_NDIM(ARRAY(args[1])) != 1) return REFUSE;
    e.x = DATA(x), e.rows = PyArray_DIM(x, 0), e.n = PyArray_DIM(x, 1);
    if (PyArray_DIM(ARRAY(args[1]), 0) != e.rows) return REFUSE;
    PyArrayObject *target = classes(args[1]);
    if (!target) return NULL;
    e.target = PyArray_DATA(target);
    PyObject *out = NULL;
    const idx bad = out_of_bounds(&e);
    if (bad >= 0) {
        PyErr_Format(PyExc_IndexError, "Target %lld is out of bounds.", (long long)e.target[bad]);
    } else {
        PyArrayObject *losses = array_new(1, PyArray_DIMS(x), NPY_FLOAT32), *probs = array_like(x);
        if (losses && probs) {
            e.losses = DATA(losses), e.probs = DATA(probs);
            out = entropy_result(&e, losses, probs, reduction);
        }
        Py_XDECREF(losses);
        Py_XDECREF(probs);
    }
    Py_DECREF(target);
    return out;
}

static void entropy_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Entropy *e = what;
    for (idx r = share(e->rows, i, parts); r < share(e->rows, i + 1, parts); r++) {
        const int64_t t = e->target[r];
        const float g = t == e->ignore ? 0.0f : e->grads ? e->grads[r] : e->scale;
        const float *p = e->x + r * e->n;
        float *out = e->probs + r * e->n;
        for (idx j = 0; j < e->n; j++) out[j] = p[j] * g;
        if (t != e->ignore) out[t] -= g;
    }
}

static PyObject *cross_entropy_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Entropy e = {0};
    const int reduction = reduction_of(attrs);
    if (reduction < 0 || attr_idx(attrs, "ignore_index", &e.ignore) < 0) return NULL;
    if (!is_plain(args[0]) || !is_plain(args[1]) || !PyArray_CheckExact(args[2])) return REFUSE;
    PyArrayObject *g = ARRAY(args[0]), *probs = ARRAY(args[1]);
    e.x = DATA(probs), e.rows = PyArray_DIM(probs, 0), e.n = PyArray_DIM(probs, 1);
    if (PyArray_SIZE(g) != (reduction ? 1 : e.rows) || PyArray_SIZE(probs) == 0) return REFUSE;
    PyArrayObject *target = classes(args[2]);
    if (!target) return NULL;
    e.target = PyArray_DATA(target);
    PyArrayObject *out = array_like(probs);
    if (out) {
        e.probs = DATA(out);
        if (!reduction) e.grads = DATA(g);
        e.scale = *DATA(g);
        if (reduction == 2) e.scale /= (float)counted(&e);
        const double ns = (double)(e.rows * e.n) * 0.6;
        run_parts(entropy_grad_part, &e, threads_parts(ns, e.rows), ns);
    }
    Py_DECREF(target);
    return (PyObject *)out;
}

const Entry softmax_entries[] = {
    {"attention_weights", attention_weights, 1}, {"softmax", softmax, 1}, {"log_softmax", log_softmax, 1}, {"softmax_grad", softmax_grad, 1},
    {"log_softmax_grad", log_softmax_grad, 1}, {"cross_entropy_fused", cross_entropy, 1},
    {"cross_entropy_grad", cross_entropy_grad, 1}, {NULL, NULL},
};
