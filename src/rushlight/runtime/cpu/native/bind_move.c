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
    c->x = DATA(x);
    c->out = out;
    const double ns = (double)PyArray_SIZE(x) * 0.6;
    run_parts(copy_part, c, threads_parts(ns, c->outer), ns);
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

/* An array in C order, as it lies. */
static PyObject *whole_copy(PyArrayObject *x) {
    PyArrayObject *out = array_new(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
    if (!out) return NULL;
    Whole w = {PyArray_BYTES(x), PyArray_BYTES(out), (size_t)PyArray_NBYTES(x)};
    const double ns = 0.1 * (double)w.bytes;
    run_parts(whole_part, &w, threads_parts(ns, (idx)(w.bytes / 65536 + 1)), ns);
    return (PyObject *)out;
}

static PyObject *clone_array(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *given = attr(attrs, "order");
    if (!given) return NULL;
    if (!is_float(args[0])) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int ndim = PyArray_NDIM(x);
    idx order[DIMS], back[DIMS];
    const int kept = PyUnicode_Check(given) && (PyUnicode_CompareWithASCIIString(given, "C") == 0 || PyUnicode_CompareWithASCIIString(given, "K") == 0);
    if (kept && ndim && PyArray_IS_C_CONTIGUOUS(x)) return whole_copy(x);
    if (ndim < 2 || ndim > DIMS || PyArray_SIZE(x) < 1024) return REFUSE;
    if (PyUnicode_Check(given)) {
        if (PyUnicode_CompareWithASCIIString(given, "C") != 0 || PyArray_IS_C_CONTIGUOUS(x)) return REFUSE;
        for (int i = 0; i < ndim; i++) order[i] = i;
    } else if (attr_dims(attrs, "order", order, ndim) < 0) {
        return NULL;
    }
    Copy c;
    if (!plan_copy(&c, x, order)) return REFUSE;
    npy_intp shape[DIMS], perm[DIMS];
    int plain = 1;
    for (int i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(x, order[i]);
        back[order[i]] = i;
        plain = plain && order[i] == i;
    }
    PyArrayObject *out = array_new(ndim, shape, NPY_FLOAT32);
    if (!out) return NULL;
    copy_run(&c, x, DATA(out));
    if (plain) return (PyObject *)out;
    for (int i = 0; i < ndim; i++) perm[i] = back[i];
    PyArray_Dims dims = {perm, ndim};
    PyObject *turned = PyArray_Transpose(out, &dims);
    Py_DECREF(out);
    return turned;
}

static PyObject *reshape_copy(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *target = attr(attrs, "shape");
    if (!target) return NULL;
    if (!is_float(args[0]) || !PyTuple_Check(target) || PyTuple_GET_SIZE(target) > DIMS) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    idx order[DIMS], size = 1;
    if (PyArray_NDIM(x) < 2 || PyArray_NDIM(x) > DIMS || PyArray_SIZE(x) < 1024) return REFUSE;
    npy_intp shape[DIMS];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(target); i++) {
        shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(target, i));
        if (shape[i] == -1 && PyErr_Occurred()) return NULL;
        size *= shape[i];
    }
    for (int i = 0; i < PyArray_NDIM(x); i++) order[i] = i;
    Copy c;
    if (size != PyArray_SIZE(x) || !plan_copy(&c, x, order)) return REFUSE;
    PyArrayObject *out = array_new((int)PyTuple_GET_SIZE(target), shape, NPY_FLOAT32);
    if (out) copy_run(&c, x, DATA(out));
    return (PyObject *)out;
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

