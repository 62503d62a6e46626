/* Losses of whole samples: connectionist temporal classification, and margins between classes. */
#include <math.h>

#include "arrays.h"
#include "codes.h"

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

static inline float log_sum2(float a, float b) {
    const float top = a > b ? a : b;
    if (a != a || b != b) return a + b;
    return isfinite(top) ? logf(expf(a - top) + expf(b - top)) + top : top;
}

/* The logarithms of sums of exponentials of three rows, of which the third counts where `third` says so; r: four rows' room. */
static void log_sums(const float *a, const float *b, const float *c, const char *third, float *out, idx n, float *r) {
    float *x = r, *y = r + n, *z = r + 2 * n, *top = r + 3 * n;
    for (idx i = 0; i < n; i++) {
        const float last = third[i] ? c[i] : -INFINITY, high = a[i] > b[i] ? a[i] : b[i], most = last > high ? last : high;
        top[i] = fabsf(most) < INFINITY ? most : 0.0f; /* where all are -inf, so is the logarithm of 0 */
        x[i] = a[i] - top[i], y[i] = b[i] - top[i], z[i] = last - top[i];
    }
    RL->unary(U_EXP, r, r, 3 * n);
    for (idx i = 0; i < n; i++) x[i] = (x[i] + y[i]) + z[i];
    RL->unary(U_LOG, x, x, n);
    for (idx i = 0; i < n; i++) out[i] = x[i] + top[i];
}

/* Room of a share: a row with two places of -inf on each side, four rows for sums, one more, and truth values. */
#define ROOM(s) ((size_t)(s) * 4 * 6 + 16 + (size_t)(s) + 8)

static void ctc_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Ctc *k = what;
    const idx frame = k->n * k->s, size = k->s;
    float *room = memory_take(ROOM(size));
    if (!room) {
        k->failed = 1;
        return;
    }
    float *before = room + 2, *rest = before + size;
    char *jump = (char *)(rest + 4 * size);
    before[-1] = before[-2] = -INFINITY;
    for (idx n = share(k->n, i, parts); n < share(k->n, i + 1, parts); n++) {
        const int64_t *targets = k->targets + n * (size >> 1);
        float *alpha = k->to_alpha + n * size;
        for (idx s = 0; s < size; s++) jump[s] = (char)jumps(k, targets, s);
        for (idx t = 0; t < k->t; t++, alpha += frame) {
            const float *probs = k->log_probs + (t * k->n + n) * k->c;
            if (t == 0)
                for (idx s = 0; s < size; s++) alpha[s] = s < 2 ? 0.0f : -INFINITY;
            else {
                memcpy(before, alpha - frame, (size_t)size * 4);
                log_sums(before, before - 1, before - 2, jump, alpha, size, rest);
            }
            for (idx s = 0; s < size; s++) alpha[s] += probs[label_of(k, targets, s)];
        }
        const idx frames = k->input_lengths[n], end = 2 * k->target_lengths[n];
        const float *last = k->to_alpha + ((frames > 0 ? frames - 1 : 0) * k->n + n) * size;
        const float total = log_sum2(last[end], end > 0 ? last[end - 1] : -INFINITY);
        k->out[n] = frames == 0 ? (end == 0 ? -0.0f : INFINITY) : -total;
    }
    memory_give(room, ROOM(size));
}

static void ctc_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Ctc *k = what;
    const idx size = k->s;
    float *room = memory_take(ROOM(size));
    if (!room) {
        k->failed = 1;
        return;
    }
    float *later = room, *rest = later + size + 2, *stay = rest + 4 * size; /* behind later: two places of -inf */
    char *jump = (char *)(stay + size);
    later[size] = later[size + 1] = -INFINITY;
    for (idx n = share(k->n, i, parts); n < share(k->n, i + 1, parts); n++) {
        const int64_t *targets = k->targets + n * (size >> 1);
        const idx frames = k->input_lengths[n], end = 2 * k->target_lengths[n];
        const float gy = k->gy[n], nll = k->nll[n], scale = isfinite(nll) ? gy : NAN;
        for (idx s = 0; s < size; s++) jump[s] = s + 2 < size && jumps(k, targets, s + 2);
        for (idx t = k->t - 1; t >= 0; t--) {
            const float *probs = k->log_probs + (t * k->n + n) * k->c, *alpha = k->alpha + (t * k->n + n) * size;
            float *out = k->out + (t * k->n + n) * k->c;
            if (t >= frames || gy == 0) {
                memset(out, 0, (size_t)k->c * 4);
                continue;
            }
            RL->unary(U_EXP, probs, out, k->c);
            if (t == frames - 1)
                for (idx s = 0; s < size; s++) stay[s] = s == end || s == end - 1 ? 0.0f : -INFINITY;
            else log_sums(later, later + 1, later + 2, jump, stay, size, rest);
            for (idx s = 0; s < size; s++) {
                later[s] = stay[s] + probs[label_of(k, targets, s)];
                stay[s] = alpha[s] + stay[s] + nll;
            }
            RL->unary(U_EXP, stay, stay, size);
            for (idx s = 0; s < size; s++)
                if (isfinite(stay[s])) out[label_of(k, targets, s)] -= stay[s];
            RL->binary_scalar(B_MUL, out, scale, out, k->c);
        }
    }
    memory_give(room, ROOM(size));
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

