/* group_norm and group_norm_grad: groups of channels of every image, shared out; batch norm's running statistics. */
#include "arrays.h"

typedef struct {
    const float *x, *g, *w, *b;
    float *y, *mean, *rstd, *gw, *gb;
    double *sums;      /* gradient: two for each channel of each image */
    idx n, groups, per; /* images, groups of an image, channels of a group */
    idx m;             /* places of a channel */
    double eps;
} Group;

static const float *optional(PyObject *o) { return o == Py_None ? NULL : DATA(ARRAY(o)); }
static int fits(PyObject *o, idx n) { return o == Py_None || (is_plain(o) && PyArray_SIZE(ARRAY(o)) == n); }

static int group_array(Group *q, PyObject *o, PyObject *attrs) {
    if (attr_idx(attrs, "groups", &q->groups) < 0 || attr_double(attrs, "eps", &q->eps) < 0) return -1;
    if (!is_plain(o)) return 0;
    PyArrayObject *x = ARRAY(o);
    const int ndim = PyArray_NDIM(x);
    if (ndim < 2 || PyArray_SIZE(x) == 0 || q->groups < 1 || PyArray_DIM(x, 1) % q->groups) return 0;
    q->x = DATA(x), q->n = PyArray_DIM(x, 0), q->per = PyArray_DIM(x, 1) / q->groups, q->m = 1;
    for (int i = 2; i < ndim; i++) q->m *= PyArray_DIM(x, i);
    return 1;
}

static void forward_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Group *q = what;
    const idx all = q->n * q->groups, size = q->per * q->m;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const float *x = q->x + j * size;
        float *y = q->y + j * size;
        const idx first = j % q->groups * q->per; /* channel */
        if (q->m == 1) {
            RL->layer_norm(x, q->w ? q->w + first : NULL, q->b ? q->b + first : NULL, y, q->mean + j, q->rstd + j, 1,
                           size, (float)q->eps);
            continue;
        }
        double sum = 0, square = 0;
        RL->moments(x, size, &sum, &square, x[0]);
        const double at = sum / (double)size, var = square / (double)size - at * at;
        const float mean = (float)((double)x[0] + at);
        const float rstd = (float)(1.0 / sqrt((var > 0 || var != var ? var : 0) + q->eps));
        q->mean[j] = mean, q->rstd[j] = rstd;
        for (idx c = 0; c < q->per; c++) {
            const float scale = q->w ? q->w[first + c] * rstd : rstd;
            const float shift = (float)((q->b ? (double)q->b[first + c] : 0.0) - (double)mean * (double)scale);
            RL->affine(x + c * q->m, y + c * q->m, q->m, scale, shift);
        }
    }
}

static PyObject *group_norm(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Group q = {0};
    const int usual = group_array(&q, args[0], attrs);
    if (usual < 0) return NULL;
    if (!usual || !fits(args[1], q.groups * q.per) || !fits(args[2], q.groups * q.per)) return REFUSE;
    const npy_intp shape[2] = {q.n, q.groups};
    PyArrayObject *y = array_like(ARRAY(args[0]));
    PyArrayObject *mean = array_new(2, shape, NPY_FLOAT32), *rstd = array_new(2, shape, NPY_FLOAT32);
    if (!y || !mean || !rstd) {
        Py_XDECREF(y);
        Py_XDECREF(mean);
        Py_XDECREF(rstd);
        return NULL;
    }
    q.w = optional(args[1]), q.b = optional(args[2]);
    q.y = DATA(y), q.mean = DATA(mean), q.rstd = DATA(rstd);
    const double ns = (double)PyArray_SIZE(y) * 0.9;
    run_parts(forward_part, &q, threads_parts(ns, q.n * q.groups), ns);
    return Py_BuildValue("NNN", y, mean, rstd);
}

/* Channels of one place each: a group is a short row. */
static void backward_row(const Group *q, idx j) {
    const float *x = q->x + j * q->per, *g = q->g + j * q->per, *w = q->w ? q->w + j % q->groups * q->per : NULL;
    double *sums = q->sums + 2 * j * q->per, a = 0, b = 0;
    const double mean = q->mean[j], rstd = q->rstd[j], count = (double)q->per;
    for (idx c = 0; c < q->per; c++) {
        sums[2 * c] = g[c], sums[2 * c + 1] = (double)g[c] * (x[c] - mean) * rstd;
        a += sums[2 * c] * (w ? (double)w[c] : 1.0);
        b += sums[2 * c + 1] * (w ? (double)w[c] : 1.0);
    }
    for (idx c = 0; c < q->per; c++) {
        const double e = g[c] * (w ? (double)w[c] : 1.0);
        q->y[j * q->per + c] = (float)(rstd * (e - a / count - (x[c] - mean) * rstd * b / count));
    }
}

