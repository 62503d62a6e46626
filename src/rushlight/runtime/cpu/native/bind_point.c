/* Pointwise kernels: flat loops over arrays of one layout, shared out when they are large. */
#include <float.h>
#include <math.h>

#include "arrays.h"

#include "codes.h"
#include "halves.h"

/* Whether two arrays hold the same elements in the same order of memory. */
static int same_layout(PyArrayObject *a, PyArrayObject *b) {
    const int ndim = PyArray_NDIM(a);
    if (PyArray_NDIM(b) != ndim || PyArray_TYPE(a) != PyArray_TYPE(b)) return 0;
    const int plain = PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(b);
    for (int i = 0; i < ndim; i++)
        if (PyArray_DIM(a, i) != PyArray_DIM(b, i) ||
            (!plain && PyArray_DIM(a, i) != 1 && PyArray_STRIDE(a, i) != PyArray_STRIDE(b, i)))
            return 0;
    return 1;
}

static int is_dense(PyObject *o) { return is_float(o) && is_filled(ARRAY(o)); }

/* Half precision is computed with in float32, some numbers at a time, and rounded. */
static int is_dense_half(PyObject *o) {
    return PyArray_CheckExact(o) && PyArray_ISALIGNED(ARRAY(o)) && half_of(ARRAY(o)) && is_filled(ARRAY(o));
}

#define CHEAP 0.35 /* nanoseconds per element, about */
#define DEAR 1.5

typedef struct {
    void (*two)(const float *, const float *, float *, idx); /* relu_grad */
    void (*one)(const float *, float *, idx);                /* relu */
    int which, kind, half;
    const float *x, *y, *other;
    float scalar;
    float h[3];       /* an activation's parameters */
    float *out;
    idx n;            /* floats in all, or in a row */
    idx rows, period; /* broadcasting: see broadcast_part */
} Point;

enum { ONE, TWO, UNARY, BINARY, SCALAR, GRAD, ACTIVE, ACTIVE_GRAD };

static void point_floats(const Point *p, const float *x, const float *y, float *out, idx n) {
    switch (p->kind) {
    case ONE: p->one(x, out, n); break;
    case TWO: p->two(x, y, out, n); break;
    case UNARY: RL->unary(p->which, x, out, n); break;
    case BINARY: RL->binary(p->which, x, y, out, n); break;
    case SCALAR: RL->binary_scalar(p->which, x, p->scalar, out, n); break;
    case GRAD: RL->unary_grad(p->which, x, y, out, n); break;
    case ACTIVE: RL->active(p->which, p->h, x, out, n); break;
    case ACTIVE_GRAD: RL->active_grad(p->which, p->h, x, y, out, n); break;
    }
}

#define HALVES 512 /* so many at a time: they stay in the first cache */

static void point_halves(const Point *p, idx from, idx n) {
    const uint16_t *x = (const uint16_t *)p->x + from, *y = p->y ? (const uint16_t *)p->y + from : NULL;
    uint16_t *out = (uint16_t *)p->out + from;
    float wide_x[HALVES], wide_y[HALVES], wide[HALVES];
    for (idx i = 0; i < n; i += HALVES) {
        const idx some = n - i < HALVES ? n - i : HALVES;
        RL->widen(p->half, x + i, wide_x, some);
        if (y) RL->widen(p->half, y + i, wide_y, some);
        point_floats(p, wide_x, y ? wide_y : NULL, wide, some);
        RL->narrow(p->half, wide, out + i, some);
    }
}

static void point_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Point *p = what;
    const idx blocks = (p->n + 63) / 64; /* shares begin at cache lines */
    const idx from = share(blocks, i, parts) * 64, end = share(blocks, i + 1, parts) * 64;
    const idx n = (end < p->n ? end : p->n) - from;
    if (p->half) point_halves(p, from, n);
    else point_floats(p, p->x + from, p->y ? p->y + from : NULL, p->out + from, n);
}

static PyObject *point_run(Point *p, PyArrayObject *like, double ns_each) {
    PyArrayObject *out = array_dense(like);
    if (!out) return NULL;
    p->n = PyArray_SIZE(like);
    p->out = DATA(out);
    const double ns = (ns_each + (p->half ? CHEAP : 0.0)) * (double)p->n;
    run_parts(point_part, p, threads_parts(ns, p->n / 4096 + 1), ns);
    return (PyObject *)out;
}

