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
    idx rows, period; /* broadcasting: see find_broadcast */
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

static void point_run(Call *c, Point *p, PyArrayObject *like, double ns_each) {
    if (!(p->out = new_made(c, array_dense(like)))) return;
    p->n = PyArray_SIZE(like);
    run_shared(point_part, p, p->n / 4096 + 1, (ns_each + (p->half ? CHEAP : 0.0)) * (double)p->n);
}

/* -- one operand, also a view whose rows have gaps between them ---------------------------------------- */

typedef struct {
    Point point;
    Stepped x;
} Gaps;

static void gaps_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Gaps *g = what;
    float room[STRIP + LAID_OVER];
    idx from, n;
    EACH_STRIP(from, n, g->point.n, i, parts) point_floats(&g->point, stepped_floats(&g->x, from, n, room), NULL, g->point.out + from, n);
}

/* Whether the dims of a view lie in memory as they are counted, no two numbers in one place. */
static int gaps_of(Stepped *v, PyArrayObject *x) {
    idx step[DIMS], before = 0;
    if (PyArray_NDIM(x) > DIMS || PyArray_SIZE(x) == 0) return 0;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        step[d] = PyArray_STRIDE(x, d) / 4;
        if (PyArray_DIM(x, d) == 1) continue;
        if (PyArray_STRIDE(x, d) % 4 || step[d] <= 0 || (before && step[d] * PyArray_DIM(x, d) > before)) return 0;
        before = step[d];
    }
    *v = stepped_joined(DATA(x), PyArray_NDIM(x), PyArray_DIMS(x), step);
    return 1;
}

/* p of one array of any layout that fits. */
static void point_one(Call *c, Point *p, int i) {
    PyObject *o = c->args[i];
    const double ns_each = c->entry->ns;
    const int floats = is_float(o);
    if (floats ? is_filled(ARRAY(o)) : is_dense_half(o)) {
        p->x = DATA(ARRAY(o));
        p->half = floats ? NO_HALF : half_of(ARRAY(o));
        point_run(c, p, ARRAY(o), ns_each);
        return;
    }
    Gaps g;
    if (!need(c, floats && gaps_of(&g.x, ARRAY(o))) || !(p->out = new_like(c, ARRAY(o)))) return;
    p->n = PyArray_SIZE(ARRAY(o));
    g.point = *p;
    run_shared(gaps_part, &g, p->n / STRIP + 1, (ns_each + 0.3) * (double)p->n);
}

/* p of the first two arrays, of one layout. */
static void point_two(Call *c, Point *p) {
    PyObject *x = c->args[0], *y = c->args[1];
    const int floats = is_dense(x) && is_dense(y);
    if (!need(c, (floats || (is_dense_half(x) && is_dense_half(y))) && same_layout(ARRAY(x), ARRAY(y)))) return;
    p->x = DATA(ARRAY(x)), p->y = DATA(ARRAY(y));
    p->half = floats ? NO_HALF : half_of(ARRAY(x));
    point_run(c, p, ARRAY(x), c->entry->ns);
}

static void relu(Call *c) { point_one(c, &(Point){.kind = ONE, .one = RL->relu}, 0); }
static void relu_grad(Call *c) { point_two(c, &(Point){.kind = TWO, .two = RL->relu_grad}); }
static void unary_of(Call *c, int which) { point_one(c, &(Point){.kind = UNARY, .which = which}, 0); }
static void unary(Call *c) { unary_of(c, c->which); }
static void slope(Call *c) { point_two(c, &(Point){.kind = GRAD, .which = c->which}); }

/* -- two operands ----------------------------------------------------------------------------------- */

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
    double value;
    if (plain_number(o, &value)) return *out = (float)value, 1;
    if (!is_float(o) || PyArray_NDIM(ARRAY(o))) return 0;
    repeat_cannot();
    *out = *DATA(ARRAY(o));
    return 1;
}

/* Two of half precision, or one and a number, which is computed with as it comes: whether it is rounded, the op said. */
static void binary_half(Call *c, int which) {
    PyObject *a = c->args[0], *b = c->args[1];
    const int first = is_dense_half(a);
    Point p = {.kind = BINARY, .which = which};
    if (first && is_dense_half(b)) {
        point_two(c, &p);
        return;
    }
    PyObject *const array = first ? a : b, *const other = first ? b : a;
    if (!first && which != B_ADD && which != B_MUL) {
        if (!need(c, which == B_SUB || which == B_DIV)) return;
        p.which = which == B_SUB ? B_RSUB : B_RDIV;
    }
    if (PyArray_IsScalar(other, Generic)) p.scalar = (float)PyFloat_AsDouble(other);
    else if (!need(c, as_number(other, &p.scalar))) return;
    p.kind = SCALAR, p.x = DATA(ARRAY(array)), p.half = half_of(ARRAY(array));
    point_run(c, &p, ARRAY(array), CHEAP);
}

