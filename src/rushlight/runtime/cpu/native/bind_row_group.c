/* Row groups: pointwise steps and reductions along rows as a small program, run over some rows at a time in the cache. */
#include "arrays.h"

#include "codes.h"

#define BLOCK 1024 /* floats of a value that is worked on at once, or one row */
#define MOST_STEPS 48
#define MOST_INPUTS 24
#define MOST_OUTS MOST_RESULTS

enum { FULL, ROW, COLUMN, ONE, SOME };
enum { RELU, RELU_GRAD, UNARY, BINARY, SCALAR, GRAD, REDUCE, WHOLE };
enum { SUM, MEAN, LARGEST, SMALLEST, LOG_SUM };

/* As `rows.py` packs them. Operands: 0, 1, ... inputs; -1, -2, ... values of earlier steps. */
typedef struct {
    int32_t columns, steps, inputs, outs, places;
} Head;
typedef struct {
    int32_t kind, every, count; /* SOME: row i reads row i / every % count */
} Input;
typedef struct {
    int32_t kind, which, a, b, made, place, out; /* kind -1: a view, which nobody reads */
    float scalar;
} Step;

typedef struct {
    const Head *head;
    const Input *inputs;
    const Step *steps;
    const float *arrays[MOST_INPUTS];
    float *outs[MOST_OUTS], *memory;
    idx rows, columns, at_once, room; /* at_once: rows of a block; room: floats of a part's memory */
} Group;

/* An operand during a block of rows. */
typedef struct {
    const float *p;
    int kind;
    const Input *turn;
} Value;

typedef struct {
    const Group *g;
    idx first, rows; /* of the block */
    float *blocks, *numbers, *spare;
} Work;

static float *target(const Work *w, const Step *s, idx number) {
    const Group *g = w->g;
    if (s->out >= 0) return g->outs[s->out] + w->first * (s->made == FULL ? g->columns : 1);
    return s->made == FULL ? w->blocks + s->place * g->at_once * g->columns : w->numbers + number * g->at_once;
}

static Value value_of(const Work *w, int32_t operand) {
    const Group *g = w->g;
    if (operand < 0) {
        const Step *s = &g->steps[-1 - operand];
        return (Value){target(w, s, -1 - operand), s->made, NULL};
    }
    const Input *in = &g->inputs[operand];
    const idx step = in->kind == FULL ? g->columns : in->kind == ROW ? 1 : 0;
    return (Value){g->arrays[operand] + w->first * step, in->kind, in};
}

/* The numbers of row r of a block: a whole row, or one number for all. */
static const float *row_of(const Work *w, Value v, idx r) {
    switch (v.kind) {
    case FULL: return v.p + r * w->g->columns;
    case ROW: return v.p + r;
    case SOME: return v.p + (w->first + r) / v.turn->every % v.turn->count * w->g->columns;
    default: return v.p;
    }
}

static int is_number(Value v) { return v.kind == ROW || v.kind == ONE; }

/* A value with a number for every place of the result, made where it is not one. */
static const float *whole(const Work *w, Value v, int made, float *spare) {
    const idx n = w->g->columns;
    if (v.kind == made) return v.p;
    if (made == ROW) { /* one number for every row */
        for (idx r = 0; r < w->rows; r++) spare[r] = *v.p;
        return spare;
    }
    for (idx r = 0; r < w->rows; r++) {
        const float *from = row_of(w, v, r);
        if (!is_number(v)) memcpy(spare + r * n, from, (size_t)n * 4);
        else
            for (idx i = 0; i < n; i++) spare[r * n + i] = *from;
    }
    return spare;
}

static int reversed(int which) { return which == B_SUB ? B_RSUB : which == B_DIV ? B_RDIV : which; }

static void two_values(const Work *w, const Step *s, Value a, Value b, float *out) {
    const idx n = w->g->columns, all = s->made == FULL ? w->rows * n : w->rows;
    float *spare = w->spare;
    if (a.kind == s->made && b.kind == s->made) RL->binary(s->which, a.p, b.p, out, all);
    else if (a.kind == s->made && b.kind == ONE) RL->binary_scalar(s->which, a.p, *b.p, out, all);
    else if (b.kind == s->made && a.kind == ONE) RL->binary_scalar(reversed(s->which), b.p, *a.p, out, all);
    else if (s->made == FULL && (a.kind == FULL || b.kind == FULL))
        for (idx r = 0; r < w->rows; r++) {
            const float *x = row_of(w, a, r), *y = row_of(w, b, r);
            if (is_number(b)) RL->binary_scalar(s->which, x, *y, out + r * n, n);
            else if (is_number(a)) RL->binary_scalar(reversed(s->which), y, *x, out + r * n, n);
            else RL->binary(s->which, x, y, out + r * n, n);
        }
    else RL->binary(s->which, whole(w, a, s->made, spare), whole(w, b, s->made, spare + w->g->at_once * n), out, all);
}

