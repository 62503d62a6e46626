/* Arrays of other values, laid out anew, and of one value. What is contiguous in the source but not in the
 * copy is transposed in squares: NumPy's copy walks the source with large steps, a line for every float. */
#include "arrays.h"

typedef struct {
    idx n;                 /* dims of the copy, outermost first, neighbours joined where possible */
    idx size[DIMS], from[DIMS], to[DIMS];
    const float *x;
    float *out;
    int turn;              /* the dim that is contiguous in the source, or -1 */
    idx outer;             /* squares, or rows, to copy */
} Copy;

/* Where item `i` is over all dims but the last and the turned one, and its offsets. */
static void place(const Copy *c, idx i, idx *at, idx *from, idx *to) {
    *from = *to = 0;
    for (idx d = c->n - 2; d >= 0; d--) {
        if (d == c->turn) continue;
        at[d] = i % c->size[d];
        i /= c->size[d];
        *from += at[d] * c->from[d];
        *to += at[d] * c->to[d];
    }
}

/* The next one, without divisions: three of them take as long as copying a short row. */
static void next_place(const Copy *c, idx *at, idx *from, idx *to) {
    for (idx d = c->n - 2; d >= 0; d--) {
        if (d == c->turn) continue;
        *from += c->from[d], *to += c->to[d];
        if (++at[d] < c->size[d]) return;
        *from -= at[d] * c->from[d], *to -= at[d] * c->to[d];
        at[d] = 0;
    }
}

static void copy_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Copy *c = what;
    const idx last = c->n - 1, width = c->size[last], step = c->from[last];
    idx j = share(c->outer, i, parts), from, to, at[DIMS];
    place(c, j, at, &from, &to);
    for (; j < share(c->outer, i + 1, parts); j++, next_place(c, at, &from, &to)) {
        const float *x = c->x + from;
        float *out = c->out + to;
        if (c->turn >= 0) RL->transpose(x, width, c->size[c->turn], step, out, c->to[c->turn]);
        else if (step == 1) memcpy(out, x, (size_t)width * 4);
        else { /* one number for the whole row */
            const float each = *x;
            for (idx k = 0; k < width; k++) out[k] = each;
        }
    }
}

/* The copy of `x` whose axes lie in memory in `order`; 0 when NumPy does as well. */
static int plan_copy(Copy *c, PyArrayObject *x, const idx *order) {
    const int ndim = PyArray_NDIM(x);
    c->n = 0;
    for (int i = 0; i < ndim; i++) {
        const idx size = PyArray_DIM(x, order[i]), step = PyArray_STRIDE(x, order[i]) / 4;
        if (PyArray_STRIDE(x, order[i]) % 4 || step < 0) return 0;
        if (size == 1) continue;
        if (c->n && c->from[c->n - 1] == step * size) { /* joins the dim before it */
            c->size[c->n - 1] *= size;
            c->from[c->n - 1] = step;
            continue;
        }
        c->size[c->n] = size;
        c->from[c->n++] = step;
    }
    if (c->n < 2) return 0;
    idx step = 1;
    for (idx d = c->n - 1; d >= 0; d--) c->to[d] = step, step *= c->size[d];
    c->turn = -1;
    for (idx d = 0; d < c->n - 1; d++)
        if (c->from[d] == 1 && c->size[d] >= 4 && c->from[c->n - 1] > 1) c->turn = (int)d;
    c->outer = 1;
    for (idx d = 0; d < c->n - 1; d++)
        if (d != c->turn) c->outer *= c->size[d];
    return c->turn >= 0 || c->from[c->n - 1] <= 1;
}

static void copy_run(Copy *c, PyArrayObject *x, float *out) {
    c->x = DATA(x), c->out = out;
    if (out) run_shared(copy_part, c, c->outer, (double)PyArray_SIZE(x) * 0.6);
}

typedef struct {
    const char *x;
    char *out;
    size_t bytes;
} Whole;

static void whole_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Whole *w = what;
    const size_t lines = (w->bytes + 63) / 64, from = (size_t)share((idx)lines, i, parts) * 64, end = (size_t)share((idx)lines, i + 1, parts) * 64;
    if (from < w->bytes) memcpy(w->out + from, w->x + from, (end < w->bytes ? end : w->bytes) - from);
}

static int is_word(PyObject *o, const char *word) { return PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, word) == 0; }

