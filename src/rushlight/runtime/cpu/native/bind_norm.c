/* batch_norm_train, batch_norm_grad, batch_norm_eval, layer_norm, rms_norm and their gradients. */
#include "arrays.h"

#include "codes.h"

#define ROWS_HELD 4096 /* floats that a layer norm with an addition takes at a time */

typedef struct {
    const float *x, *g, *w, *b;
    const float *other; /* layer_norm: what is added to x first; its derivative: to the gradient at last */
    float *y, *mean, *rstd, *gw, *gb, *total;
    idx n, c, m; /* images, channels, places of a channel in an image */
    double eps;
    int still; /* the statistics do not depend on x */
} Norm;

static const float *optional(PyObject *o) { return o == Py_None ? NULL : DATA(ARRAY(o)); }
static int fits(PyObject *o, idx n) { return o == Py_None || (is_plain(o) && PyArray_SIZE(ARRAY(o)) == n); }

/* -- batch norm: channels are shared out ----------------------------------------------------------- */

static void train_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const double count = (double)(q->n * q->m);
    for (idx c = share(q->c, i, parts); c < share(q->c, i + 1, parts); c++) {
        const float *x = q->x + c * q->m;
        const idx image = q->c * q->m;
        double sum = 0, square = 0;
        for (idx n = 0; n < q->n; n++) RL->moments(x + n * image, q->m, &sum, &square, x[0]);
        const double at = sum / count;
        double var = square / count - at * at;
        if (var < 0) var = 0;
        const float mean = (float)((double)x[0] + at), rstd = (float)(1.0 / sqrt(var + q->eps));
        q->mean[c] = mean;
        q->rstd[c] = rstd;
        const float scale = q->w ? q->w[c] * rstd : rstd;
        const float shift = (float)((q->b ? (double)q->b[c] : 0.0) - (double)mean * (double)scale);
        for (idx n = 0; n < q->n; n++) RL->affine(x + n * image, q->y + c * q->m + n * image, q->m, scale, shift);
    }
}

/* Rows of channels, nothing behind them: blocks of columns are shared out. */
#define BLOCK 64

static void train_columns(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx blocks = (q->c + BLOCK - 1) / BLOCK;
    const double count = (double)q->n;
    for (idx b = share(blocks, i, parts); b < share(blocks, i + 1, parts); b++) {
        const idx c0 = b * BLOCK, here = q->c - c0 < BLOCK ? q->c - c0 : BLOCK;
        double sum[BLOCK], square[BLOCK];
        float scale[BLOCK], shift[BLOCK];
        RL->column_moments(q->x + c0, q->n, q->c, here, sum, square);
        for (idx c = 0; c < here; c++) {
            const double at = sum[c] / count, var = square[c] / count - at * at;
            const float mean = (float)((double)q->x[c0 + c] + at);
            const float rstd = (float)(1.0 / sqrt((var < 0 ? 0 : var) + q->eps));
            q->mean[c0 + c] = mean, q->rstd[c0 + c] = rstd;
            scale[c] = q->w ? q->w[c0 + c] * rstd : rstd;
            shift[c] = (float)((q->b ? (double)q->b[c0 + c] : 0.0) - (double)mean * (double)scale[c]);
        }
        RL->column_affine(q->x + c0, q->y + c0, q->n, q->c, here, scale, shift);
    }
}

static void grad_columns(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx blocks = (q->c + BLOCK - 1) / BLOCK;
    const double count = (double)q->n;
    for (idx b = share(blocks, i, parts); b < share(blocks, i + 1, parts); b++) {
        const idx c0 = b * BLOCK, here = q->c - c0 < BLOCK ? q->c - c0 : BLOCK;
        double sg[BLOCK], sgx[BLOCK];
        float abc[3 * BLOCK];
        RL->column_sums(q->g + c0, q->x + c0, q->n, q->c, here, q->mean + c0, sg, sgx);
        for (idx c = 0; c < here; c++) {
            const double rstd = q->rstd[c0 + c];
            const double scale = rstd * (q->w ? (double)q->w[c0 + c] : 1.0);
            const double slope = sgx[c] * rstd * rstd / count;
            q->gb[c0 + c] = (float)sg[c];
            q->gw[c0 + c] = (float)(sgx[c] * rstd);
            abc[c] = (float)scale, abc[here + c] = (float)(-scale * slope);
            abc[2 * here + c] = (float)(-scale * sg[c] / count);
        }
        if (q->still) {
            memset(abc + here, 0, (size_t)here * 4);
            RL->column_affine(q->g + c0, q->y + c0, q->n, q->c, here, abc, abc + here);
            continue;
        }
        RL->column_back(q->g + c0, q->x + c0, q->y + c0, q->n, q->c, here, abc, q->mean + c0);
    }
}