/* -- one operand, also a view whose rows have gaps between them ---------------------------------------- */

typedef struct {
    Point point;
    int dims;
    idx size[DIMS], step[DIMS]; /* outermost first; the last one is a row */
    idx rows;
} Gaps;

static void gaps_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Gaps *g = what;
    const int last = g->dims - 1;
    idx r = share(g->rows, i, parts), left = r, x = 0, at[DIMS];
    for (int d = last - 1; d >= 0; d--) at[d] = left % g->size[d], left /= g->size[d], x += at[d] * g->step[d];
    for (; r < share(g->rows, i + 1, parts); r++) {
        point_floats(&g->point, g->point.x + x, NULL, g->point.out + r * g->size[last], g->size[last]);
        for (int d = last - 1; d >= 0; d--) { /* the next row, without divisions */
            x += g->step[d];
            if (++at[d] < g->size[d]) break;
            x -= at[d] * g->step[d], at[d] = 0;
        }
    }
}

/* The dims of a view that lie in memory as they are counted; false where they do not, or rows are short. */
static int gaps_of(Gaps *g, PyArrayObject *x) {
    if (PyArray_NDIM(x) > DIMS || PyArray_SIZE(x) == 0) return 0;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        const idx size = PyArray_DIM(x, d), step = PyArray_STRIDE(x, d) / 4, l = g->dims - 1;
        if (size == 1) continue;
        if (PyArray_STRIDE(x, d) % 4 || step <= 0 || (l >= 0 && step * size > g->step[l])) return 0;
        if (l >= 0 && g->step[l] == step * size) g->size[l] *= size, g->step[l] = step; /* joins the dim before it */
        else g->size[g->dims] = size, g->step[g->dims++] = step;
    }
    const int last = g->dims - 1;
    return last > 0 && g->step[last] == 1 && g->size[last] >= 8;
}

/* p of one array of any layout that fits; REFUSE otherwise. */
static PyObject *point_one(Point *p, PyObject *o, double ns_each) {
    if (is_dense(o) || is_dense_half(o)) {
        p->x = DATA(ARRAY(o));
        p->half = is_float(o) ? NO_HALF : half_of(ARRAY(o));
        return point_run(p, ARRAY(o), ns_each);
    }
    Gaps g = {.rows = 1};
    if (!is_float(o) || !gaps_of(&g, ARRAY(o))) return REFUSE;
    PyArrayObject *out = array_like(ARRAY(o));
    if (!out) return NULL;
    p->x = DATA(ARRAY(o)), p->out = DATA(out);
    g.point = *p;
    for (int d = 0; d < g.dims - 1; d++) g.rows *= g.size[d];
    const double ns = ns_each * (double)PyArray_SIZE(out) + 5.0 * (double)g.rows;
    run_parts(gaps_part, &g, threads_parts(ns, g.rows), ns);
    return (PyObject *)out;
}

/* p of two arrays of one layout; REFUSE otherwise. */
static PyObject *point_two(Point *p, PyObject *x, PyObject *y, double ns_each) {
    const int floats = is_dense(x) && is_dense(y);
    if (!floats && !(is_dense_half(x) && is_dense_half(y))) return REFUSE;
    if (!same_layout(ARRAY(x), ARRAY(y))) return REFUSE;
    p->x = DATA(ARRAY(x)), p->y = DATA(ARRAY(y));
    p->half = floats ? NO_HALF : half_of(ARRAY(x));
    return point_run(p, ARRAY(x), ns_each);
}

static PyObject *relu(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Point p = {.kind = ONE, .one = RL->relu};
    return point_one(&p, args[0], CHEAP);
}

static PyObject *relu_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Point p = {.kind = TWO, .two = RL->relu_grad};
    return point_two(&p, args[0], args[1], CHEAP);
}

static PyObject *unary(PyObject *const *args, int which, double ns) {
    Point p = {.kind = UNARY, .which = which};
    return point_one(&p, args[0], ns);
}

static PyObject *slope(PyObject *const *args, int which, double ns) {
    Point p = {.kind = GRAD, .which = which};
    return point_two(&p, args[0], args[1], ns);
}

/* -- two operands ----------------------------------------------------------------------------------- */

