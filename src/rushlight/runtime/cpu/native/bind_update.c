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
    const Piece *pieces;
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

/* The group's arrays (parameters, gradients, states) as pieces; NULL without an exception to refuse. */
static Piece *pieces_of(PyObject *const *args, Py_ssize_t nargs, idx n, int states, Update *u) {
    if (n <= 0 || nargs != 1 + n * (2 + states)) return NULL;
    for (Py_ssize_t i = 1; i < nargs; i++) {
        if (!is_float(args[i])) return NULL;
        PyArrayObject *a = ARRAY(args[i]), *p = ARRAY(args[1 + (i - 1) % n]);
        if (!PyArray_SAMESHAPE(a, p)) return NULL; /* the NumPy body says what is wrong */
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

/* Of a parameter's numbers: what the loops take. */
typedef void (*Fill)(const double *h, float *to);

/* The numbers, float64: one row for all parameters, or a row for each. */
typedef struct {
    const double *at;
    idx stride;
} Numbers;

static int numbers(PyObject *o, idx count, idx n, Numbers *out) {
    if (!is_type(o, NPY_FLOAT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(o))) return 0;
    const idx size = PyArray_SIZE(ARRAY(o));
    const int rows = PyArray_NDIM(ARRAY(o)) == 2;
    if (size != (rows ? n * count : count)) return 0;
    *out = (Numbers){PyArray_DATA(ARRAY(o)), rows ? count : 0};
    return 1;
}

static PyObject *update_run(Update *u, Piece *pieces, Numbers numbers, Fill fill, double ns_each) {
    for (idx i = 0; i < u->count; i++) {
        const double *h = numbers.at + i * numbers.stride;
        pieces[i].flags = u->flags | (h[1] != 0 ? DECAYS : 0); /* every rule's second number is the decay */
        fill(h, pieces[i].h);
    }
    const double ns = ns_each * (double)u->total;
    run_parts(update_part, u, threads_parts(ns, u->total / 4096 + 1), ns);
    PyMem_RawFree(pieces);
    return PyTuple_New(0);
}

static int flags_of(PyObject *attrs, const char *first, int bit, const char *second, int bit2) {
    const int a = attr_flag(attrs, first), b = attr_flag(attrs, second);
    return a < 0 || b < 0 ? -1 : (a ? bit : 0) | (b ? bit2 : 0);
}

static void fill_sgd(const double *h, float *to) { /* lr, decay, momentum, dampening */
    to[0] = (float)h[0], to[1] = (float)h[1], to[2] = (float)h[2], to[3] = (float)(1.0 - h[3]);
}

static PyObject *sgd(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = SGD};
    idx n;
    Numbers h;
    const int first = attr_flag(attrs, "first");
    if (attr_idx(attrs, "n", &n) < 0 || first < 0) return NULL;
    u.flags = flags_of(attrs, "nesterov", NESTEROV, "maximize", MAXIMIZE);
    if (u.flags < 0) return NULL;
    if (first) u.flags |= FIRST;
    if (!numbers(args[0], 4, n, &h)) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, nargs == 1 + 3 * n ? 1 : 0, &u);
    return pieces ? update_run(&u, pieces, h, fill_sgd, 0.7) : REFUSE;
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

static PyObject *adam(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = ADAM};
    idx n;
    Numbers h;
    if (attr_idx(attrs, "n", &n) < 0) return NULL;
    u.flags = flags_of(attrs, "decoupled", DECOUPLED, "maximize", MAXIMIZE);
    if (u.flags < 0) return NULL;
    if (!numbers(args[0], 7, n, &h)) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, nargs == 1 + 5 * n ? 3 : 2, &u);
    return pieces ? update_run(&u, pieces, h, fill_adam, 1.6) : REFUSE;
}

static void fill_rmsprop(const double *h, float *to) { /* lr, decay, alpha, eps, momentum */
    to[0] = (float)h[0], to[1] = (float)h[1], to[2] = (float)h[2], to[3] = (float)(1.0 - h[2]);
    to[4] = (float)h[3], to[5] = (float)h[4];
}

static PyObject *rmsprop(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = RMSPROP};
    idx n;
    Numbers h;
    const int centered = attr_flag(attrs, "centered"), momentum = attr_flag(attrs, "momentum");
    const int maximize = attr_flag(attrs, "maximize");
    if (attr_idx(attrs, "n", &n) < 0 || centered < 0 || momentum < 0 || maximize < 0) return NULL;
    u.flags = maximize ? MAXIMIZE : 0;
    if (!numbers(args[0], 5, n, &h)) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, 1 + centered + momentum, &u);
    if (!pieces) return REFUSE;
    if (momentum && !centered) /* the kernel takes the mean gradient second, the buffer third */
        for (idx i = 0; i < n; i++) pieces[i].s[2] = pieces[i].s[1], pieces[i].s[1] = NULL;
    return update_run(&u, pieces, h, fill_rmsprop, 1.5);
}

static void fill_adagrad(const double *h, float *to) { /* lr, decay, eps */
    for (int i = 0; i < 3; i++) to[i] = (float)h[i];
}

static PyObject *adagrad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Update u = {.rule = ADAGRAD};
    idx n;
    Numbers h;
    const int maximize = attr_flag(attrs, "maximize");
    if (attr_idx(attrs, "n", &n) < 0 || maximize < 0) return NULL;
    u.flags = maximize ? MAXIMIZE : 0;
    if (!numbers(args[0], 3, n, &h)) return REFUSE;
    Piece *pieces = pieces_of(args, nargs, n, 1, &u);
    return pieces ? update_run(&u, pieces, h, fill_adagrad, 1.2) : REFUSE;
}

const Entry update_entries[] = {
    {"sgd_update", sgd}, {"adam_update", adam}, {"rmsprop_update", rmsprop}, {"adagrad_update", adagrad},
    {NULL, NULL},
};
