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

/* Whether whole numbers are from `low` to below `high`: of others NumPy says what is wrong. */
static int all_within(const int64_t *x, idx n, int64_t low, int64_t high) {
    for (idx i = 0; i < n; i++)
        if (x[i] < low || x[i] >= high) return 0;
    return 1;
}

/* Fills in what arguments from `first` on say; whether the call goes on. */
static int ctc_of(Call *c, Ctc *k, int first) {
    k->blank = idx_of(c, "blank");
    PyArrayObject *x = floats(c, first), *targets = typed(c, first + 1, NPY_INT64);
    if (c->ends || !need(c, PyArray_NDIM(x) == 3 && PyArray_NDIM(targets) == 2 && PyArray_SIZE(x) > 0)) return 0;
    k->t = PyArray_DIM(x, 0), k->n = PyArray_DIM(x, 1), k->c = PyArray_DIM(x, 2), k->s = 2 * PyArray_DIM(targets, 1) + 1;
    k->log_probs = DATA(x), k->targets = PyArray_DATA(targets);
    k->input_lengths = some_wholes(c, first + 2, k->n), k->target_lengths = some_wholes(c, first + 3, k->n);
    return need(c, !c->ends && PyArray_DIM(targets, 0) == k->n && k->blank >= 0 && k->blank < k->c &&
                       all_within(k->targets, PyArray_SIZE(targets), 0, k->c) && all_within(k->input_lengths, k->n, 0, k->t + 1) &&
                       all_within(k->target_lengths, k->n, 0, k->s / 2 + 1));
}

static void ctc_run(Call *c, Ctc *k, Part part) {
    if (c->ends) return;
    run_shared(part, k, k->n, 8.0 * (double)(k->t * k->n) * (double)k->s);
    if (k->failed) fail(c);
}

static void ctc_loss(Call *c) {
    Ctc k = {0};
    if (!ctc_of(c, &k, 0)) return;
    npy_intp shape[3] = {k.t, k.n, k.s};
    k.out = new_floats(c, 1, &shape[1]), k.to_alpha = new_floats(c, 3, shape);
    ctc_run(c, &k, ctc_part);
}

static void ctc_loss_grad(Call *c) {
    Ctc k = {0};
    if (!ctc_of(c, &k, 1)) return;
    k.gy = some_floats(c, 0, k.n), k.nll = some_floats(c, 5, k.n), k.alpha = some_floats(c, 6, k.t * k.n * k.s);
    k.out = new_like(c, ARRAY(c->args[1]));
    ctc_run(c, &k, ctc_grad_part);
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

/* (g,) x, target, weights: the loss of every sample, of `which` 1 its gradient. */
static void multi_margin_loss(Call *c) {
    const int grad = c->which;
    Margin m = {.margin = (float)double_of(c, "margin"), .square = idx_of(c, "p") == 2};
    PyArrayObject *x = floats(c, grad);
    if (!x || !need(c, PyArray_NDIM(x) == 2 && PyArray_SIZE(x) > 0)) return;
    m.x = DATA(x), m.n = PyArray_DIM(x, 0), m.c = PyArray_DIM(x, 1);
    m.target = some_wholes(c, grad + 1, m.n), m.weight = maybe_floats(c, grad + 2, m.c);
    if (grad) m.gy = some_floats(c, 0, m.n);
    if (c->ends || !need(c, all_within(m.target, m.n, 0, m.c))) return;
    m.out = grad ? new_like(c, x) : new_floats(c, 1, PyArray_DIMS(x));
    if (m.out) run_shared(margin_part, &m, m.n, (double)(m.n * m.c));
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

/* (g,) x, targets that end with -1: the loss of every sample, of `which` 1 its gradient. */
static void multilabel_margin_loss(Call *c) {
    const int grad = c->which;
    Labels m = {0};
    PyArrayObject *x = floats(c, grad);
    if (!x || !need(c, PyArray_NDIM(x) == 2 && PyArray_SIZE(x) > 0)) return;
    m.x = DATA(x), m.n = PyArray_DIM(x, 0), m.c = PyArray_DIM(x, 1), m.target = some_wholes(c, grad + 1, m.n * m.c);
    if (grad) m.gy = some_floats(c, 0, m.n);
    if (c->ends || !need(c, all_within(m.target, m.n * m.c, -1, m.c))) return;
    m.out = grad ? new_like(c, x) : new_floats(c, 1, PyArray_DIMS(x));
    if (m.out) run_shared(labels_part, &m, m.n, (double)(m.n * m.c) * (double)m.c * 0.2);
    if (m.failed) fail(c);
}

const Entry ctc_entries[] = {
    BOUND("ctc_loss", ctc_loss, .copies = COPIES), BOUND("ctc_loss_grad", ctc_loss_grad, .copies = COPIES),
    BOUND("multi_margin_loss", multi_margin_loss, .copies = COPIES), BOUND("multi_margin_loss_grad", multi_margin_loss, .which = 1, .copies = COPIES),
    BOUND("multilabel_margin_loss", multilabel_margin_loss, .copies = COPIES),
    BOUND("multilabel_margin_loss_grad", multilabel_margin_loss, .which = 1, .copies = COPIES), {NULL},
};
