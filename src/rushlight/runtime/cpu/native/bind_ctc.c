/* Losses of whole samples: connectionist temporal classification, and margins between classes. */
#include <math.h>

#include "arrays.h"

/* -- CTC: the formulas stand in operators/loss/ctc.py ------------------------------------------------------ */

typedef struct {
    const float *log_probs, *nll, *alpha, *gy; /* [T][N][C], [N], [T][N][S], [N] */
    const int64_t *targets, *input_lengths, *target_lengths;
    float *out, *to_alpha; /* losses [N] and alpha; or the gradient [T][N][C] */
    idx t, n, c, s, blank; /* s: states, 2 L + 1 */
    int failed;
} Ctc;

static inline int64_t label_of(const Ctc *k, const int64_t *targets, idx s) { return s & 1 ? targets[s >> 1] : k->blank; }

/* Whether a state may be entered from two before. */
static inline int jumps(const Ctc *k, const int64_t *targets, idx s) {
    return s >= 2 && (s & 1) && targets[s >> 1] != k->blank && targets[s >> 1] != targets[(s >> 1) - 1];
}

static inline float log_sum3(float a, float b, float c) {
    const float top = a > b ? (a > c ? a : c) : (b > c ? b : c);
    if (a != a || b != b || c != c) return a + b + c;
    if (!isfinite(top)) return top;
    return logf(expf(a - top) + expf(b - top) + expf(c - top)) + top;
}

static void ctc_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Ctc *k = what;
    const idx frame = k->n * k->s;
    for (idx n = share(k->n, i, parts); n < share(k->n, i + 1, parts); n++) {
        const int64_t *targets = k->targets + n * (k->s >> 1);
        float *alpha = k->to_alpha + n * k->s;
        for (idx t = 0; t < k->t; t++, alpha += frame) {
            const float *probs = k->log_probs + (t * k->n + n) * k->c, *before = alpha - frame;
            for (idx s = 0; s < k->s; s++) {
                const float score = probs[label_of(k, targets, s)];
                if (t == 0) alpha[s] = s < 2 ? score : -INFINITY;
                else
                    alpha[s] = log_sum3(before[s], s > 0 ? before[s - 1] : -INFINITY,
                                        jumps(k, targets, s) ? before[s - 2] : -INFINITY) + score;
            }
        }
        const idx frames = k->input_lengths[n], end = 2 * k->target_lengths[n];
        const float *last = k->to_alpha + ((frames > 0 ? frames - 1 : 0) * k->n + n) * k->s;
        const float total = log_sum3(last[end], end > 0 ? last[end - 1] : -INFINITY, -INFINITY);
        k->out[n] = frames == 0 ? (end == 0 ? -0.0f : INFINITY) : -total;
    }
}

static void ctc_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Ctc *k = what;
    float *rows = memory_take((size_t)k->s * 8);
    if (!rows) {
        k->failed = 1;
        return;
    }
    for (idx n = share(k->n, i, parts); n < share(k->n, i + 1, parts); n++) {
        const int64_t *targets = k->targets + n * (k->s >> 1);
        const idx frames = k->input_lengths[n], end = 2 * k->target_lengths[n];
        const float gy = k->gy[n], nll = k->nll[n], scale = isfinite(nll) ? gy : NAN;
        float *later = rows, *beta = rows + k->s;
        for (idx t = k->t - 1; t >= 0; t--) {
            const float *probs = k->log_probs + (t * k->n + n) * k->c, *alpha = k->alpha + (t * k->n + n) * k->s;
            float *out = k->out + (t * k->n + n) * k->c;
            if (t >= frames || gy == 0) {
                memset(out, 0, (size_t)k->c * 4);
                continue;
            }
            for (idx c = 0; c < k->c; c++) out[c] = expf(probs[c]);
            for (idx s = 0; s < k->s; s++) {
                float stay;
                if (t == frames - 1) stay = s == end || (s == end - 1) ? 0.0f : -INFINITY;
                else
                    stay = log_sum3(later[s], s + 1 < k->s ? later[s + 1] : -INFINITY,
                                    s + 2 < k->s && jumps(k, targets, s + 2) ? later[s + 2] : -INFINITY);
                const int64_t label = label_of(k, targets, s);
                beta[s] = stay + probs[label];
                const float occupied = expf(alpha[s] + stay + nll);
                if (isfinite(occupied)) out[label] -= occupied;
            }
            for (idx c = 0; c < k->c; c++) out[c] *= scale;
            float *const swap = later;
            later = beta, beta = swap;
        }
    }
    memory_give(rows, (size_t)k->s * 8);
}