static void reduce(const Work *w, const Step *s, const float *x, float *out) {
    const idx n = w->g->columns;
    for (idx r = 0; r < w->rows; r++, x += n)
        switch (s->which) {
        case SUM: out[r] = RL->sum(x, n); break;
        case MEAN: out[r] = RL->sum(x, n) / (float)n; break;
        case LARGEST: out[r] = RL->extreme(0, x, n); break;
        case SMALLEST: out[r] = RL->extreme(1, x, n); break;
        case LOG_SUM: out[r] = log_sum(x, n); break;
        }
}

static void step_run(const Work *w, idx number) {
    const Step *s = &w->g->steps[number];
    if (s->kind < 0) return;
    const idx n = w->g->columns, all = s->made == FULL ? w->rows * n : w->rows;
    const Value a = value_of(w, s->a), b = value_of(w, s->b);
    float *out = target(w, s, number);
    if (s->kind == BINARY) {
        two_values(w, s, a, b, out);
        return;
    }
    const int from = s->kind == REDUCE ? FULL : s->made;
    const float *x = whole(w, a, from, w->spare);
    const float *y = s->b == s->a ? x : whole(w, b, from, w->spare + w->g->at_once * n);
    switch (s->kind) {
    case RELU: RL->relu(x, out, all); break;
    case RELU_GRAD: RL->relu_grad(x, y, out, all); break;
    case UNARY: RL->unary(s->which, x, out, all); break;
    case SCALAR: RL->binary_scalar(s->which, x, s->scalar, out, all); break;
    case GRAD: RL->unary_grad(s->which, x, y, out, all); break;
    case REDUCE: reduce(w, s, x, out); break;
    case WHOLE:
        if (s->which < 2) RL->softmax(x, out, w->rows, n, s->which, NULL, NULL);
        else RL->softmax_grad(x, y, out, w->rows, n, s->which - 2);
        break;
    }
}

static void group_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Group *g = what;
    const idx blocks = (g->rows + g->at_once - 1) / g->at_once, block = g->at_once * g->columns;
    Work w = {.g = g, .blocks = g->memory + i * g->room};
    w.spare = w.blocks + g->head->places * block;
    w.numbers = w.spare + 2 * block;
    for (idx j = share(blocks, i, parts); j < share(blocks, i + 1, parts); j++) {
        w.first = j * g->at_once;
        w.rows = g->rows - w.first < g->at_once ? g->rows - w.first : g->at_once;
        for (idx s = 0; s < g->head->steps; s++) step_run(&w, s);
    }
}

/* Whether the packed group is what this file expects: it comes from Python. */
static int group_read(Group *g, PyObject *code, Py_ssize_t nargs) {
    if (!PyBytes_Check(code) || PyBytes_GET_SIZE(code) < (Py_ssize_t)sizeof(Head)) return 0;
    const char *p = PyBytes_AS_STRING(code);
    const Head *h = g->head = (const Head *)p;
    if (h->inputs != nargs || h->steps < 1 || h->steps > MOST_STEPS || h->inputs < 1 || h->inputs > MOST_INPUTS) return 0;
    if (h->outs < 1 || h->outs > MOST_OUTS || h->places < 0 || h->places > MOST_STEPS || h->columns < 1) return 0;
    const size_t size = sizeof(Head) + (size_t)h->inputs * sizeof(Input) + (size_t)h->steps * sizeof(Step);
    if ((size_t)PyBytes_GET_SIZE(code) != size) return 0;
    g->inputs = (const Input *)(p + sizeof(Head));
    g->steps = (const Step *)(g->inputs + h->inputs);
    g->columns = h->columns;
    for (idx i = 0; i < h->inputs; i++)
        if (g->inputs[i].kind < FULL || g->inputs[i].kind > SOME || g->inputs[i].every < 1 || g->inputs[i].count < 1)
            return 0;
    for (idx s = 0; s < h->steps; s++) {
        const Step *t = &g->steps[s];
        if (t->kind < 0) continue;
        if (t->kind > WHOLE || t->which < 0 || t->a >= nargs || t->b >= nargs || -t->a > s || -t->b > s) return 0;
        if (t->made < FULL || t->made > ROW || t->out >= h->outs || t->place >= h->places) return 0;
        if (t->made == FULL && t->out < 0 && t->place < 0) return 0;
    }
    return 1;
}