static void backward_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Group *q = what;
    const idx all = q->n * q->groups, size = q->per * q->m;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        if (q->m == 1) {
            backward_row(q, j);
            continue;
        }
        const float *x = q->x + j * size, *g = q->g + j * size;
        const float *w = q->w ? q->w + j % q->groups * q->per : NULL;
        double *sums = q->sums + 2 * j * q->per, a = 0, b = 0;
        const double mean = q->mean[j], rstd = q->rstd[j];
        for (idx c = 0; c < q->per; c++) {
            double *of = sums + 2 * c; /* of g, and of g times x normalised */
            of[0] = of[1] = 0;
            RL->norm_sums(g + c * q->m, x + c * q->m, q->m, q->mean[j], of, of + 1);
            of[1] *= rstd;
            a += of[0] * (w ? (double)w[c] : 1.0);
            b += of[1] * (w ? (double)w[c] : 1.0);
        }
        /* gx = rstd * (w g - mean(w g) - hat * mean(w g hat)), written as scale * g + slope * x + shift */
        const double slope = -rstd * rstd * b / (double)size, shift = -rstd * a / (double)size - slope * mean;
        for (idx c = 0; c < q->per; c++) {
            const float scale = (float)(rstd * (w ? (double)w[c] : 1.0));
            RL->norm_back(g + c * q->m, x + c * q->m, q->y + j * size + c * q->m, q->m, scale, (float)slope,
                          (float)shift);
        }
    }
}

static void add_images(void *what, ptrdiff_t part, ptrdiff_t parts) {
    const Group *q = what;
    const idx channels = q->groups * q->per;
    for (idx c = 0; c < channels; c++) {
        double gb = 0, gw = 0;
        for (idx n = 0; n < q->n; n++) gb += q->sums[2 * (n * channels + c)], gw += q->sums[2 * (n * channels + c) + 1];
        q->gb[c] = (float)gb, q->gw[c] = (float)gw;
    }
}

static PyObject *group_norm_grad(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    Group q = {0};
    const int usual = group_array(&q, args[1], attrs);
    if (usual < 0) return NULL;
    const idx channels = q.groups * q.per;
    if (!usual || !fits(args[2], channels) || !is_plain(args[0]) || !is_plain(args[3]) || !is_plain(args[4]) ||
        PyArray_SIZE(ARRAY(args[0])) != PyArray_SIZE(ARRAY(args[1])) ||
        PyArray_SIZE(ARRAY(args[3])) != q.n * q.groups || PyArray_SIZE(ARRAY(args[4])) != q.n * q.groups)
        return REFUSE;
    const size_t bytes = (size_t)(2 * q.n * channels) * sizeof(double);
    PyArrayObject *gx = array_like(ARRAY(args[1]));
    PyArrayObject *gw = array_new(1, &channels, NPY_FLOAT32), *gb = array_new(1, &channels, NPY_FLOAT32);
    q.sums = memory_take(bytes);
    if (!gx || !gw || !gb || !q.sums) {
        Py_XDECREF(gx);
        Py_XDECREF(gw);
        Py_XDECREF(gb);
        if (q.sums) memory_give(q.sums, bytes);
        return PyErr_NoMemory();
    }
    q.g = DATA(ARRAY(args[0])), q.w = optional(args[2]), q.mean = DATA(ARRAY(args[3])), q.rstd = DATA(ARRAY(args[4]));
    q.y = DATA(gx), q.gw = DATA(gw), q.gb = DATA(gb);
    const double ns = (double)PyArray_SIZE(gx) * 1.2;
    run_parts(backward_part, &q, threads_parts(ns, q.n * q.groups), ns);
    run_once(add_images, &q, (double)(q.n * channels));
    memory_give(q.sums, bytes);
    return Py_BuildValue("NNN", gx, gw, gb);
}

/* means and variances, either of which may be None, moved towards those of a batch of n numbers per channel. */
static PyObject *running_statistics(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    double by, eps;
    idx n, count = -1;
    if (attr_double(attrs, "momentum", &by) < 0 || attr_double(attrs, "eps", &eps) < 0) return NULL;
    if (attr_idx(attrs, "n", &n) < 0) return NULL;
    for (int i = 0; i < 4; i++) {
        if (i < 2 && args[i] == Py_None) continue;
        if (!is_plain(args[i]) || (count >= 0 && PyArray_SIZE(ARRAY(args[i])) != count)) return REFUSE;
        if (i < 2 && !PyArray_ISWRITEABLE(ARRAY(args[i]))) return REFUSE;
        count = PyArray_SIZE(ARRAY(args[i]));
    }
    float *means = args[0] == Py_None ? NULL : DATA(ARRAY(args[0]));
    float *variances = args[1] == Py_None ? NULL : DATA(ARRAY(args[1]));
    const float *mean = DATA(ARRAY(args[2])), *inverse = DATA(ARRAY(args[3]));
    const double unbiased = (double)n / (double)(n > 1 ? n - 1 : 1);
    for (idx c = 0; means && c < count; c++) means[c] = (float)(means[c] * (1 - by) + mean[c] * by);
    for (idx c = 0; variances && c < count; c++) {
        const double s = inverse[c], var = (1.0 / (s * s) - eps) * unbiased;
        variances[c] = (float)(variances[c] * (1 - by) + var * by);
    }
    return PyTuple_New(0);
}

const Entry group_entries[] = {
    {"running_statistics", running_statistics},
    {"group_norm", group_norm, TURNS, .repeats = 1}, {"group_norm_grad", group_norm_grad, TURNS, .repeats = 1}, {NULL, NULL},
};