static int whole_numbers(PyObject *o) { return is_type(o, NPY_INT64) && PyArray_IS_C_CONTIGUOUS(ARRAY(o)); }

/* Fills in the shape; 0 where it is left to NumPy, as it is where a label or a length points outside. */
static int ctc_of(Ctc *k, PyObject *const *args, PyObject *attrs) {
    if (attr_idx(attrs, "blank", &k->blank) < 0) return -1;
    if (!is_plain(args[0]) || !whole_numbers(args[1]) || !whole_numbers(args[2]) || !whole_numbers(args[3])) return 0;
    PyArrayObject *x = ARRAY(args[0]), *targets = ARRAY(args[1]);
    if (PyArray_NDIM(x) != 3 || PyArray_NDIM(targets) != 2 || PyArray_SIZE(x) == 0) return 0;
    k->t = PyArray_DIM(x, 0), k->n = PyArray_DIM(x, 1), k->c = PyArray_DIM(x, 2), k->s = 2 * PyArray_DIM(targets, 1) + 1;
    if (PyArray_DIM(targets, 0) != k->n || PyArray_SIZE(ARRAY(args[2])) != k->n || PyArray_SIZE(ARRAY(args[3])) != k->n) return 0;
    k->log_probs = DATA(x), k->targets = PyArray_DATA(targets);
    k->input_lengths = PyArray_DATA(ARRAY(args[2])), k->target_lengths = PyArray_DATA(ARRAY(args[3]));
    for (idx i = 0; i < PyArray_SIZE(targets); i++)
        if (k->targets[i] < 0 || k->targets[i] >= k->c) return 0;
    for (idx i = 0; i < k->n; i++)
        if (k->input_lengths[i] < 0 || k->input_lengths[i] > k->t || k->target_lengths[i] < 0 || 2 * k->target_lengths[i] >= k->s)
            return 0;
    return k->blank >= 0 && k->blank < k->c;
}

static double ctc_ns(const Ctc *k) { return 25.0 * (double)(k->t * k->n) * (double)k->s; }

static PyObject *ctc_loss(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Ctc k = {0};
    const int fits = ctc_of(&k, args, attrs);
    if (fits <= 0) return fits ? NULL : REFUSE;
    npy_intp shape[3] = {k.t, k.n, k.s};
    PyArrayObject *out = array_new(1, &shape[1], NPY_FLOAT32), *alpha = out ? array_new(3, shape, NPY_FLOAT32) : NULL;
    if (!alpha) {
        Py_XDECREF(out);
        return NULL;
    }
    k.out = DATA(out), k.to_alpha = DATA(alpha);
    run_parts(ctc_part, &k, threads_parts(ctc_ns(&k), k.n), ctc_ns(&k));
    return Py_BuildValue("NN", out, alpha);
}

static PyObject *ctc_loss_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Ctc k = {0};
    const int fits = ctc_of(&k, args + 1, attrs);
    if (fits <= 0) return fits ? NULL : REFUSE;
    if (!is_plain(args[0]) || !is_plain(args[5]) || !is_plain(args[6]) || PyArray_SIZE(ARRAY(args[0])) != k.n ||
        PyArray_SIZE(ARRAY(args[5])) != k.n || PyArray_SIZE(ARRAY(args[6])) != k.t * k.n * k.s)
        return REFUSE;
    PyArrayObject *out = array_like(ARRAY(args[1]));
    if (!out) return NULL;
    k.out = DATA(out), k.gy = DATA(ARRAY(args[0])), k.nll = DATA(ARRAY(args[5])), k.alpha = DATA(ARRAY(args[6]));
    run_parts(ctc_grad_part, &k, threads_parts(ctc_ns(&k), k.n), ctc_ns(&k));
    if (!k.failed) return (PyObject *)out;
    Py_DECREF(out);
    return PyErr_NoMemory();
}