static PyObject *full(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *size = attr(attrs, "size"), *value = attr(attrs, "value"), *dtype = attr(attrs, "dtype");
    if (!size || !value || !dtype) return NULL;
    PyObject *order = PyDict_GetItemString(attrs, "order");
    if ((order && order != Py_None) || !PyTuple_Check(size) || PyTuple_GET_SIZE(size) > DIMS) return REFUSE;
    if (!(PyFloat_CheckExact(value) || PyLong_CheckExact(value)) || !names_float32(dtype)) return REFUSE;
    npy_intp shape[DIMS];
    const int ndim = (int)PyTuple_GET_SIZE(size);
    for (int i = 0; i < ndim; i++) {
        shape[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(size, i));
        if (shape[i] == -1 && PyErr_Occurred()) return NULL;
        if (shape[i] < 0) return REFUSE;
    }
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) {
        PyErr_Clear(); /* an int beyond all floats: NumPy says so */
        return REFUSE;
    }
    if (number == 0.0 && PyArray_MultiplyList(shape, ndim) > MANY_ZEROS) return REFUSE;
    PyArrayObject *out = array_new(ndim, shape, NPY_FLOAT32);
    if (!out) return NULL;
    float *to = DATA(out);
    const float each = (float)number;
    const idx n = PyArray_SIZE(out);
    for (idx i = 0; i < n; i++) to[i] = each;
    return (PyObject *)out;
}

/* Numbers of equal distance, from both ends to the middle, so that the ends are exact; doubles are rounded once. */
static PyObject *linspace(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *size = attr(attrs, "size"), *first = attr(attrs, "start"), *last = attr(attrs, "end"), *dtype = attr(attrs, "dtype");
    if (!size || !first || !last || !dtype) return NULL;
    PyObject *base = PyDict_GetItemString(attrs, "base");
    if ((base && base != Py_None) || !PyTuple_Check(size) || PyTuple_GET_SIZE(size) != 1 || !names_float32(dtype)) return REFUSE;
    if (!(PyFloat_CheckExact(first) || PyLong_CheckExact(first)) || !(PyFloat_CheckExact(last) || PyLong_CheckExact(last))) return REFUSE;
    const float start = (float)PyFloat_AsDouble(first), end = (float)PyFloat_AsDouble(last);
    npy_intp steps = PyLong_AsSsize_t(PyTuple_GET_ITEM(size, 0));
    if (PyErr_Occurred()) PyErr_Clear(), steps = 0; /* an int beyond all floats: NumPy says so */
    if (steps < 2 || !(start - start == 0) || !(end - end == 0)) return REFUSE;
    PyArrayObject *out = array_new(1, &steps, NPY_FLOAT32);
    if (!out) return NULL;
    const double gap = (double)((end - start) / (float)(steps - 1));
    float *to = DATA(out);
    for (idx i = 0; i < steps / 2; i++) to[i] = (float)((double)start + gap * (double)i);
    for (idx i = steps / 2; i < steps; i++) to[i] = (float)((double)end + -gap * (double)(steps - 1 - i));
    return (PyObject *)out;
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

static PyObject *flip(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *dims = attr(attrs, "dims");
    if (!dims) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyTuple_Check(dims)) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    Flip f = {.ndim = PyArray_NDIM(x), .n = 1, .bytes = PyArray_ITEMSIZE(x)};
    if (f.ndim < 1 || f.ndim > DIMS || !PyArray_IS_C_CONTIGUOUS(x) || !PyArray_ISALIGNED(x) || PyArray_SIZE(x) == 0 ||
        PyArray_TYPE(x) == NPY_OBJECT || PyArray_TYPE(x) >= NPY_USERDEF)
        return REFUSE;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dims); i++) {
        const long d = PyLong_AsLong(PyTuple_GET_ITEM(dims, i));
        if (d == -1 && PyErr_Occurred()) return NULL;
        if (d < 0 || d >= f.ndim) return REFUSE;
        f.turned |= 1 << d;
    }
    PyArrayObject *out = array_new(f.ndim, PyArray_DIMS(x), PyArray_TYPE(x));
    if (!out) return NULL;
    f.inside = f.turned >> (f.ndim - 1) & 1;
    while (f.ndim > 0 && (f.turned >> (f.ndim - 1) & 1) == f.inside) /* turned dims side by side are one, others too */
        f.n *= PyArray_DIM(x, --f.ndim);
    for (int d = 0; d < f.ndim; d++) f.sizes[d] = PyArray_DIM(x, d);
    f.alone = f.inside && f.bytes == 4 && !(f.turned & ((1 << f.ndim) - 1));
    f.rows = PyArray_SIZE(x) / f.n, f.x = PyArray_BYTES(x), f.out = PyArray_BYTES(out);
    const double ns = 0.5 * (double)PyArray_SIZE(x) + 5.0 * (double)f.rows;
    run_parts(flip_part, &f, threads_parts(ns, f.rows), ns);
    return (PyObject *)out;
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

