/* sgd_update, adam_update, rmsprop_update, adagrad_update: all parameters of a group as one stretch of floats, cut into shares. */
#include "arrays.h"

#include "codes.h"

typedef struct {
    float *p, *s[3];
    const float *g;
    idx n, at; /* floats, and where the stretch begins */
} Piece;

typedef struct {
    const Piece *pieces;
    idx count, total;
    float h[8];
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
        case SGD: RL->sgd(q->p + a, q->g + a, s[0], b - a, u->h, u->flags); break;
        case ADAM: RL->adam(q->p + a, q->g + a, s[0], s[1], s[2], b - a, u->h, u->flags); break;
        case RMSPROP: RL->rmsprop(q->p + a, q->g + a, s[0], s[1], s[2], b - a, u->h, u->flags); break;
        case ADAGRAD: RL->adagrad(q->p + a, q->g + a, s[0], b - a, u->h, u->flags); break;
        }
    }
}

/* The group's arrays (parameters, gradients, states) as pieces; NULL without an exception to refuse. */
static Piece *pieces_of(PyObject *const *args, Py_ssize_t nargs, idx n, int states, Update *u) {
    if (n <= 0 || nargs != 1 + n * (2 + states)) return NULL;
    for (Py_ssize_t i = 1; i < nargs; i++) {
        if (!is_float(args[i])) return NULL;
        PyArrayObject *a = ARRAY(args[i]), *p = ARRAY(args[1 + (i - 1) % n]);
        if (PyArray_SIZE(a) != PyArray_SIZE(p)) return NULL;
        const int alike = (PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(p)) ||
                          (is_channels_last(a) && is_channels_last(p));
        if (!alike) return NULL;
    }
    Piece *pieces = PyMem_RawCalloc((size_t)n, sizeof *pieces);
    if (!pieces) return NULL;
    u->total = 0;
    for (idx i = 0; i < n; i++) {
        Piece *q = &pieces[i];
        q->p = DATA(ARRAY(args[1 + i]));
        q->g = DATA(ARRAY(args[1 + n + i]));
        for (int k = 0; k < states; k++) q->s[k] = DATA(ARRAY(args[1 + (2 + k) * n + i]));
        q->n = PyArray_SIZE(ARRAY(args[1 + i]));
        q->at = u->total;
        u->total += (q->n + 63) / 64 * 64; /* every piece begins at a block, so that none is cut twice */
    }
    u->pieces = pieces;
    u->count = n;
    return pieces;
}

static PyObject *update_run(Update *u, Piece *pieces, double ns_each) {
    const double ns = ns_each * (double)u->total;
    run_parts(update_part, u, threads_parts(ns, u->total / 4096 + 1), ns);
    PyMem_RawFree(pieces);
    return PyTuple_New(0);
}

/* The group's numbers, float64. */
static const double *numbers(PyObject *o, idx count) {
    if (!is_type(o, NPY_FLOAT64) || PyArray_SIZE(ARRAY(o)) != count || !PyArray_IS_C_CONTIGUOUS(ARRAY(o)))
        return NULL;
    return PyArray_DATA(ARRAY(o));
}

static int flags_of(PyObject *attrs, const char *first, int bit, const char *second, int bit2) {
    const int a = attr_flag(attrs, first), b = attr_flag(attrs, second);
    return a < 0 || b < 0 ? -1 : (a ? bit : 0) | (b ? bit2 : 0);
}

static PyObject *sgd(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = SGD};
    idx n;
    const int first = attr_flag(attrs, "first");
    if (attr_idx(attrs, "n", &n) < 0 || first < 0) return NULL;
    u.flags = flags_of(attrs, "nesterov", NESTEROV, "maximize", MAXIMIZE);
    if (u.flags < 0) return NULL;
    if (first) u.flags |= FIRST;
    const double *h = numbers(args[0], 4);
    if (!h) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, nargs == 1 + 3 * n ? 1 : 0, &u);
    if (!pieces) return REFUSE;
    u.h[0] = (float)h[0], u.h[1] = (float)h[1], u.h[2] = (float)h[2], u.h[3] = (float)(1.0 - h[3]);
    return update_run(&u, pieces, 0.7);
}

static PyObject *adam(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = ADAM};
    idx n;
    if (attr_idx(attrs, "n", &n) < 0) return NULL;
    u.flags = flags_of(attrs, "decoupled", DECOUPLED, "maximize", MAXIMIZE);
    if (u.flags < 0) return NULL;
    const double *h = numbers(args[0], 7); /* lr, decay, beta1, beta2, eps, 1 - beta1^t, sqrt(1 - beta2^t) */
    if (!h) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, nargs == 1 + 5 * n ? 3 : 2, &u);
    if (!pieces) return REFUSE;
    const int decoupled = u.flags & DECOUPLED;
    u.h[0] = (float)(1.0 - h[0] * h[1]);
    u.h[1] = decoupled ? 0.0f : (float)h[1];
    u.h[2] = (float)(1.0 - h[2]);
    u.h[3] = (float)h[3];
    u.h[4] = (float)(1.0 - h[3]);
    u.h[5] = (float)(h[0] / h[5]);
    u.h[6] = (float)(1.0 / h[6]);
    u.h[7] = (float)h[4];
    return update_run(&u, pieces, 1.6);
}

static PyObject *rmsprop(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = RMSPROP};
    idx n;
    const int centered = attr_flag(attrs, "centered"), momentum = attr_flag(attrs, "momentum");
    const int maximize = attr_flag(attrs, "maximize");
    if (attr_idx(attrs, "n", &n) < 0 || centered < 0 || momentum < 0 || maximize < 0) return NULL;
    u.flags = maximize ? MAXIMIZE : 0;
    const double *h = numbers(args[0], 5); /* lr, decay, alpha, eps, momentum */
    if (!h) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, 1 + centered + momentum, &u);
    if (!pieces) return REFUSE;
    if (momentum && !centered) /* the kernel takes the mean gradient second, the buffer third */
        for (idx i = 0; i < n; i++) pieces[i].s[2] = pieces[i].s[1], pieces[i].s[1] = NULL;
    u.h[0] = (float)h[0], u.h[1] = (float)h[1], u.h[2] = (float)h[2], u.h[3] = (float)(1.0 - h[2]);
    u.h[4] = (float)h[3], u.h[5] = (float)h[4];
    return update_run(&u, pieces, 1.5);
}

static PyObject *adagrad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = ADAGRAD};
    idx n;
    const int maximize = attr_flag(attrs, "maximize");
    if (attr_idx(attrs, "n", &n) < 0 || maximize < 0) return NULL;
    u.flags = maximize ? MAXIMIZE : 0;
    const double *h = numbers(args[0], 3); /* lr, decay, eps */
    if (!h) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, 1, &u);
    if (!pieces) return REFUSE;
    for (int i = 0; i < 3; i++) u.h[i] = (float)h[i];
    return update_run(&u, pieces, 1.2);
}

const Entry update_entries[] = {
    {"sgd_update", sgd}, {"adam_update", adam}, {"rmsprop_update", rmsprop}, {"adagrad_update", adagrad},
    {NULL, NULL},
};