/* x seen as [rows][period][n] beside y: [n] when period is 1, one number per [period] otherwise. */
static void broadcast_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Point *p = what;
    const idx all = p->rows * p->period;
    for (idx r = share(all, i, parts); r < share(all, i + 1, parts); r++) {
        const float *x = p->x + r * p->n;
        float *out = p->out + r * p->n;
        if (p->period == 1) RL->binary(p->which, x, p->y, out, p->n);
        else RL->binary_scalar(p->which, x, p->y[r % p->period], out, p->n);
    }
}

/* y against the trailing dims of x, or against one dim in the middle (a bias per channel). */
static int find_broadcast(Point *p, PyArrayObject *x, PyArrayObject *y) {
    const int nx = PyArray_NDIM(x), ny = PyArray_NDIM(y);
    int first = -1, last = -1; /* the dims of x in which y is not 1 */
    if (ny > nx) return 0;
    for (int i = 0; i < ny; i++) {
        const int at = nx - ny + i;
        if (PyArray_DIM(y, i) == 1) continue;
        if (PyArray_DIM(y, i) != PyArray_DIM(x, at) || (last >= 0 && at != last + 1)) return 0;
        if (first < 0) first = at;
        last = at;
    }
    if (first < 0) return 0;
    p->rows = p->period = p->n = 1;
    for (int i = 0; i < first; i++) p->rows *= PyArray_DIM(x, i);
    for (int i = first; i <= last; i++) p->period *= PyArray_DIM(x, i);
    for (int i = last + 1; i < nx; i++) p->n *= PyArray_DIM(x, i);
    if (p->n == 1) {
        p->n = p->period;
        p->period = 1;
    }
    return p->n >= 8; /* shorter runs: NumPy's loops are as good */
}