static void clone_array(Call *c) {
    PyObject *given = attr_of(c, "order");
    PyArrayObject *x = strided(c, 0);
    if (c->ends) return;
    const int ndim = PyArray_NDIM(x);
    idx order[DIMS], back[DIMS];
    if (ndim && PyArray_IS_C_CONTIGUOUS(x) && (is_word(given, "C") || is_word(given, "K"))) { /* as it lies */
        Whole w = {PyArray_BYTES(x), new_of(c, x, PyArray_TYPE(x)), (size_t)PyArray_NBYTES(x)};
        if (w.out) run_shared(whole_part, &w, (idx)(w.bytes / 65536 + 1), 0.1 * (double)w.bytes);
        return;
    }
    if (!need(c, ndim >= 2 && ndim <= DIMS && PyArray_SIZE(x) >= 1024)) return;
    if (PyUnicode_Check(given)) {
        need(c, is_word(given, "C") && !PyArray_IS_C_CONTIGUOUS(x));
        for (int i = 0; i < ndim; i++) order[i] = i;
    } else dims_of(c, "order", order, ndim);
    Copy copy;
    if (c->ends || !need(c, plan_copy(&copy, x, order))) return;
    npy_intp shape[DIMS];
    int plain = 1;
    for (int i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(x, order[i]);
        back[order[i]] = i;
        plain = plain && order[i] == i;
    }
    copy_run(&copy, x, new_floats(c, ndim, shape));
    PyArray_Dims dims = {back, ndim};
    if (plain || c->ends) return;
    PyArrayObject *made = c->result[0];
    answer(c, ARRAY(PyArray_Transpose(made, &dims)));
    Py_DECREF(made);
}

static void reshape_copy(Call *c) {
    PyArrayObject *x = strided(c, 0);
    npy_intp shape[DIMS];
    idx order[DIMS];
    const int ndim = ints_of(c, "shape", shape);
    if (c->ends || !need(c, PyArray_NDIM(x) >= 2 && PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) >= 1024)) return;
    for (int i = 0; i < PyArray_NDIM(x); i++) order[i] = i;
    Copy copy;
    if (need(c, PyArray_MultiplyList(shape, ndim) == PyArray_SIZE(x) && plan_copy(&copy, x, order))) copy_run(&copy, x, new_floats(c, ndim, shape));
}

/* -- full ------------------------------------------------------------------------------------------- */

/* Whether `dtype`, one of rushlight's, is float32. */
static int names_float32(PyObject *dtype) {
    PyObject *np = PyObject_GetAttrString(dtype, "np");
    if (!np) {
        PyErr_Clear();
        return 0;
    }
    const int found = PyArray_DescrCheck(np) && ((PyArray_Descr *)np)->type_num == NPY_FLOAT32;
    Py_DECREF(np);
    return found;
}

#define MANY_ZEROS 65536 /* so many come untouched from the system, and are written when first used */

/* Whether an attribute is there and says something. */
static int has(Call *c, const char *name) {
    PyObject *found = PyDict_GetItemString(c->attrs, name);
    return found && found != Py_None;
}

static void full(Call *c) {
    double number = 0;
    npy_intp shape[DIMS];
    PyObject *value = attr_of(c, "value"), *dtype = attr_of(c, "dtype");
    const int ndim = ints_of(c, "size", shape);
    if (c->ends || !need(c, !has(c, "order") && plain_number(value, &number) && names_float32(dtype))) return;
    for (int i = 0; i < ndim; i++) need(c, shape[i] >= 0);
    if (!need(c, number != 0.0 || PyArray_MultiplyList(shape, ndim) <= MANY_ZEROS)) return;
    float *to = new_floats(c, ndim, shape);
    const float each = (float)number;
    for (idx i = 0, n = to ? PyArray_SIZE(c->result[0]) : 0; i < n; i++) to[i] = each;
}

/* Numbers of equal distance, from both ends to the middle, so that the ends are exact; doubles are rounded once. */
static void linspace(Call *c) {
    double first, last;
    npy_intp shape[DIMS];
    PyObject *from = attr_of(c, "start"), *upto = attr_of(c, "end"), *dtype = attr_of(c, "dtype");
    if (ints_of(c, "size", shape) != 1) refuse(c);
    if (c->ends || !need(c, !has(c, "base") && names_float32(dtype) && plain_number(from, &first) && plain_number(upto, &last))) return;
    const idx steps = shape[0];
    const float start = (float)first, end = (float)last;
    float *to = need(c, steps >= 2 && start - start == 0 && end - end == 0) ? new_floats(c, 1, shape) : NULL;
    if (!to) return;
    const double gap = (double)((end - start) / (float)(steps - 1));
    for (idx i = 0; i < steps / 2; i++) to[i] = (float)((double)start + gap * (double)i);
    for (idx i = steps / 2; i < steps; i++) to[i] = (float)((double)end + -gap * (double)(steps - 1 - i));
}