static void binary(Call *c) {
    const int which = c->which;
    PyObject *a = c->args[0], *b = c->args[1];
    Point p = {.kind = BINARY, .which = which};
    if (is_plain(a) && is_plain(b) && PyArray_NDIM(ARRAY(a)) && PyArray_SAMESHAPE(ARRAY(a), ARRAY(b))) { /* as most are */
        p.x = DATA(ARRAY(a)), p.y = DATA(ARRAY(b));
        point_run(c, &p, ARRAY(a), CHEAP);
        return;
    }
    if (which >= B_FMOD && which <= B_FLOOR_DIV && (is_type(a, NPY_INT64) || is_type(b, NPY_INT64))) {
        repeat_cannot();
        whole_divide(c, which);
        return;
    }
    const int commutes = which == B_ADD || which == B_MUL;
    if (is_dense_half(a) || is_dense_half(b)) {
        binary_half(c, which);
        return;
    }
    if (!is_dense(a) || PyArray_NDIM(ARRAY(a)) == 0) {
        if (!commutes && is_dense(b) && (which == B_SUB || which == B_DIV) && as_number(a, &p.scalar)) {
            p.kind = SCALAR, p.which = which == B_SUB ? B_RSUB : B_RDIV, p.x = DATA(ARRAY(b));
            point_run(c, &p, ARRAY(b), CHEAP);
            return;
        }
        if (!commutes || !is_dense(b)) {
            broadcast(c, which, a, b);
            return;
        }
        a = c->args[1], b = c->args[0];
    }
    PyArrayObject *x = ARRAY(a), *y = ARRAY(b);
    p.x = DATA(x);
    if (as_number(b, &p.scalar)) p.kind = SCALAR;
    else if (!is_dense(b)) {
        broadcast(c, which, a, b);
        return;
    } else p.y = DATA(y);
    if (p.kind == SCALAR || same_layout(x, y)) {
        point_run(c, &p, x, CHEAP);
        return;
    }
    broadcast(c, which, a, b);
}

/* Whether it is gelu's tanh form. */
static int approximates(Call *c) {
    PyObject *s = attr_of(c, "approximate");
    return s && PyUnicode_CompareWithASCIIString(s, "tanh") == 0;
}

static void gelu(Call *c) {
    const int which = approximates(c) ? U_GELU_TANH : U_GELU_NONE;
    if (!c->ends) unary_of(c, which);
}