static int as_number(PyObject *o, float *out) {
    if (PyFloat_CheckExact(o)) {
        *out = (float)PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (PyLong_CheckExact(o)) {
        const double v = PyLong_AsDouble(o);
        if (v == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        *out = (float)v;
        return 1;
    }
    if (is_float(o) && PyArray_NDIM(ARRAY(o)) == 0) {
        repeat_cannot();
        *out = *DATA(ARRAY(o));
        return 1;
    }
    return 0;
}

/* Two of half precision, or one and a number, which is computed with as it comes: whether it is rounded, the op said. */
static PyObject *binary_half(PyObject *a, PyObject *b, int which) {
    const int first = is_dense_half(a);
    Point p = {.kind = BINARY, .which = which};
    if (first && is_dense_half(b)) return point_two(&p, a, b, CHEAP);
    PyObject *const array = first ? a : b, *const other = first ? b : a;
    if (!first && which != B_ADD && which != B_MUL) {
        if (which != B_SUB && which != B_DIV) return REFUSE;
        p.which = which == B_SUB ? B_RSUB : B_RDIV;
    }
    if (PyArray_IsScalar(other, Generic)) p.scalar = (float)PyFloat_AsDouble(other);
    else if (!as_number(other, &p.scalar)) return REFUSE;
    p.kind = SCALAR, p.x = DATA(ARRAY(array)), p.half = half_of(ARRAY(array));
    return point_run(&p, ARRAY(array), CHEAP);
}

static PyObject *binary(PyObject *const *args, int which) {
    PyObject *a = args[0], *b = args[1];
    if (which >= B_FMOD && which <= B_FLOOR_DIV && (is_type(a, NPY_INT64) || is_type(b, NPY_INT64))) return repeat_cannot(), whole_divide(a, b, which);
    const int commutes = which == B_ADD || which == B_MUL;
    if (is_dense_half(a) || is_dense_half(b)) return binary_half(a, b, which);
    if (!is_dense(a) || PyArray_NDIM(ARRAY(a)) == 0) {
        if (!is_dense(b)) return broadcast(which, a, b);
        if (!commutes) {
            float number;
            if ((which != B_SUB && which != B_DIV) || !as_number(a, &number)) return broadcast(which, a, b);
            Point p = {.kind = SCALAR, .which = which == B_SUB ? B_RSUB : B_RDIV, .x = DATA(ARRAY(b)),
                       .scalar = number};
            return point_run(&p, ARRAY(b), CHEAP);
        }
        a = args[1], b = args[0];
    }
    PyArrayObject *x = ARRAY(a);
    Point p = {.which = which, .x = DATA(x)};
    if (as_number(b, &p.scalar)) {
        p.kind = SCALAR;
        return point_run(&p, x, CHEAP);
    }
    if (!is_dense(b)) return broadcast(which, a, b);
    PyArrayObject *y = ARRAY(b);
    p.y = DATA(y);
    if (same_layout(x, y)) {
        p.kind = BINARY;
        return point_run(&p, x, CHEAP);
    }
    if (commutes && PyArray_NDIM(y) >= PyArray_NDIM(x) && PyArray_SIZE(y) > PyArray_SIZE(x)) {
        PyArrayObject *t = x;
        x = y, y = t;
        p.x = DATA(x), p.y = DATA(y);
    }
    if (!PyArray_IS_C_CONTIGUOUS(x) || !PyArray_IS_C_CONTIGUOUS(y) || !find_broadcast(&p, x, y))
        return broadcast(which, a, b);
    PyArrayObject *out = array_like(x);
    if (!out) return NULL;
    p.out = DATA(out);
    const double ns = CHEAP * (double)PyArray_SIZE(x);
    run_parts(broadcast_part, &p, threads_parts(ns, p.rows * p.period), ns);
    return (PyObject *)out;
}

/* 1 for gelu's tanh form, 0 for the exact one, -1 with an exception. */
static int approximates(PyObject *attrs) {
    PyObject *s = attr(attrs, "approximate");
    return s ? PyUnicode_CompareWithASCIIString(s, "tanh") == 0 : -1;
}

static PyObject *gelu(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    const int tanh_form = approximates(attrs);
    return tanh_form < 0 ? NULL : unary(args, tanh_form ? U_GELU_TANH : U_GELU_NONE, 2 * DEAR);
}

static PyObject *gelu_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    const int tanh_form = approximates(attrs);
    return tanh_form < 0 ? NULL : slope(args, tanh_form ? G_GELU_GRAD_TANH : G_GELU_GRAD_NONE, 3 * DEAR);
}

/* PReLU: a slope for all, one per channel (x seen as [rows][period][n]), or one for each number of a row. */
static void prelu_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Point *p = what;
    const idx all = p->rows * p->period;
    for (idx r = share(all, i, parts); r < share(all, i + 1, parts); r++) {
        const float h[3] = {p->y[r % p->period]}, *x = p->x + r * p->n;
        if (p->period == 1) RL->three(T_PRELU, x, p->other + r * p->n, p->y, 0.0f, p->out + r * p->n, p->n);
        else if (p->kind == ACTIVE) RL->active(A_LEAKY_RELU, h, x, p->out + r * p->n, p->n);
        else RL->active_grad(AG_LEAKY_RELU_GRAD, h, x, p->other + r * p->n, p->out + r * p->n, p->n);
    }
}

/* x and the slopes; for the gradient g in front of them. */
static PyObject *prelu_of(PyObject *const *args, int grad) {
    PyObject *x = args[grad], *w = args[grad + 1];
    if (!is_dense(x) || !is_plain(w)) return REFUSE;
    if (grad && (!is_dense(args[0]) || !same_layout(ARRAY(args[0]), ARRAY(x)))) return REFUSE;
    Point p = {.kind = grad ? ACTIVE_GRAD : ACTIVE, .which = grad ? AG_LEAKY_RELU_GRAD : A_LEAKY_RELU, .x = DATA(ARRAY(args[0])), .y = DATA(ARRAY(w))};
    p.other = DATA(ARRAY(x));
    if (PyArray_SIZE(ARRAY(w)) == 1) {
        repeat_cannot();
        p.h[0] = *p.y;
        p.y = p.other;
        return point_run(&p, ARRAY(x), CHEAP);
    }
    if (!PyArray_IS_C_CONTIGUOUS(ARRAY(x)) || !find_broadcast(&p, ARRAY(x), ARRAY(w))) return REFUSE;
    PyArrayObject *out = array_like(ARRAY(x));
    if (!out) return NULL;
    p.out = DATA(out);
    const double ns = CHEAP * (double)PyArray_SIZE(out);
    run_parts(prelu_part, &p, threads_parts(ns, p.rows * p.period), ns);
    return (PyObject *)out;
}

static PyObject *prelu(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return prelu_of(a, 0); }
static PyObject *prelu_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return prelu_of(a, 1); }