/* -- margins: one right class, which should beat every other ------------------------------------------------ */

typedef struct {
    const float *x, *weight, *gy;
    const int64_t *target;
    float *out;
    idx n, c;
    float margin;
    int square;
} Margin;

static void margin_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Margin *m = what;
    for (idx r = share(m->n, i, parts); r < share(m->n, i + 1, parts); r++) {
        const idx t = m->target[r];
        const float *x = m->x + r * m->c, from = m->margin - x[t], factor = m->weight ? m->weight[t] : 1.0f;
        float *out = m->gy ? m->out + r * m->c : NULL, sum = 0;
        const float by = m->gy ? m->gy[r] / (float)m->c : 0.0f; /* first: a mean keeps squares in range */
        for (idx c = 0; c < m->c; c++) {
            const float gap = from + x[c];
            const int counts = gap > 0 && c != t;
            const float slope = (m->square ? 2 * by * gap : by) * factor, term = (m->square ? gap * gap : gap) * factor;
            sum += counts ? (out ? slope : term) : 0.0f;
            if (out) out[c] = counts ? slope : 0.0f;
        }
        if (out) out[t] = -sum;
        else m->out[r] = sum / (float)m->c;
    }
}

static int margin_of(Margin *m, PyObject *const *args, PyObject *attrs) {
    double margin;
    idx p;
    if (attr_double(attrs, "margin", &margin) < 0 || attr_idx(attrs, "p", &p) < 0) return -1;
    if (!is_plain(args[0]) || !whole_numbers(args[1]) || PyArray_NDIM(ARRAY(args[0])) != 2) return 0;
    PyArrayObject *x = ARRAY(args[0]);
    m->n = PyArray_DIM(x, 0), m->c = PyArray_DIM(x, 1), m->margin = (float)margin, m->square = p == 2;
    if (PyArray_SIZE(ARRAY(args[1])) != m->n || PyArray_SIZE(x) == 0) return 0;
    if (args[2] != Py_None && (!is_plain(args[2]) || PyArray_SIZE(ARRAY(args[2])) != m->c)) return 0;
    m->x = DATA(x), m->target = PyArray_DATA(ARRAY(args[1])), m->weight = args[2] == Py_None ? NULL : DATA(ARRAY(args[2]));
    for (idx i = 0; i < m->n; i++)
        if (m->target[i] < 0 || m->target[i] >= m->c) return 0;
    return 1;
}

static PyObject *margin_run(Margin *m, PyArrayObject *out) {
    if (!out) return NULL;
    m->out = DATA(out);
    const double ns = (double)(m->n * m->c);
    run_parts(margin_part, m, threads_parts(ns, m->n), ns);
    return (PyObject *)out;
}

static PyObject *multi_margin_loss(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Margin m = {0};
    const int fits = margin_of(&m, args, attrs);
    if (fits <= 0) return fits ? NULL : REFUSE;
    npy_intp n = m.n;
    return margin_run(&m, array_new(1, &n, NPY_FLOAT32));
}

static PyObject *multi_margin_loss_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Margin m = {0};
    const int fits = margin_of(&m, args + 1, attrs);
    if (fits <= 0) return fits ? NULL : REFUSE;
    if (!is_plain(args[0]) || PyArray_SIZE(ARRAY(args[0])) != m.n) return REFUSE;
    m.gy = DATA(ARRAY(args[0]));
    return margin_run(&m, array_like(ARRAY(args[1])));
}

const Entry ctc_entries[] = {
    {"ctc_loss", ctc_loss, COPIES}, {"ctc_loss_grad", ctc_loss_grad, COPIES},
    {"multi_margin_loss", multi_margin_loss, COPIES}, {"multi_margin_loss_grad", multi_margin_loss_grad, COPIES}, {NULL, NULL},
};