static void gelu_grad(Call *c) {
    Point p = {.kind = GRAD, .which = approximates(c) ? G_GELU_GRAD_TANH : G_GELU_GRAD_NONE};
    if (!c->ends) point_two(c, &p);
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

/* x and the slopes; of `which` 1, the gradient, g in front of them. */
static void prelu(Call *c) {
    const int grad = c->which;
    PyArrayObject *x = strided(c, grad), *w = floats(c, grad + 1);
    if (c->ends || !need(c, is_filled(x))) return;
    if (grad && !need(c, is_dense(c->args[0]) && same_layout(ARRAY(c->args[0]), x))) return;
    Point p = {.kind = grad ? ACTIVE_GRAD : ACTIVE, .which = grad ? AG_LEAKY_RELU_GRAD : A_LEAKY_RELU, .x = DATA(ARRAY(c->args[0])), .y = DATA(w)};
    p.other = DATA(x);
    if (PyArray_SIZE(w) == 1) {
        repeat_cannot();
        p.h[0] = *p.y;
        p.y = p.other;
        point_run(c, &p, x, CHEAP);
    } else if (need(c, PyArray_IS_C_CONTIGUOUS(x) && find_broadcast(&p, x, w)) && (p.out = new_like(c, x)))
        run_shared(prelu_part, &p, p.rows * p.period, CHEAP * (double)PyArray_SIZE(x));
}

/* -- activations with parameters --------------------------------------------------------------------- */

/* The attributes that are an activation's parameters, in the order in which the loops read them. */
static int parameters(Call *c, float *h) {
    for (int i = 0; i < 3 && c->entry->names[i]; i++) h[i] = (float)double_of(c, c->entry->names[i]);
    return !c->ends;
}

static void active(Call *c) {
    Point p = {.kind = ACTIVE, .which = c->which};
    if (parameters(c, p.h)) point_one(c, &p, 0);
}

static void active_grad(Call *c) {
    Point p = {.kind = ACTIVE_GRAD, .which = c->which};
    if (parameters(c, p.h)) point_two(c, &p);
}

/* of float32 alone */
static void threshold(Call *c) {
    if (strided(c, 0)) active(c);
}

/* nan_to_num: what stands for NaN and the infinities; None for the largest number. */
static void nan_to_num(Call *c) {
    double value;
    Point p = {.kind = ACTIVE, .which = A_NAN_TO_NUM, .h = {0.0f, FLT_MAX, -FLT_MAX}};
    strided(c, 0);
    for (int i = 0; i < 3; i++) {
        PyObject *given = attr_of(c, c->entry->names[i]);
        if (given && (given != Py_None || !i) && need(c, plain_number(given, &value))) p.h[i] = (float)value;
    }
    if (!c->ends) point_one(c, &p, 0);
}

/* eps: how far from 0 and 1 the input is kept, or None; the slope (`which` 1) outside is 0, or NaN. */
static void logit(Call *c) {
    const int slope = c->which;
    PyObject *eps = attr_of(c, "eps");
    Point p = {.kind = slope ? ACTIVE_GRAD : ACTIVE, .which = slope ? AG_LOGIT : A_LOGIT, .h = {0.0f, 1.0f, NAN}};
    if (!eps || !need(c, eps == Py_None || PyFloat_CheckExact(eps)) || (slope && !strided(c, 0))) return;
    if (eps != Py_None) {
        const double within = PyFloat_AS_DOUBLE(eps);
        p.which = slope ? AG_LOGIT : A_LOGIT_WITHIN;
        p.h[0] = (float)within, p.h[1] = (float)(1 - within), p.h[2] = 0.0f;
    }
    if (slope) point_two(c, &p);
    else point_one(c, &p, 0);
}

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

/* The bounds are the arguments from `first` on. */
static int bounds(Call *c, int first, float *h) {
    h[0] = -INFINITY, h[1] = INFINITY;
    return need(c, c->count == first + 2 && bound(c->args[first], h) && bound(c->args[first + 1], h + 1));
}

static void clamp(Call *c) {
    Point p = {.kind = ACTIVE, .which = A_HARDTANH};
    if (need(c, is_dense(c->args[0]) || is_dense_half(c->args[0])) && bounds(c, 1, p.h)) point_one(c, &p, 0);
}

static void clamp_backward(Call *c) {
    Point p = {.kind = ACTIVE_GRAD, .which = AG_CLAMP_BACKWARD};
    if (bounds(c, 2, p.h)) point_two(c, &p);
}

/* -- the table --------------------------------------------------------------------------------------- */

static void erfinv(Call *c) {
    if (strided(c, 0)) unary(c); /* half precision is rounded from doubles */
}

static void logsigmoid(Call *c) {
    PyArrayObject *x = array_at(c, 0);
    if (x && need(c, PyArray_IS_C_CONTIGUOUS(x))) unary(c); /* PyTorch's is always in C order */
}

/* The powers that need no logarithm. */
static void power(Call *c) {
    static const float powers[] = {2.0f, 3.0f, 0.5f, -0.5f, -1.0f};
    static const int codes[] = {U_SQUARE, U_CUBE, U_SQRT, U_RSQRT, U_RECIPROCAL};
    double y;
    if (!need(c, c->count == 2 && is_float(c->args[0]) && plain_number(c->args[1], &y))) return;
    for (int i = 0; i < 5; i++)
        if ((float)y == powers[i]) {
            unary_of(c, codes[i]);
            return;
        }
    refuse(c);
}

#define POINT(name, bind, ns_, ...) BOUND(name, bind, .ns = ns_, .repeats = 1, __VA_ARGS__)

const Entry point_entries[] = {
    POINT_ENTRIES
    POINT("relu", relu, CHEAP),
    POINT("relu_grad", relu_grad, CHEAP, .copies = COPIES),
    POINT("gelu", gelu, 2 * DEAR),
    POINT("gelu_grad", gelu_grad, 3 * DEAR, .copies = COPIES),
    POINT("pow", power, CHEAP),
    POINT("logsigmoid", logsigmoid, 2 * DEAR, .which = U_LOGSIGMOID),
    POINT("prelu", prelu, CHEAP),
    POINT("prelu_grad", prelu, CHEAP, .which = 1, .copies = COPIES),
    POINT("threshold", threshold, CHEAP, .which = A_THRESHOLD, .names = {"threshold", "value"}),
    POINT("fmod", binary, CHEAP, .which = B_FMOD, .rounds = "0"),
    POINT("remainder", binary, CHEAP, .which = B_REMAINDER, .rounds = "0"),
    POINT("floor_divide", binary, CHEAP, .which = B_FLOOR_DIV, .rounds = "0"),
    POINT("hypot", binary, CHEAP, .which = B_HYPOT, .rounds = "0"),
    POINT("sin", unary, DEAR, .which = U_SIN),
    POINT("cos", unary, DEAR, .which = U_COS),
    POINT("sgn", unary, CHEAP, .which = U_SIGN),
    POINT("copysign", binary, CHEAP, .which = B_COPYSIGN),
    POINT("erfinv", erfinv, 3 * DEAR, .which = U_ERFINV),
    POINT("nan_to_num", nan_to_num, CHEAP, .names = {"nan", "posinf", "neginf"}),
    POINT("logit", logit, DEAR),
    POINT("logit_grad", logit, DEAR, .which = 1, .copies = COPIES),
    POINT("clamp", clamp, CHEAP, .rounds = "0"),
    POINT("clamp_backward", clamp_backward, CHEAP, .rounds = "0"),
    {NULL},
};
