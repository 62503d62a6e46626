/* Losses of two arrays of one shape with their reduction in one pass, and their gradients. */
#include "arrays.h"

#include "codes.h"

#define PIECE 4096 /* losses that are added up together: the same pieces for any number of threads */

typedef struct {
    int which, reduction; /* reduction: 0 none, 1 sum, 2 mean */
    const float *x, *y, *g;
    float *out, *sums; /* sums: one for each piece */
    idx n;
    float beta;
} Loss;

/* A few numbers in the order in which NumPy adds them, and PyTorch: where partial sums leave the range is the same. */
static float sum_few(const float *x, idx n) {
    float r[8] = {0}, all = 0.0f;
    idx i = 0;
    if (n >= 8) {
        for (int j = 0; j < 8; j++) r[j] = x[j];
        for (i = 8; i + 8 <= n; i += 8)
            for (int j = 0; j < 8; j++) r[j] += x[i + j];
        all = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < n; i++) all += x[i];
    return all;
}

static void forward_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Loss *q = what;
    const idx pieces = (q->n + PIECE - 1) / PIECE;
    float held[PIECE];
    for (idx j = share(pieces, i, parts); j < share(pieces, i + 1, parts); j++) {
        const idx from = j * PIECE, n = q->n - from < PIECE ? q->n - from : PIECE;
        float *to = q->reduction ? held : q->out + from;
        RL->loss(q->which, q->beta, q->x + from, q->y + from, to, n);
        if (q->reduction) q->sums[j] = n <= 128 ? sum_few(held, n) : RL->sum(held, n);
    }
}

static void total_part(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Loss *q = what;
    const idx pieces = (q->n + PIECE - 1) / PIECE;
    double all = 0;
    for (idx i = 0; i < pieces; i++) all += q->sums[i];
    *q->out = (float)all;
    if (q->reduction == 2) *q->out /= (float)q->n;
}

static void backward_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Loss *q = what;
    const idx pieces = (q->n + PIECE - 1) / PIECE, from = share(pieces, i, parts) * PIECE;
    const idx end = share(pieces, i + 1, parts) * PIECE, n = (end < q->n ? end : q->n) - from;
    if (n <= 0) return;
    const float by = !q->reduction ? 1.0f : *q->g / (q->reduction == 2 ? (float)q->n : 1.0f);
    RL->loss_grad(q->which, q->beta, by, q->x + from, q->y + from, q->out + from, n);
    if (!q->reduction) RL->binary(B_MUL, q->out + from, q->g + from, q->out + from, n);
}

static double duration(const Loss *q) { return (double)q->n * (q->which == L_BINARY_CROSS_ENTROPY_WITH_LOGITS ? 5.0 : 0.6); }

/* Attributes and the two arrays, arguments i and i + 1; 0 where it ends. */
static int take(Call *c, Loss *q, int i) {
    q->which = c->which, q->reduction = reduction_of(c);
    const double beta = q->which == L_BINARY_CROSS_ENTROPY_WITH_LOGITS ? 1.0 : double_of(c, "beta");
    q->beta = (float)beta;
    if (q->which == L_SMOOTH_L1_LOSS && beta == 0.0) q->which = L_L1_LOSS;
    PyArrayObject *x = floats(c, i), *y = x ? floats_like(c, i + 1, x) : NULL;
    if (!y || !need(c, PyArray_SIZE(x) > 0)) return 0;
    q->x = DATA(x), q->y = DATA(y), q->n = PyArray_SIZE(x);
    return 1;
}

static void loss(Call *c) {
    Loss q = {0};
    if (!take(c, &q, 0)) return;
    const idx pieces = (q.n + PIECE - 1) / PIECE;
    q.out = q.reduction ? new_number(c) : new_like(c, ARRAY(c->args[0])), q.sums = room(c, (size_t)pieces * 4);
    if (c->ends) return;
    run_shared(forward_part, &q, pieces, duration(&q));
    if (q.reduction) run_once(total_part, &q, (double)pieces);
}

static void loss_grad(Call *c) {
    Loss q = {0};
    if (!take(c, &q, 1)) return;
    q.g = some_floats(c, 0, q.reduction ? 1 : q.n), q.out = new_like(c, ARRAY(c->args[1]));
    if (!c->ends) run_shared(backward_part, &q, (q.n + PIECE - 1) / PIECE, duration(&q));
}

/* Without copies: losses of strided arrays keep their order of memory, which the generic bodies do. */
#define LOSS(name, code, copies_) \
    BOUND(name, loss, .which = code, .copies = copies_, .repeats = 1), BOUND(name "_grad", loss_grad, .which = code, .copies = COPIES, .repeats = 1)
const Entry loss_entries[] = {
    LOSS("mse_loss", L_MSE_LOSS, 0), LOSS("l1_loss", L_L1_LOSS, 0), LOSS("smooth_l1_loss", L_SMOOTH_L1_LOSS, 0),
    LOSS("huber_loss", L_HUBER_LOSS, 0), LOSS("binary_cross_entropy_with_logits", L_BINARY_CROSS_ENTROPY_WITH_LOGITS, COPIES), {NULL},
};