/* -- the other way round --------------------------------------------------------------------------------- */

typedef struct {
    const char *x;
    char *out;
    idx rows, n, bytes, sizes[DIMS]; /* rows of n: what is turned inside, or copied whole */
    int ndim, turned, inside, alone; /* of the dims before a row; turned: a bit per dim; alone: floats inside of rows */
} Flip;

static void turn_row(const Flip *f, const char *x, char *out) {
    if (f->bytes == 4) RL->reverse((const float *)x, (float *)out, 1, f->n);
    else if (f->bytes == 8)
        for (idx k = 0; k < f->n; k++) ((uint64_t *)out)[k] = ((const uint64_t *)x)[f->n - 1 - k];
    else
        for (idx k = 0; k < f->n; k++) memcpy(out + k * f->bytes, x + (f->n - 1 - k) * f->bytes, (size_t)f->bytes);
}

static void flip_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Flip *f = what;
    const size_t row = (size_t)(f->n * f->bytes);
    if (f->alone) {
        const idx first = share(f->rows, i, parts);
        RL->reverse((const float *)f->x + first * f->n, (float *)f->out + first * f->n, share(f->rows, i + 1, parts) - first, f->n);
        return;
    }
    idx r = share(f->rows, i, parts), left = r, at[DIMS], step[DIMS], from = 0, size = 1; /* from: the row that goes to r */
    for (int d = f->ndim - 1; d >= 0; d--) {
        const int turned = f->turned >> d & 1;
        at[d] = left % f->sizes[d], left /= f->sizes[d];
        from += (turned ? f->sizes[d] - 1 - at[d] : at[d]) * size;
        step[d] = turned ? -size : size;
        size *= f->sizes[d];
    }
    for (; r < share(f->rows, i + 1, parts); r++) {
        const char *x = f->x + (size_t)from * row;
        if (f->inside) turn_row(f, x, f->out + (size_t)r * row);
        else memcpy(f->out + (size_t)r * row, x, row);
        for (int d = f->ndim - 1; d >= 0; d--) { /* the next one, without divisions */
            from += step[d];
            if (++at[d] < f->sizes[d]) break;
            from -= step[d] * at[d], at[d] = 0;
        }
    }
}

/* A plain array of one of NumPy's own types with numbers in it, of as many dims as are looked at. */
static PyArrayObject *some_plain(Call *c) {
    PyArrayObject *x = any_type(c, 0);
    return x && need(c, PyArray_NDIM(x) >= 1 && PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0 && PyArray_TYPE(x) < NPY_USERDEF) ? x : NULL;
}

static void flip(Call *c) {
    idx dims[DIMS];
    PyArrayObject *x = some_plain(c);
    const int count = ints_of(c, "dims", dims);
    if (c->ends) return;
    Flip f = {.ndim = PyArray_NDIM(x), .n = 1, .bytes = PyArray_ITEMSIZE(x), .x = PyArray_BYTES(x)};
    for (int i = 0; i < count; i++)
        if (need(c, dims[i] >= 0 && dims[i] < f.ndim)) f.turned |= 1 << dims[i];
    if (!(f.out = new_of(c, x, PyArray_TYPE(x)))) return;
    f.inside = f.turned >> (f.ndim - 1) & 1;
    while (f.ndim > 0 && (f.turned >> (f.ndim - 1) & 1) == f.inside) /* turned dims side by side are one, others too */
        f.n *= PyArray_DIM(x, --f.ndim);
    for (int d = 0; d < f.ndim; d++) f.sizes[d] = PyArray_DIM(x, d);
    f.alone = f.inside && f.bytes == 4 && !(f.turned & ((1 << f.ndim) - 1));
    f.rows = PyArray_SIZE(x) / f.n;
    run_shared(flip_part, &f, f.rows, 0.5 * (double)PyArray_SIZE(x) + 5.0 * (double)f.rows);
}

/* -- what leaves at the end comes back at the front -------------------------------------------------------- */

typedef struct {
    const char *x;
    char *out;
    idx n, by;                              /* bytes of a row, and of its end that comes to its front */
    int ndim;                               /* dims before a row: at least one, neighbours that stay joined */
    idx sizes[DIMS], steps[DIMS], outer;    /* outer: of all of them but the last */
} Roll;

