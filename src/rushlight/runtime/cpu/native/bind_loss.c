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

/* Attributes and the two arrays: 1, 0 to refuse, -1 with an exception. */
static int take(Loss *q, PyObject *a, PyObject *b, PyObject *attrs) {
    PyObject *how = attr(attrs, "reduction");
    double beta = 1.0;
    if (!how || (q->which != L_LOGITS && attr_double(attrs, "beta", &beta) < 0)) return -1;
    q->reduction = PyUnicode_CompareWithASCIIString(how, "mean") == 0 ? 2 : PyUnicode_CompareWithASCIIString(how, "sum") == 0;
    q->beta = (float)beta;
    if (q->which == L_SMOOTH && beta == 0.0) q->which = L_ABS;
    if (!is_plain(a) || !is_plain(b) || !PyArray_SAMESHAPE(ARRAY(a), ARRAY(b))) return 0;
    q->x = DATA(ARRAY(a)), q->y = DATA(ARRAY(b)), q->n = PyArray_SIZE(ARRAY(a));
    return q->n > 0;
}

static double duration(const Loss *q) { return (double)q->n * (q->which == L_LOGITS ? 5.0 : 0.6); }

static PyObject *forward(PyObject *const *args, PyObject *attrs, int which) {
    Loss q = {.which = which};
    const int usual = take(&q, args[0], args[1], attrs);
    if (usual <= 0) return usual ? NULL : REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *out = array_new(q.reduction ? 0 : PyArray_NDIM(x), PyArray_DIMS(x), NPY_FLOAT32);
    if (!out) return NULL;
    const idx pieces = (q.n + PIECE - 1) / PIECE;
    if (!(q.sums = memory_take((size_t)pieces * 4))) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    q.out = DATA(out);
    run_parts(forward_part, &q, threads_parts(duration(&q), pieces), duration(&q));
    if (q.reduction) run_once(total_part, &q, (double)pieces);
    memory_give(q.sums, (size_t)pieces * 4);
    return (PyObject *)out;
}

static PyObject *backward(PyObject *const *args, PyObject *attrs, int which) {
    Loss q = {.which = which};
    const int usual = take(&q, args[1], args[2], attrs);
    if (usual <= 0) return usual ? NULL : REFUSE;
    if (!is_plain(args[0]) || PyArray_SIZE(ARRAY(args[0])) != (q.reduction ? 1 : q.n)) return REFUSE;
    q.g = DATA(ARRAY(args[0]));
    PyArrayObject *out = array_like(ARRAY(args[1]));
    if (!out) return NULL;
    q.out = DATA(out);
    run_parts(backward_part, &q, threads_parts(duration(&q), (q.n + PIECE - 1) / PIECE), duration(&q));
    return (PyObject *)out;
}

#define LOSS(name, code) \
    static PyObject *name(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return forward(a, attrs, code); } \
    static PyObject *name##_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return backward(a, attrs, code); }

LOSS(mse, L_SQUARE)
LOSS(l1, L_ABS)
LOSS(smooth_l1, L_SMOOTH)
LOSS(huber, L_HUBER)
LOSS(logits, L_LOGITS)

/* Without copies: losses of strided arrays keep their order of memory, which the generic bodies do. */
const Entry loss_entries[] = {
    {"mse_loss", mse, 0, .repeats = 1}, {"mse_loss_grad", mse_grad, COPIES, .repeats = 1}, {"l1_loss", l1, 0, .repeats = 1}, {"l1_loss_grad", l1_grad, COPIES, .repeats = 1},
    {"smooth_l1_loss", smooth_l1, 0, .repeats = 1}, {"smooth_l1_loss_grad", smooth_l1_grad, COPIES, .repeats = 1},
    {"huber_loss", huber, 0, .repeats = 1}, {"huber_loss_grad", huber_grad, COPIES, .repeats = 1},
    {"binary_cross_entropy_with_logits", logits, COPIES, .repeats = 1},
    {"binary_cross_entropy_with_logits_grad", logits_grad, COPIES, .repeats = 1}, {NULL, NULL},
};