/* -- activations with parameters --------------------------------------------------------------------- */

static int as_number(PyObject *o, float *out);

/* The attributes that are an activation's parameters, in the order in which the loops read them. */
static int parameters(PyObject *attrs, const char *const *names, float *h) {
    for (int i = 0; i < 3 && names[i]; i++) {
        double value;
        if (attr_double(attrs, names[i], &value) < 0) return -1;
        h[i] = (float)value;
    }
    return 0;
}

static PyObject *active(PyObject *const *args, PyObject *attrs, int which, const char *const *names, double ns) {
    Point p = {.kind = ACTIVE, .which = which};
    return parameters(attrs, names, p.h) < 0 ? NULL : point_one(&p, args[0], ns);
}

static PyObject *active_grad(PyObject *const *args, PyObject *attrs, int which, const char *const *names, double ns) {
    Point p = {.kind = ACTIVE_GRAD, .which = which};
    return parameters(attrs, names, p.h) < 0 ? NULL : point_two(&p, args[0], args[1], ns);
}

static PyObject *threshold(PyObject *const *a, Py_ssize_t n, PyObject *attrs) {
    static const char *const names[] = {"threshold", "value", NULL};
    return is_float(a[0]) ? active(a, attrs, A_THRESHOLD, names, CHEAP) : REFUSE;
}

/* nan_to_num: what stands for NaN and the infinities; None for the largest number. */
static PyObject *nan_to_num(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    static const char *const names[] = {"nan", "posinf", "neginf"};
    Point p = {.kind = ACTIVE, .which = A_NAN_TO_NUM, .h = {0.0f, FLT_MAX, -FLT_MAX}};
    for (int i = 0; i < 3; i++) {
        PyObject *value = attr(attrs, names[i]);
        if (!value) return NULL;
        if (i && value == Py_None) continue;
        if (PyArray_Check(value) || !as_number(value, p.h + i)) return REFUSE;
    }
    return is_float(args[0]) ? point_one(&p, args[0], CHEAP) : REFUSE;
}

/* eps: how far from 0 and 1 the input is kept, or None; the slope outside is 0, or NaN. */
static PyObject *logit_of(PyObject *const *args, PyObject *attrs, int slope) {
    PyObject *eps = attr(attrs, "eps");
    if (!eps) return NULL;
    Point p = {.kind = slope ? ACTIVE_GRAD : ACTIVE, .which = slope ? AG_LOGIT : A_LOGIT, .h = {0.0f, 1.0f, NAN}};
    if (eps != Py_None) {
        if (!PyFloat_CheckExact(eps)) return REFUSE;
        const double within = PyFloat_AS_DOUBLE(eps);
        p.which = slope ? AG_LOGIT : A_LOGIT_WITHIN;
        p.h[0] = (float)within, p.h[1] = (float)(1 - within), p.h[2] = 0.0f;
    }
    if (!slope) return point_one(&p, args[0], DEAR);
    return is_float(args[0]) ? point_two(&p, args[0], args[1], DEAR) : REFUSE;
}

static PyObject *logit(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return logit_of(a, attrs, 0); }
static PyObject *logit_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return logit_of(a, attrs, 1); }

/* A bound given as a number, or as an array of one; None is no bound. */
static int bound(PyObject *o, float *h) {
    if (o == Py_None) return 1;
    if (!PyArray_Check(o)) {
        if (as_number(o, h)) return 1;
        PyObject *number = PyNumber_Float(o); /* a scalar of half precision */
        if (!number) {
            PyErr_Clear();
            return 0;
        }
        *h = (float)PyFloat_AS_DOUBLE(number);
        Py_DECREF(number);
        return *h == *h;
    }
    if (!is_plain(o) || PyArray_NDIM(ARRAY(o))) return 0;
    repeat_cannot();
    *h = *DATA(ARRAY(o));
    return *h == *h;
}

static int bounds(PyObject *low, PyObject *high, float *h) {
    h[0] = -INFINITY, h[1] = INFINITY;
    return bound(low, h) && bound(high, h + 1);
}

static PyObject *clamp(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (nargs != 3 || !(is_dense(args[0]) || is_dense_half(args[0]))) return REFUSE;
    Point p = {.kind = ACTIVE, .which = A_HARDTANH};
    return bounds(args[1], args[2], p.h) ? point_one(&p, args[0], CHEAP) : REFUSE;
}