#define NEAR_BYTES 16384 /* of rows whose two pieces are copied one after the other: they stay in the first cache */

/* Rows that follow each other in both. */
static void roll_rows(const Roll *q, const char *x, char *out, idx rows) {
    if (q->n % 4 || q->by % 4 || q->n > NEAR_BYTES) {
        for (; rows > 0; rows--, x += q->n, out += q->n) {
            memcpy(out, x + q->n - q->by, (size_t)q->by);
            memcpy(out + q->by, x, (size_t)(q->n - q->by));
        }
        return;
    }
    const idx together = NEAR_BYTES / q->n, n = q->n / 4, by = q->by / 4;
    for (; rows > 0; rows -= together, x += together * q->n, out += together * q->n) {
        const idx some = rows < together ? rows : together;
        RL->copy_rows((const float *)x + n - by, n, (float *)out, n, some, by);
        RL->copy_rows((const float *)x, n, (float *)out + by, n, some, n - by);
    }
}

/* Rows [low, high) of the o-th item of the outer dims: what comes to the front, and what follows. */
static void roll_item(const Roll *q, idx o, idx low, idx high) {
    const int last = q->ndim - 1;
    const idx size = q->sizes[last], step = q->steps[last], middle = low > step ? low : high < step ? high : step;
    idx left = o, from = 0, stride = 1;
    for (int d = last - 1; d >= 0; d--) {
        const idx at = left % q->sizes[d] - q->steps[d];
        from += (at < 0 ? at + q->sizes[d] : at) * stride;
        left /= q->sizes[d], stride *= q->sizes[d];
    }
    const char *x = q->x + from * size * q->n;
    char *out = q->out + o * size * q->n;
    roll_rows(q, x + (size - step + low) * q->n, out + low * q->n, middle - low);
    roll_rows(q, x + (middle - step) * q->n, out + middle * q->n, high - middle);
}

static void roll_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Roll *q = what;
    const idx size = q->sizes[q->ndim - 1];
    if (q->outer == 1) roll_item(q, 0, share(size, i, parts), share(size, i + 1, parts));
    else
        for (idx o = share(q->outer, i, parts); o < share(q->outer, i + 1, parts); o++) roll_item(q, o, 0, size);
}

/* shifts, dims: how far each dim is moved, below its own size. */
static void roll(Call *c) {
    PyArrayObject *x = some_plain(c);
    idx steps[DIMS] = {0}, shifts[DIMS], dims[DIMS];
    const int count = ints_of(c, "dims", dims), moved = ints_of(c, "shifts", shifts);
    if (c->ends || !need(c, count == moved)) return;
    for (int i = 0; i < count; i++) {
        if (!need(c, dims[i] >= 0 && dims[i] < PyArray_NDIM(x))) return;
        const idx size = PyArray_DIM(x, dims[i]), rest = shifts[i] % size;
        steps[dims[i]] = (steps[dims[i]] + (rest < 0 ? rest + size : rest)) % size;
    }
    Roll q = {.x = PyArray_BYTES(x), .out = new_of(c, x, PyArray_TYPE(x)), .n = PyArray_ITEMSIZE(x), .outer = 1};
    if (!q.out) return;
    int d = PyArray_NDIM(x);
    while (d > 0 && steps[d - 1] == 0) q.n *= PyArray_DIM(x, --d);
    if (d > 0) d--, q.by = steps[d] * q.n, q.n *= PyArray_DIM(x, d); /* the last dim that moves is part of a row */
    for (int k = 0; k < d; k++) {
        const int joins = q.ndim && !steps[k] && !q.steps[q.ndim - 1];
        if (joins) q.sizes[q.ndim - 1] *= PyArray_DIM(x, k);
        else q.sizes[q.ndim] = PyArray_DIM(x, k), q.steps[q.ndim++] = steps[k];
    }
    if (!q.ndim) q.sizes[q.ndim++] = 1;
    for (int k = 0; k < q.ndim - 1; k++) q.outer *= q.sizes[k];
    run_shared(roll_part, &q, q.outer == 1 ? q.sizes[q.ndim - 1] : q.outer, 0.3 * (double)PyArray_SIZE(x) + 20.0 * (double)q.outer);
}

const Entry move_entries[] = {
    BOUND("roll", roll), BOUND("clone", clone_array, .repeats = 1), BOUND("reshape_copy", reshape_copy, .repeats = 1), BOUND("full", full),
    BOUND("linspace", linspace), BOUND("flip", flip, .repeats = 1), {NULL},
};