static int norm_array(Norm *q, PyObject *o) {
    if (!is_plain(o)) return 0;
    PyArrayObject *x = ARRAY(o);
    const int ndim = PyArray_NDIM(x);
    if (ndim < 2 || PyArray_SIZE(x) == 0) return 0;
    q->x = DATA(x), q->n = PyArray_DIM(x, 0), q->c = PyArray_DIM(x, 1), q->m = 1;
    for (int i = 2; i < ndim; i++) q->m *= PyArray_DIM(x, i);
    return q->m == 1 || q->m >= 4; /* shorter runs: NumPy's way is better */
}

static PyObject *batch_norm_train(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Norm q = {0};
    if (attr_double(attrs, "eps", &q.eps) < 0) return NULL;
    if (!norm_array(&q, args[0]) || !fits(args[1], q.c) || !fits(args[2], q.c)) return REFUSE;
    PyArrayObject *y = array_like(ARRAY(args[0]));
    PyArrayObject *mean = array_new(1, &q.c, NPY_FLOAT32), *rstd = array_new(1, &q.c, NPY_FLOAT32);
    if (!y || !mean || !rstd) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(rstd);
        return NULL;
    }
    q.w = optional(args[1]), q.b = optional(args[2]);
    q.y = DATA(y), q.mean = DATA(mean), q.rstd = DATA(rstd);
    const double ns = (double)PyArray_SIZE(y) * 0.9;
    if (q.m == 1) run_parts(train_columns, &q, threads_parts(ns, (q.c + BLOCK - 1) / BLOCK), ns);
    else run_parts(train_part, &q, threads_parts(ns, q.c), ns);
    return Py_BuildValue("NNN", y, mean, rstd);
}

static void train_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const double count = (double)(q->n * q->m);
    const idx image = q->c * q->m;
    for (idx c = share(q->c, i, parts); c < share(q->c, i + 1, parts); c++) {
        const float *x = q->x + c * q->m, *g = q->g + c * q->m;
        const double mean = q->mean[c], rstd = q->rstd[c];
        double sg = 0, sgx = 0;
        for (idx n = 0; n < q->n; n++) RL->norm_sums(g + n * image, x + n * image, q->m, q->mean[c], &sg, &sgx);
        q->gb[c] = (float)sg;
        q->gw[c] = (float)(sgx * rstd);
        /* gx = scale * (g - mean(g) - hat * mean(g * hat)), written as a * g + b * x + c */
        const double scale = rstd * (q->w ? (double)q->w[c] : 1.0), slope = sgx * rstd * rstd / count;
        const float a = (float)scale, b = (float)(-scale * slope);
        const float shift = (float)(scale * (slope * mean - sg / count));
        for (idx n = 0; q->still && n < q->n; n++)
            RL->affine(g + n * image, q->y + c * q->m + n * image, q->m, a, 0.0f);
        for (idx n = 0; !q->still && n < q->n; n++)
            RL->norm_back(g + n * image, x + n * image, q->y + c * q->m + n * image, q->m, a, b, shift);
    }
}

typedef struct {
    const float *variance;
    float *rstd;
    idx n;
    double eps;
} Deviation;

static void deviation_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Deviation *d = what;
    for (idx c = 0; c < d->n; c++) d->rstd[c] = (float)(1.0 / sqrt((double)d->variance[c] + d->eps));
}

