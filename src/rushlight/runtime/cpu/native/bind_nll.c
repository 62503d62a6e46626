/* nll_loss and nll_loss_grad: what a class's log probability costs, at every place of [n][classes][places]. */
#include "arrays.h"

typedef struct {
    const int64_t *target;
    const float *w; /* a factor for each class, or NULL */
    idx n, classes, places, ignore;
    int reduction; /* 0 none, 1 sum, 2 mean */
} Likely;

/* Attributes, and arguments 1 and 2, targets and weights, which fit to [n][classes][places]; no target is out of bounds. */
static int likely(Call *c, Likely *q, int ndim, const npy_intp *shape) {
    q->ignore = idx_of(c, "ignore_index"), q->reduction = reduction_of(c);
    PyArrayObject *target = typed(c, 1, NPY_INT64);
    if (!target || !need(c, ndim >= 2 && ndim <= DIMS)) return 0;
    q->n = shape[0], q->classes = shape[1], q->places = 1;
    for (int i = 2; i < ndim; i++) q->places *= shape[i];
    const idx count = q->n * q->places;
    q->w = maybe_floats(c, 2, q->classes), q->target = PyArray_DATA(target);
    if (!need(c, PyArray_SIZE(target) == count && count > 0)) return 0;
    for (idx i = 0; i < count; i++)
        if (q->target[i] != q->ignore && !need(c, q->target[i] >= 0 && q->target[i] < q->classes)) return 0;
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

static void nll_loss(Call *c) {
    Likely q = {0};
    PyArrayObject *x = floats(c, 0);
    if (!x || !likely(c, &q, PyArray_NDIM(x), PyArray_DIMS(x))) return;
    float *out = q.reduction ? new_number(c) : new_like(c, ARRAY(c->args[1])), *counted = new_number(c);
    if (c->ends) return;
    if (!q.reduction) *counted = losses_each(&q, DATA(x), out);
    else *out = losses_added(&q, DATA(x), counted);
    if (q.reduction == 2) *out /= *counted;
}

static void nll_loss_grad(Call *c) {
    Likely q = {0};
    npy_intp shape[DIMS];
    PyObject *of = attr_of(c, "shape");
    if (!of || !need(c, PyTuple_Check(of) && PyTuple_GET_SIZE(of) <= DIMS)) return;
    const int ndim = (int)PyTuple_GET_SIZE(of);
    PyArrayObject *total = floats(c, 3);
    if (!dims_of(c, "shape", shape, ndim) || !likely(c, &q, ndim, shape)) return;
    const float *g = some_floats(c, 0, q.reduction ? 1 : q.n * q.places);
    float *to = new_floats(c, ndim, shape);
    if (c->ends) return;
    memset(to, 0, (size_t)(q.n * q.classes * q.places) * 4);
    idx i = 0;
    for (idx n = 0; n < q.n; n++, to += q.classes * q.places)
        for (idx p = 0; p < q.places; p++, i++) {
            const int64_t t = q.target[i];
            if (t == q.ignore) continue;
            const float each = -(q.w ? q.w[t] : 1.0f) * g[q.reduction ? 0 : i];
            to[t * q.places + p] = q.reduction == 2 ? each / *DATA(total) : each;
        }
}

const Entry nll_entries[] = {BOUND("nll_loss", nll_loss, .copies = COPIES), BOUND("nll_loss_grad", nll_loss_grad, .copies = COPIES), {NULL}};