static PyObject *clamp_backward(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (nargs != 4) return REFUSE;
    Point p = {.kind = ACTIVE_GRAD, .which = AG_CLAMP_BACKWARD};
    return bounds(args[2], args[3], p.h) ? point_two(&p, args[0], args[1], CHEAP) : REFUSE;
}

/* -- the table --------------------------------------------------------------------------------------- */

#define POINT_BODY(name, ...) \
    static PyObject *point_##name(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return __VA_ARGS__; }
#define ONE_OPERAND(name, code, cost) POINT_BODY(name, unary(a, code, cost))
#define TWO_OPERANDS(name, code, cost) POINT_BODY(name, binary(a, code))
#define SLOPE(name, code, cost) POINT_BODY(name, slope(a, code, cost))
#define NAMES(...) (const char *const[]){__VA_ARGS__, NULL}
#define ACTIVE_ONE(name, code, cost, ...) POINT_BODY(name, active(a, attrs, code, NAMES(__VA_ARGS__), cost))
#define ACTIVE_SLOPE(name, code, cost, ...) POINT_BODY(name, active_grad(a, attrs, code, NAMES(__VA_ARGS__), cost))

POINT_KERNELS
ONE_OPERAND(sin, U_SIN, DEAR)
ONE_OPERAND(cos, U_COS, DEAR)
TWO_OPERANDS(fmod, B_FMOD, CHEAP)
TWO_OPERANDS(remainder, B_REMAINDER, CHEAP)
TWO_OPERANDS(floor_divide, B_FLOOR_DIV, CHEAP)
TWO_OPERANDS(hypot, B_HYPOT, CHEAP)
TWO_OPERANDS(copysign, B_COPYSIGN, CHEAP)
POINT_BODY(erfinv, is_float(a[0]) ? unary(a, U_ERFINV, 3 * DEAR) : REFUSE) /* half precision is rounded from doubles */
POINT_BODY(logsigmoid, PyArray_CheckExact(a[0]) && PyArray_IS_C_CONTIGUOUS(ARRAY(a[0])) ? /* PyTorch's is always in C order */
       unary(a, U_LOGSIGMOID, 2 * DEAR) : REFUSE)

/* The powers that need no logarithm. */
static PyObject *power(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    static const float powers[] = {2.0f, 3.0f, 0.5f, -0.5f, -1.0f};
    static const int codes[] = {U_SQUARE, U_CUBE, U_SQRT, U_RSQRT, U_RECIPROCAL};
    float y;
    if (nargs != 2 || !is_float(args[0]) || PyArray_Check(args[1]) || !as_number(args[1], &y)) return REFUSE;
    for (int i = 0; i < 5; i++)
        if (y == powers[i]) return unary(args, codes[i], CHEAP);
    return REFUSE;
}

const Entry point_entries[] = {
    POINT_ENTRIES
    {"relu", relu, .repeats = 1},
    {"relu_grad", relu_grad, 1, .repeats = 1},
    {"gelu", gelu, .repeats = 1},
    {"gelu_grad", gelu_grad, 1, .repeats = 1},
    {"pow", power, .repeats = 1},
    {"logsigmoid", point_logsigmoid, .repeats = 1},
    {"prelu", prelu, .repeats = 1},
    {"prelu_grad", prelu_grad, 1, .repeats = 1},
    {"threshold", threshold, .repeats = 1},
    {"fmod", point_fmod, 0, "0", .repeats = 1},
    {"remainder", point_remainder, 0, "0", .repeats = 1},
    {"floor_divide", point_floor_divide, 0, "0", .repeats = 1},
    {"hypot", point_hypot, 0, "0", .repeats = 1},
    {"sin", point_sin, .repeats = 1},
    {"cos", point_cos, .repeats = 1},
    {"sgn", point_sign, .repeats = 1},
    {"copysign", point_copysign, .repeats = 1},
    {"erfinv", point_erfinv, .repeats = 1},
    {"nan_to_num", nan_to_num, .repeats = 1},
    {"logit", logit, .repeats = 1},
    {"logit_grad", logit_grad, COPIES, .repeats = 1},
    {"clamp", clamp, 0, "0", .repeats = 1},
    {"clamp_backward", clamp_backward, 0, "0", .repeats = 1},
    {NULL, NULL},
};