/* How far each dim is moved, in numbers of its own size, each below it; false where an attribute is another thing. */
static int roll_steps(PyObject *shifts, PyObject *dims, PyArrayObject *x, idx *by) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dims); i++) {
        const long d = PyLong_AsLong(PyTuple_GET_ITEM(dims, i));
        const long long shift = PyLong_AsLongLong(PyTuple_GET_ITEM(shifts, i));
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        if (d < 0 || d >= PyArray_NDIM(x)) return 0;
        const idx size = PyArray_DIM(x, d), rest = (idx)(shift % size);
        by[d] = (by[d] + (rest < 0 ? rest + size : rest)) % size;
    }
    return 1;
}

static PyObject *roll(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    PyObject *shifts = attr(attrs, "shifts"), *dims = attr(attrs, "dims");
    if (!shifts || !dims) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyTuple_Check(dims) || !PyTuple_Check(shifts)) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    const int all = PyArray_NDIM(x);
    idx steps[DIMS] = {0};
    if (all < 1 || all > DIMS || !PyArray_IS_C_CONTIGUOUS(x) || PyArray_SIZE(x) == 0 || PyArray_TYPE(x) == NPY_OBJECT ||
        PyArray_TYPE(x) >= NPY_USERDEF || PyTuple_GET_SIZE(shifts) != PyTuple_GET_SIZE(dims) || !roll_steps(shifts, dims, x, steps))
        return REFUSE;
    PyArrayObject *out = array_new(all, PyArray_DIMS(x), PyArray_TYPE(x));
    if (!out) return NULL;
    Roll q = {.x = PyArray_BYTES(x), .out = PyArray_BYTES(out), .n = PyArray_ITEMSIZE(x), .outer = 1};
    int d = all;
    while (d > 0 && steps[d - 1] == 0) q.n *= PyArray_DIM(x, --d);
    if (d > 0) d--, q.by = steps[d] * q.n, q.n *= PyArray_DIM(x, d); /* the last dim that moves is part of a row */
    for (int k = 0; k < d; k++) {
        const int joins = q.ndim && !steps[k] && !q.steps[q.ndim - 1];
        if (joins) q.sizes[q.ndim - 1] *= PyArray_DIM(x, k);
        else q.sizes[q.ndim] = PyArray_DIM(x, k), q.steps[q.ndim++] = steps[k];
    }
    if (!q.ndim) q.sizes[q.ndim++] = 1;
    for (int k = 0; k < q.ndim - 1; k++) q.outer *= q.sizes[k];
    const double ns = 0.3 * (double)PyArray_SIZE(x) + 20.0 * (double)q.outer;
    run_parts(roll_part, &q, threads_parts(ns, q.outer == 1 ? q.sizes[q.ndim - 1] : q.outer), ns);
    return (PyObject *)out;
}

const Entry move_entries[] = {{"roll", roll}, {"clone", clone_array, .repeats = 1}, {"reshape_copy", reshape_copy, .repeats = 1}, {"full", full}, {"linspace", linspace}, {"flip", flip, .repeats = 1}, {NULL, NULL}};