/* still: the statistics are not the batch's, and args[4] is a variance. */
static PyObject *batch_grad(PyObject *const *args, PyObject *attrs, int still) {
    Norm q = {.still = still};
    if (attr_double(attrs, "eps", &q.eps) < 0) return NULL;
    if (!norm_array(&q, args[1]) || !fits(args[2], q.c) || !is_plain(args[0]) || !is_plain(args[3]) ||
        !is_plain(args[4]) || PyArray_SIZE(ARRAY(args[0])) != PyArray_SIZE(ARRAY(args[1])) ||
        PyArray_SIZE(ARRAY(args[3])) != q.c || PyArray_SIZE(ARRAY(args[4])) != q.c)
        return REFUSE;
    PyArrayObject *gx = array_like(ARRAY(args[1]));
    PyArrayObject *gw = array_new(1, &q.c, NPY_FLOAT32), *gb = array_new(1, &q.c, NPY_FLOAT32);
    if (!gx || !gw || !gb) {
        Py_XDECREF(gx);
        Py_XDECREF(gw);
        Py_XDECREF(gb);
        return NULL;
    }
    q.g = DATA(ARRAY(args[0])), q.w = optional(args[2]);
    q.mean = DATA(ARRAY(args[3])), q.rstd = DATA(ARRAY(args[4]));
    q.y = DATA(gx), q.gw = DATA(gw), q.gb = DATA(gb);
    const double ns = (double)PyArray_SIZE(gx) * 1.2;
    const size_t bytes = still ? (size_t)q.c * 4 : 0;
    float *rstd = still ? memory_take(bytes) : NULL;
    Deviation of = {q.rstd, rstd, q.c, q.eps};
    if (rstd) run_once(deviation_part, &of, (double)q.c);
    if (rstd) q.rstd = rstd;
    if (still && !rstd) {
        Py_DECREF(gx);
        Py_DECREF(gw);
        Py_DECREF(gb);
        return PyErr_NoMemory();
    }
    if (q.m == 1) run_parts(grad_columns, &q, threads_parts(ns, (q.c + BLOCK - 1) / BLOCK), ns);
    else run_parts(train_grad_part, &q, threads_parts(ns, q.c), ns);
    if (rstd) memory_give(rstd, bytes);
    return Py_BuildValue("NNN", gx, gw, gb);
}

static PyObject *batch_norm_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return batch_grad(a, attrs, 0); }
static PyObject *batch_norm_eval_grad(PyObject *const *a, Py_ssize_t n, PyObject *attrs) { return batch_grad(a, attrs, 1); }

static void eval_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx planes = q->n * q->c;
    for (idx j = share(planes, i, parts); j < share(planes, i + 1, parts); j++) {
        const idx c = j % q->c;
        const double scale = (q->w ? (double)q->w[c] : 1.0) / sqrt((double)q->rstd[c] + q->eps);
        const double shift = (q->b ? (double)q->b[c] : 0.0) - (double)q->mean[c] * scale;
        RL->affine(q->x + j * q->m, q->y + j * q->m, q->m, (float)scale, (float)shift);
    }
}

static PyObject *batch_norm_eval(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Norm q = {0};
    if (attr_double(attrs, "eps", &q.eps) < 0) return NULL;
    if (!norm_array(&q, args[0]) || q.m == 1) return REFUSE;
    for (int i = 1; i < 5; i++)
        if (!fits(args[i], q.c) || (i > 2 && args[i] == Py_None)) return REFUSE;
    PyArrayObject *y = array_like(ARRAY(args[0]));
    if (!y) return NULL;
    q.w = optional(args[1]), q.b = optional(args[2]), q.y = DATA(y);
    q.mean = DATA(ARRAY(args[3])), q.rstd = DATA(ARRAY(args[4])); /* the variance here */
    const double ns = (double)PyArray_SIZE(y) * 0.4;
    run_parts(eval_part, &q, threads_parts(ns, q.n * q.c), ns);
    return (PyObject *)y;
}

/* -- layer norm: rows are shared out ---------------------------------------------------------------- */

static int layer_array(Norm *q, PyObject *o, idx dims) {
    if (!is_plain(o)) return 0;
    PyArrayObject *x = ARRAY(o);
    const int ndim = PyArray_NDIM(x);
    if (dims < 1 || dims > ndim || ndim > DIMS || PyArray_SIZE(x) == 0) return 0;
    q->x = DATA(x), q->n = q->m = 1;
    for (int i = 0; i < ndim; i++) *(i < ndim - dims ? &q->n : &q->m) *= PyArray_DIM(x, i);
    return 1;
}

static void layer_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx end = share(q->n, i + 1, parts);
    idx from = share(q->n, i, parts), rows = q->other ? (ROWS_HELD + q->m - 1) / q->m : end - from;
    for (; from < end; from += rows) {
        if (rows > end - from) rows = end - from;
        const idx at = from * q->m;
        const float *x = q->x + at;
        if (q->other) { /* a few rows at a time, so that they are still in the cache */
            RL->binary(B_ADD, x, q->other + at, q->total + at, rows * q->m);
            x = q->total + at;
        }
        RL->layer_norm(x, q->w, q->b, q->y + at, q->mean + from, q->rstd + from, rows, q->m, (float)q->eps);
    }
}