/* One number for every row, without gaps: an array of them, or one in which each is shown for a whole row. */
static int lies_as_rows(PyArrayObject *a, idx rows) {
    idx step = 4, n = 1;
    const int ndim = PyArray_NDIM(a), wide = ndim && PyArray_DIM(a, ndim - 1) != 1 && PyArray_STRIDE(a, ndim - 1) == 0;
    for (int d = ndim - 1 - wide; d >= 0; d--) {
        if (PyArray_DIM(a, d) != 1 && PyArray_STRIDE(a, d) != step) return 0;
        step *= PyArray_DIM(a, d);
        n *= PyArray_DIM(a, d);
    }
    return n == rows;
}

/* One row for all: its numbers beside each other, and nothing else. */
static int lies_as_column(PyArrayObject *a, idx columns) {
    const int last = PyArray_NDIM(a) - 1;
    return last >= 0 && PyArray_SIZE(a) == columns && PyArray_DIM(a, last) == columns && PyArray_STRIDE(a, last) == 4;
}

static void group_fits(Call *c, Group *g) {
    g->rows = 0;
    for (int i = 0; i < g->head->inputs; i++) {
        PyArrayObject *a = strided(c, i);
        if (!a) return;
        g->arrays[i] = DATA(a);
        if (g->inputs[i].kind == FULL) g->rows = PyArray_SIZE(a) / g->columns;
    }
    need(c, g->rows > 0);
    for (idx i = 0; i < g->head->inputs && !c->ends; i++) {
        PyArrayObject *a = ARRAY(c->args[i]);
        const Input *in = &g->inputs[i];
        const idx size = PyArray_SIZE(a);
        int fine = size == 1;
        if (in->kind == FULL) fine = PyArray_IS_C_CONTIGUOUS(a) && size == g->rows * g->columns;
        else if (in->kind == ROW) fine = lies_as_rows(a, g->rows);
        else if (in->kind == COLUMN) fine = lies_as_column(a, g->columns);
        else if (in->kind == SOME) fine = PyArray_IS_C_CONTIGUOUS(a) && size == in->count * g->columns;
        need(c, fine);
    }
}

/* New arrays for what others read, of the group's sizes. */
static void group_results(Call *c, Group *g, PyObject *shapes) {
    idx size[MOST_OUTS] = {0};
    npy_intp shape[DIMS];
    for (idx s = 0; s < g->head->steps; s++)
        if (g->steps[s].kind >= 0 && g->steps[s].out >= 0)
            size[g->steps[s].out] = g->steps[s].made == FULL ? g->rows * g->columns : g->rows;
    for (idx i = 0; i < g->head->outs; i++) {
        PyObject *wanted = PyTuple_GET_ITEM(shapes, i);
        if (!need(c, PyTuple_Check(wanted) && PyTuple_GET_SIZE(wanted) <= DIMS)) return;
        const int ndim = (int)PyTuple_GET_SIZE(wanted);
        for (int d = 0; d < ndim; d++) shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, d));
        if (PyErr_Occurred()) fail(c);
        if (!need(c, PyArray_MultiplyList(shape, ndim) == size[i])) return;
        g->outs[i] = new_floats(c, ndim, shape);
    }
}

static void row_group(Call *c) {
    Group g = {0};
    PyObject *code = attr_of(c, "code"), *shapes = attr_of(c, "shapes");
    if (c->ends || !need(c, group_read(&g, code, c->count) && PyTuple_Check(shapes) && PyTuple_GET_SIZE(shapes) == g.head->outs)) return;
    c->tuple = 1;
    group_fits(c, &g);
    if (c->ends) return;
    group_results(c, &g, shapes);
    g.at_once = g.columns < BLOCK ? BLOCK / g.columns : 1;
    if (g.at_once > g.rows) g.at_once = g.rows;
    g.room = (g.head->places + 2) * g.at_once * g.columns + g.head->steps * g.at_once;
    const double ns = 0.4 * (double)g.head->steps * (double)(g.rows * g.columns);
    const idx parts = threads_parts(ns, (g.rows + g.at_once - 1) / g.at_once);
    if ((g.memory = room(c, (size_t)(parts * g.room) * 4))) run_parts(group_part, &g, parts, ns);
}

const Entry row_group_entries[] = {BOUND("row_group", row_group, .repeats = 1), {NULL}};
