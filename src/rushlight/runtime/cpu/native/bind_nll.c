/* nll_loss and nll_loss_grad: what a class's log probability costs, at every place of [n][classes][places]. */
#include "arrays.h"

typedef struct {
    const int64_t *target;
    const float *w; /* a factor for each class, or NULL */
    idx n, classes, places, ignore;
    int reduction; /* 0 none, 1 sum, 2 mean */
} Likely;

static int likely_attrs(Likely *q, PyObject *attrs) {
    PyObject *s = attr(attrs, "reduction");
    if (!s || attr_idx(attrs, "ignore_index", &q->ignore) < 0) return -1;
    q->reduction = PyUnicode_CompareWithASCIIString(s, "mean") == 0  ? 2
                   : PyUnicode_CompareWithASCIIString(s, "sum") == 0 ? 1
                                                                     : 0;
    return 0;
}

/* Whether targets and weights fit to [n][classes][places], and no target is out of bounds. */
static int likely_fits(Likely *q, int ndim, const npy_intp *shape, PyObject *target, PyObject *weight) {
    if (ndim < 2 || ndim > DIMS || !is_type(target, NPY_INT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(target))) return 0;
    q->n = shape[0], q->classes = shape[1], q->places = 1;
    for (int i = 2; i < ndim; i++) q->places *= shape[i];
    if (PyArray_SIZE(ARRAY(target)) != q->n * q->places || q->n * q->places == 0) return 0;
    if (weight != Py_None && !(is_plain(weight) && PyArray_SIZE(ARRAY(weight)) == q->classes)) return 0;
    q->w = weight == Py_None ? NULL : DATA(ARRAY(weight));
    q->target = PyArray_DATA(ARRAY(target));
    const idx count = q->n * q->places;
    for (idx i = 0; i < count; i++)
        if ((q->target[i] < 0 || q->target[i] >= q->classes) && q->target[i] != q->ignore) return 0;
    return 1;
}

#define LEVELS 8

/* A sum of `terms` numbers in float by levels, each of which takes what 2^bits of the one below it added up: the order
 * in which PyTorch adds losses, so that huge ones overflow where they do there. */
typedef struct {
    float levels[LEVELS];
    int bits;
} Cascade;

static Cascade cascade_for(idx terms) {
    Cascade c = {{0}, 4};
    int log = 0;
    while (((idx)1 << log) < terms) log++;
    if (log / LEVELS > c.bits) c.bits = log / LEVELS;
    return c;
}

/* Behind term `i`: full levels go up. */
static inline void carry(Cascade *c, idx i) {
    const idx mask = ((idx)1 << c->bits) - 1;
    for (int j = 0; j + 1 < LEVELS; j++) {
        if (i & mask << (j * c->bits)) break;
        c->levels[j + 1] += c->levels[j];
        c->levels[j] = 0.0f;
    }
}

static float cascade_sum(const Cascade *c) {
    float all = 0.0f;
    for (int j = 0; j < LEVELS; j++) all += c->levels[j];
    return all;
}

/* The sum of the losses, and of the weights that count. */
static float losses_added(const Likely *q, const float *x, float *total) {
    Cascade sum = cascade_for(q->n * q->places), weights = sum;
    idx i = 0, ignored = 0;
    for (idx n = 0; n < q->n; n++, x += q->classes * q->places)
        for (idx p = 0; p < q->places; p++, i++) {
            const int64_t t = q->target[i];
            if (t == q->ignore) {
                ignored++;
                continue;
            }
            const float w = q->w ? q->w[t] : 1.0f;
            sum.levels[0] -= x[t * q->places + p] * w;
            weights.levels[0] += w;
            carry(&sum, i);
            carry(&weights, i);
        }
    *total = q->w ? cascade_sum(&weights) : (float)(i - ignored);
    return cascade_sum(&sum);
}

static float losses_each(const Likely *q, const float *x, float *losses) {
    double total = 0;
    idx i = 0;
    for (idx n = 0; n < q->n; n++, x += q->classes * q->places)
        for (idx p = 0; p < q->places; p++, i++) {
            const int64_t t = q->target[i];
            const float w = t == q->ignore ? 0.0f : q->w ? q->w[t] : 1.0f;
            losses[i] = t == q->ignore ? 0.0f : -w * x[t * q->places + p];
            total += w;
        }
    return (float)total;
}

static PyObject *nll_loss(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Likely q = {0};
    if (likely_attrs(&q, attrs) < 0) return NULL;
    if (!is_plain(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    if (!likely_fits(&q, PyArray_NDIM(x), PyArray_DIMS(x), args[1], args[2])) return REFUSE;
    PyArrayObject *target = ARRAY(args[1]);
    /* In the order of the results: given memory is lent to whoever asks first for what looks like it. */
    PyArrayObject *out = array_new(q.reduction ? 0 : PyArray_NDIM(target), PyArray_DIMS(target), NPY_FLOAT32);
    PyArrayObject *counted = array_new(0, NULL, NPY_FLOAT32);
    if (!counted || !out) {
        Py_XDECREF(counted);
        Py_XDECREF(out);
        return NULL;
    }
    if (q.reduction) {
        *DATA(out) = losses_added(&q, DATA(x), DATA(counted));
        if (q.reduction == 2) *DATA(out) /= *DATA(counted);
    } else {
        *DATA(counted) = losses_each(&q, DATA(x), DATA(out));
    }
    return Py_BuildValue("NN", out, counted);
}

static PyObject *nll_loss_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Likely q = {0};
    PyObject *of = attr(attrs, "shape");
    if (!of || likely_attrs(&q, attrs) < 0) return NULL;
    if (!is_plain(args[0]) || !is_plain(args[3]) || !PyTuple_Check(of) || PyTuple_GET_SIZE(of) > DIMS) return REFUSE;
    npy_intp shape[DIMS];
    const int ndim = (int)PyTuple_GET_SIZE(of);
    if (attr_dims(attrs, "shape", (idx *)shape, ndim) < 0) return NULL;
    if (!likely_fits(&q, ndim, shape, args[1], args[2])) return REFUSE;
    if (PyArray_SIZE(ARRAY(args[0])) != (q.reduction ? 1 : q.n * q.places)) return REFUSE;
    PyArrayObject *out = array_new(ndim, shape, NPY_FLOAT32);
    if (!out) return NULL;
    memset(DATA(out), 0, (size_t)PyArray_NBYTES(out));
    const float *g = DATA(ARRAY(args[0])), total = *DATA(ARRAY(args[3]));
    float *to = DATA(out);
    idx i = 0;
    for (idx n = 0; n < q.n; n++, to += q.classes * q.places)
        for (idx p = 0; p < q.places; p++, i++) {
            const int64_t t = q.target[i];
            if (t == q.ignore) continue;
            const float each = -(q.w ? q.w[t] : 1.0f) * g[q.reduction ? 0 : i];
            to[t * q.places + p] = q.reduction == 2 ? each / total : each;
        }
    return (PyObject *)out;
}

const Entry nll_entries[] = {{"nll_loss", nll_loss, COPIES}, {"nll_loss_grad", nll_loss_grad, COPIES}, {NULL, NULL}};