/* layer_norm(x, weight, bias), or add_layer_norm(x, other, weight, bias), which answers x + other as well. */
static PyObject *layer_forward(PyObject *const *args, PyObject *attrs, int adds) {
    Norm q = {0};
    idx dims;
    if (attr_double(attrs, "eps", &q.eps) < 0 || attr_idx(attrs, "dims", &dims) < 0) return NULL;
    PyObject *const *affine = args + 1 + adds;
    if (!layer_array(&q, args[0], dims) || !fits(affine[0], q.m) || !fits(affine[1], q.m)) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    if (adds && !(is_plain(args[1]) && PyArray_SAMESHAPE(ARRAY(args[1]), x))) return REFUSE;
    npy_intp shape[DIMS];
    for (int i = 0; i < PyArray_NDIM(x); i++) shape[i] = i < PyArray_NDIM(x) - dims ? PyArray_DIM(x, i) : 1;
    PyArrayObject *y = array_like(x), *mean = array_new(PyArray_NDIM(x), shape, NPY_FLOAT32);
    PyArrayObject *rstd = array_new(PyArray_NDIM(x), shape, NPY_FLOAT32), *total = adds ? array_like(x) : NULL;
    if (!y || !mean || !rstd || (adds && !total)) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(rstd);
        Py_XDECREF(total);
        return NULL;
    }
    q.w = optional(affine[0]), q.b = optional(affine[1]);
    q.y = DATA(y), q.mean = DATA(mean), q.rstd = DATA(rstd);
    if (adds) q.other = DATA(ARRAY(args[1])), q.total = DATA(total);
    const double ns = (double)PyArray_SIZE(x) * (adds ? 1.0 : 0.8);
    run_parts(layer_part, &q, threads_parts(ns, q.n), ns);
    return adds ? Py_BuildValue("NNNN", y, mean, rstd, total) : Py_BuildValue("NNN", y, mean, rstd);
}

static PyObject *layer_norm(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    return layer_forward(args, attrs, 0);
}

static PyObject *add_layer_norm(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    return layer_forward(args, attrs, 1);
}

static void layer_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx from = share(q->n, i, parts), rows = share(q->n, i + 1, parts) - from, at = from * q->m;
    float *gw = q->gw + 2 * i * q->m, *gb = gw + q->m; /* every share its own sums */
    memset(gw, 0, (size_t)(2 * q->m) * 4);
    if (!q->other) {
        RL->layer_norm_grad(q->g + at, q->x + at, q->w, q->mean + from, q->rstd + from, q->y + at, gw, gb, rows, q->m);
        return;
    }
    for (idx r = 0; r < rows; r++) {
        const idx here = at + r * q->m;
        RL->layer_norm_grad(q->g + here, q->x + here, q->w, q->mean + from + r, q->rstd + from + r, q->y + here, gw,
                            gb, 1, q->m);
        RL->add_into(q->y + here, q->other + here, q->m);
    }
}

/* layer_norm_grad(g, x, weight, mean, rstd), or with a sixth array that is added to the gradient of x. */
static PyObject *layer_backward(PyObject *const *args, PyObject *attrs, int adds) {
    Norm q = {0};
    idx dims;
    if (attr_idx(attrs, "dims", &dims) < 0) return NULL;
    if (!layer_array(&q, args[1], dims) || !fits(args[2], q.m) || !is_plain(args[0]) || !is_plain(args[3]) ||
        !is_plain(args[4]) || PyArray_SIZE(ARRAY(args[0])) != q.n * q.m || PyArray_SIZE(ARRAY(args[3])) != q.n)
        return REFUSE;
    PyArrayObject *x = ARRAY(args[1]);
    if (adds && !(is_plain(args[5]) && PyArray_SAMESHAPE(ARRAY(args[5]), x))) return REFUSE;
    const npy_intp *inner = PyArray_DIMS(x) + PyArray_NDIM(x) - dims;
    const double ns = (double)PyArray_SIZE(x) * 1.5;
    const idx parts = threads_parts(ns, q.n);
    const size_t bytes = (size_t)(2 * parts * q.m) * 4;
    PyArrayObject *gx = array_like(x), *gw = array_new((int)dims, inner, NPY_FLOAT32);
    PyArrayObject *gb = array_new((int)dims, inner, NPY_FLOAT32);
    float *sums = memory_take(bytes);
    if (!gx || !gw || !gb || !sums) {
        Py_XDECREF(gx);
        Py_XDECREF(gw);
        Py_XDECREF(gb);
        if (sums) memory_give(sums, bytes);
        return PyErr_NoMemory();
    }
    q.g = DATA(ARRAY(args[0])), q.w = optional(args[2]), q.mean = DATA(ARRAY(args[3]));
    q.rstd = DATA(ARRAY(args[4])), q.y = DATA(gx), q.gw = sums;
    if (adds) q.other = DATA(ARRAY(args[5]));
    run_parts(layer_grad_part, &q, parts, ns);
    shares_added(sums, parts, 2 * q.m, DATA(gw), q.m);
    shares_added(sums + q.m, parts, 2 * q.m, DATA(gb), q.m);
    memory_give(sums, bytes);
    return Py_BuildValue("NNN", gx, gw, gb);
}