static double ctc_ns(const Ctc *k) { return 8.0 * (double)(k->t * k->n) * (double)k->s; }

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
    if (!k.failed) return Py_BuildValue("NN", out, alpha);
    Py_DECREF(out);
    Py_DECREF(alpha);
    return PyErr_NoMemory();
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

/* -- several right classes, each of which should beat every other one ------------------------------------------- */

typedef struct {
    const float *x, *gy;
    const int64_t *target;
    float *out;
    idx n, c;
    int failed;
} Labels;

#define CHAINS 16 /* sums side by side */

/* The sum of what is positive of from + x. */
static float gaps_of(float from, const float *x, idx n) {
    float chain[CHAINS] = {0}, sum = 0;
    idx c = 0;
    for (; c + CHAINS <= n; c += CHAINS)
        for (int j = 0; j < CHAINS; j++) chain[j] += from + x[c + j] > 0 ? from + x[c + j] : 0.0f;
    for (int j = 0; j < CHAINS; j++) sum += chain[j];
    for (; c < n; c++) sum += from + x[c] > 0 ? from + x[c] : 0.0f;
    return sum;
}

/* How many are, each counted in `counts`, too. */
static float beaten_by(float from, const float *x, float *counts, idx n) {
    float chain[CHAINS] = {0}, sum = 0;
    idx c = 0;
    for (; c + CHAINS <= n; c += CHAINS)
        for (int j = 0; j < CHAINS; j++) {
            const float one = from + x[c + j] > 0 ? 1.0f : 0.0f;
            counts[c + j] += one, chain[j] += one;
        }
    for (int j = 0; j < CHAINS; j++) sum += chain[j];
    for (; c < n; c++) {
        const float one = from + x[c] > 0 ? 1.0f : 0.0f;
        counts[c] += one, sum += one;
    }
    return sum;
}

static void labels_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    Labels *m = what;
    float *others = memory_take((size_t)m->c * 4); /* the row, with -inf for the right ones */
    if (!others) {
        m->failed = 1;
        return;
    }
    for (idx r = share(m->n, i, parts); r < share(m->n, i + 1, parts); r++) {
        const float *x = m->x + r * m->c, by = m->gy ? m->gy[r] / (float)m->c : 0.0f;
        const int64_t *target = m->target + r * m->c;
        float *out = m->gy ? m->out + r * m->c : NULL, sum = 0;
        memcpy(others, x, (size_t)m->c * 4);
        for (idx l = 0; l < m->c && target[l] >= 0; l++) others[target[l]] = -INFINITY;
        if (out) memset(out, 0, (size_t)m->c * 4);
        for (idx l = 0; l < m->c && target[l] >= 0; l++) {
            const float from = 1.0f - x[target[l]];
            if (out) out[target[l]] -= beaten_by(from, others, out, m->c);
            else sum += gaps_of(from, others, m->c);
        }
        if (out) RL->binary_scalar(B_MUL, out, by, out, m->c);
        else m->out[r] = sum / (float)m->c;
    }
    memory_give(others, (size_t)m->c * 4);
}

/* Fills in the shape; 0 where it is left to NumPy, as it is where a class does not exist. */
static int labels_of(Labels *m, PyObject *const *args) {
    if (!is_plain(args[0]) || !whole_numbers(args[1]) || PyArray_NDIM(ARRAY(args[0])) != 2) return 0;
    m->n = PyArray_DIM(ARRAY(args[0]), 0), m->c = PyArray_DIM(ARRAY(args[0]), 1);
    if (PyArray_SIZE(ARRAY(args[1])) != m->n * m->c || m->n * m->c == 0) return 0;
    m->x = DATA(ARRAY(args[0])), m->target = PyArray_DATA(ARRAY(args[1]));
    for (idx i = 0; i < m->n * m->c; i++)
        if (m->target[i] < -1 || m->target[i] >= m->c) return 0;
    return 1;
}

static PyObject *labels_run(Labels *m, PyArrayObject *out) {
    if (!out) return NULL;
    m->out = DATA(out);
    const double ns = (double)(m->n * m->c) * (double)m->c * 0.2;
    run_parts(labels_part, m, threads_parts(ns, m->n), ns);
    if (!m->failed) return (PyObject *)out;
    Py_DECREF(out);
    return PyErr_NoMemory();
}

static PyObject *multilabel_margin_loss(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Labels m = {0};
    if (!labels_of(&m, args)) return REFUSE;
    npy_intp n = m.n;
    return labels_run(&m, array_new(1, &n, NPY_FLOAT32));
}

static PyObject *multilabel_margin_loss_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Labels m = {0};
    if (!labels_of(&m, args + 1) || !is_plain(args[0]) || PyArray_SIZE(ARRAY(args[0])) != m.n) return REFUSE;
    m.gy = DATA(ARRAY(args[0]));
    return labels_run(&m, array_like(ARRAY(args[1])));
}

const Entry ctc_entries[] = {
    {"ctc_loss", ctc_loss, COPIES}, {"ctc_loss_grad", ctc_loss_grad, COPIES},
    {"multi_margin_loss", multi_margin_loss, COPIES}, {"multi_margin_loss_grad", multi_margin_loss_grad, COPIES},
    {"multilabel_margin_loss", multilabel_margin_loss, COPIES}, {"multilabel_margin_loss_grad", multilabel_margin_loss_grad, COPIES}, {NULL, NULL},
};
