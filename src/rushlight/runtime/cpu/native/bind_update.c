/* sgd_update, adam_update, rmsprop_update, adagrad_update: all parameters of a group as one stretch of floats, cut into shares. */
#include "arrays.h"

#include "codes.h"

typedef struct {
    float *p, *s[3];
    const float *g;
    idx n, at;  /* floats, and where the stretch begins */
    float h[8]; /* what the loops compute with, made of the parameter's numbers */
    int flags;
} Piece;

typedef struct {
    Piece *pieces;
    idx count, total;
    int flags;
    enum { SGD, ADAM, RMSPROP, ADAGRAD } rule;
} Update;

static void update_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Update *u = what;
    const idx blocks = (u->total + 63) / 64;
    const idx from = share(blocks, i, parts) * 64, to = share(blocks, i + 1, parts) * 64;
    for (idx j = 0; j < u->count; j++) {
        const Piece *q = &u->pieces[j];
        const idx a = from > q->at ? from - q->at : 0, b = to - q->at < q->n ? to - q->at : q->n;
        if (a >= b) continue;
        float *s[3];
        for (int k = 0; k < 3; k++) s[k] = q->s[k] ? q->s[k] + a : NULL;
        switch (u->rule) {
        case SGD: RL->sgd(q->p + a, q->g + a, s[0], b - a, q->h, q->flags); break;
        case ADAM: RL->adam(q->p + a, q->g + a, s[0], s[1], s[2], b - a, q->h, q->flags); break;
        case RMSPROP: RL->rmsprop(q->p + a, q->g + a, s[0], s[1], s[2], b - a, q->h, q->flags); break;
        case ADAGRAD: RL->adagrad(q->p + a, q->g + a, s[0], b - a, q->h, q->flags); break;
        }
    }
}

/* The group's arrays (parameters, gradients, states) as pieces; 0 where it ends. */
static int pieces_of(Call *c, Update *u, idx n, int states) {
    PyObject *const *args = c->args;
    if (!need(c, n > 0 && c->count == 1 + n * (2 + states))) return 0;
    for (Py_ssize_t i = 1; i < c->count; i++) {
        PyArrayObject *a = ARRAY(args[i]), *p = ARRAY(args[1 + (i - 1) % n]);
        if (!need(c, is_float(args[i]) && PyArray_SAMESHAPE(a, p))) return 0; /* the NumPy body says what is wrong */
        if (!need(c, (PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(p)) || (is_channels_last(a) && is_channels_last(p)))) return 0;
    }
    Piece *q = u->pieces = room(c, (size_t)n * sizeof *q);
    if (!q) return 0;
    memset(q, 0, (size_t)n * sizeof *q);
    for (idx i = 0; i < n; i++, q++) {
        q->p = DATA(ARRAY(args[1 + i])), q->g = DATA(ARRAY(args[1 + n + i]));
        for (int k = 0; k < states; k++) q->s[k] = DATA(ARRAY(args[1 + (2 + k) * n + i]));
        q->n = PyArray_SIZE(ARRAY(args[1 + i])), q->at = u->total;
        u->total += (q->n + 63) / 64 * 64; /* every piece begins at a block, so that none is cut twice */
    }
    u->count = n;
    return 1;
}

/* Of a parameter's numbers: what the loops take. */
typedef void (*Fill)(const double *h, float *to);

/* With the numbers of argument 0, float64: one row of `count` for all parameters, or a row for each. */
static void update_run(Call *c, Update *u, int count, Fill fill, double ns_each) {
    PyArrayObject *numbers = typed(c, 0, NPY_FLOAT64);
    if (!numbers) return;
    const int rows = PyArray_NDIM(numbers) == 2;
    if (!need(c, PyArray_SIZE(numbers) == (rows ? u->count * count : count))) return;
    for (idx i = 0; i < u->count; i++) {
        const double *h = (const double *)PyArray_DATA(numbers) + (rows ? i * count : 0);
        u->pieces[i].flags = u->flags | (h[1] != 0 ? DECAYS : 0); /* every rule's second number is the decay */
        fill(h, u->pieces[i].h);
    }
    run_shared(update_part, u, u->total / 4096 + 1, ns_each * (double)u->total);
}

static int flag_bit(Call *c, const char *name, int bit) { return flag_of(c, name) ? bit : 0; }

static void fill_sgd(const double *h, float *to) { /* lr, decay, momentum, dampening */
    to[0] = (float)h[0], to[1] = (float)h[1], to[2] = (float)h[2], to[3] = (float)(1.0 - h[3]);
}

static void sgd(Call *c) {
    const idx n = idx_of(c, "n");
    Update u = {.rule = SGD};
    u.flags = flag_bit(c, "nesterov", NESTEROV) | flag_bit(c, "maximize", MAXIMIZE) | flag_bit(c, "first", FIRST);
    if (pieces_of(c, &u, n, c->count == 1 + 3 * n)) update_run(c, &u, 4, fill_sgd, 0.7);
}

/* lr, decay, beta1, beta2, eps, 1 - beta1^t, sqrt(1 - beta2^t) */
static void fill_adam(const double *h, float *to) {
    to[0] = (float)(1.0 - h[0] * h[1]);
    to[1] = (float)h[1];
    to[2] = (float)(1.0 - h[2]);
    to[3] = (float)h[3];
    to[4] = (float)(1.0 - h[3]);
    to[5] = (float)(h[0] / h[5]);
    to[6] = (float)(1.0 / h[6]);
    to[7] = (float)h[4];
}

static void adam(Call *c) {
    const idx n = idx_of(c, "n");
    Update u = {.rule = ADAM, .flags = flag_bit(c, "decoupled", DECOUPLED) | flag_bit(c, "maximize", MAXIMIZE)};
    if (pieces_of(c, &u, n, c->count == 1 + 5 * n ? 3 : 2)) update_run(c, &u, 7, fill_adam, 1.6);
}

static void fill_rmsprop(const double *h, float *to) { /* lr, decay, alpha, eps, momentum */
    to[0] = (float)h[0], to[1] = (float)h[1], to[2] = (float)h[2], to[3] = (float)(1.0 - h[2]);
    to[4] = (float)h[3], to[5] = (float)h[4];
}

static void rmsprop(Call *c) {
    const idx n = idx_of(c, "n");
    const int centered = flag_of(c, "centered"), momentum = flag_of(c, "momentum");
    Update u = {.rule = RMSPROP, .flags = flag_bit(c, "maximize", MAXIMIZE)};
    if (!pieces_of(c, &u, n, 1 + centered + momentum)) return;
    if (momentum && !centered) /* the kernel takes the mean gradient second, the buffer third */
        for (idx i = 0; i < n; i++) u.pieces[i].s[2] = u.pieces[i].s[1], u.pieces[i].s[1] = NULL;
    update_run(c, &u, 5, fill_rmsprop, 1.5);
}

static void fill_adagrad(const double *h, float *to) { /* lr, decay, eps */
    for (int i = 0; i < 3; i++) to[i] = (float)h[i];
}

static void adagrad(Call *c) {
    Update u = {.rule = ADAGRAD, .flags = flag_bit(c, "maximize", MAXIMIZE)};
    if (pieces_of(c, &u, idx_of(c, "n"), 1)) update_run(c, &u, 3, fill_adagrad, 1.2);
}

const Entry update_entries[] = {
    BOUND("sgd_update", sgd), BOUND("adam_update", adam), BOUND("rmsprop_update", rmsprop), BOUND("adagrad_update", adagrad), {NULL},
};