static PyObject *layer_norm_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    return layer_backward(args, attrs, 0);
}

static PyObject *layer_norm_grad_add(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    return layer_backward(args, attrs, 1);
}

/* -- root mean square norm ------------------------------------------------------------------------- */

static void rms_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx from = share(q->n, i, parts), rows = share(q->n, i + 1, parts) - from, at = from * q->m;
    RL->rms_norm(q->x + at, q->w, q->y + at, q->rstd + from, rows, q->m, (float)q->eps);
}

static PyObject *rms_norm(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Norm q = {0};
    idx dims;
    if (attr_double(attrs, "eps", &q.eps) < 0 || attr_idx(attrs, "dims", &dims) < 0) return NULL;
    if (!layer_array(&q, args[0], dims) || !fits(args[1], q.m)) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]);
    npy_intp shape[DIMS];
    for (int i = 0; i < PyArray_NDIM(x); i++) shape[i] = i < PyArray_NDIM(x) - dims ? PyArray_DIM(x, i) : 1;
    PyArrayObject *y = array_like(x), *rstd = array_new(PyArray_NDIM(x), shape, NPY_FLOAT32);
    if (!y || !rstd) {
        Py_XDECREF(y);
        Py_XDECREF(rstd);
        return NULL;
    }
    q.w = optional(args[1]), q.y = DATA(y), q.rstd = DATA(rstd);
    const double ns = (double)PyArray_SIZE(x) * 0.6;
    run_parts(rms_part, &q, threads_parts(ns, q.n), ns);
    return Py_BuildValue("NN", y, rstd);
}

static void rms_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx from = share(q->n, i, parts), rows = share(q->n, i + 1, parts) - from, at = from * q->m;
    float *gw = q->gw + i * q->m; /* every share its own sums */
    memset(gw, 0, (size_t)q->m * 4);
    RL->rms_norm_grad(q->g + at, q->x + at, q->w, q->rstd + from, q->y + at, gw, rows, q->m);
}

static PyObject *rms_norm_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Norm q = {0};
    idx dims;
    if (attr_idx(attrs, "dims", &dims) < 0) return NULL;
    if (!layer_array(&q, args[1], dims) || !fits(args[2], q.m) || !is_plain(args[0]) || !is_plain(args[3]) ||
        PyArray_SIZE(ARRAY(args[0])) != q.n * q.m || PyArray_SIZE(ARRAY(args[3])) != q.n)
        return REFUSE;
    PyArrayObject *x = ARRAY(args[1]);
    const double ns = (double)PyArray_SIZE(x) * 1.2;
    const idx parts = threads_parts(ns, q.n);
    const size_t bytes = (size_t)(parts * q.m) * 4;
    PyArrayObject *gx = array_like(x);
    PyArrayObject *gw = array_new((int)dims, PyArray_DIMS(x) + PyArray_NDIM(x) - dims, NPY_FLOAT32);
    float *sums = memory_take(bytes);
    if (!gx || !gw || !sums) {
        Py_XDECREF(gx);
        Py_XDECREF(gw);
        if (sums) memory_give(sums, bytes);
        return PyErr_NoMemory();
    }
    q.g = DATA(ARRAY(args[0])), q.w = optional(args[2]), q.rstd = DATA(ARRAY(args[3])), q.y = DATA(gx), q.gw = sums;
    run_parts(rms_grad_part, &q, parts, ns);
    shares_added(sums, parts, q.m, DATA(gw), q.m);
    memory_give(sums, bytes);
    return Py_BuildValue("NN", gx, gw);
}

const Entry norm_entries[] = {
    {"batch_norm_train", batch_norm_train, TURNS, .repeats = 1}, {"batch_norm_grad", batch_norm_grad, TURNS, .repeats = 1},
    {"batch_norm_eval", batch_norm_eval, TURNS, .repeats = 1}, {"batch_norm_eval_grad", batch_norm_eval_grad, TURNS, .repeats = 1}, {"layer_norm", layer_norm, 1, .repeats = 1}, {"layer_norm_grad", layer_norm_grad, 1, .repeats = 1},
    {"add_layer_norm", add_layer_norm, 1, .repeats = 1}, {"layer_norm_grad_add", layer_norm_grad_add, 1, .repeats = 1},
    {"rms_norm", rms_norm, 1, .repeats = 1}, {"rms_norm_grad", rms_norm_grad, 1, .repeats = 1},
    {NULL, NULL},
};
