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

static int group_array(Call *c, Group *q, int i) {
    q->groups = idx_of(c, "groups"), q->eps = double_of(c, "eps");
    PyArrayObject *x = floats(c, i);
    if (!x || !need(c, PyArray_NDIM(x) >= 2 && PyArray_SIZE(x) > 0 && q->groups >= 1 && PyArray_DIM(x, 1) % q->groups == 0)) return 0;
    q->x = DATA(x), q->n = PyArray_DIM(x, 0), q->per = PyArray_DIM(x, 1) / q->groups, q->m = 1;
    for (int d = 2; d < PyArray_NDIM(x); d++) q->m *= PyArray_DIM(x, d);
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

static void group_norm(Call *c) {
    Group q = {0};
    if (!group_array(c, &q, 0)) return;
    const npy_intp shape[2] = {q.n, q.groups};
    q.w = maybe_floats(c, 1, q.groups * q.per), q.b = maybe_floats(c, 2, q.groups * q.per);
    q.y = new_like(c, ARRAY(c->args[0])), q.mean = new_floats(c, 2, shape), q.rstd = new_floats(c, 2, shape);
    if (!c->ends) run_shared(forward_part, &q, q.n * q.groups, (double)(q.n * q.groups * q.per * q.m) * 0.9);
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

static void group_norm_grad(Call *c) {
    Group q = {0};
    if (!group_array(c, &q, 1)) return;
    const idx channels = q.groups * q.per, all = q.n * channels * q.m;
    q.g = some_floats(c, 0, all), q.w = maybe_floats(c, 2, channels);
    q.mean = some_floats(c, 3, q.n * q.groups), q.rstd = some_floats(c, 4, q.n * q.groups);
    q.y = new_like(c, ARRAY(c->args[1])), q.gw = new_floats(c, 1, &channels), q.gb = new_floats(c, 1, &channels);
    q.sums = room(c, (size_t)(2 * q.n * channels) * sizeof(double));
    if (c->ends) return;
    run_shared(backward_part, &q, q.n * q.groups, (double)all * 1.2);
    run_once(add_images, &q, (double)(q.n * channels));
}

/* means and variances, either of which may be None, moved towards those of a batch of n numbers per channel. */
static void running_statistics(Call *c) {
    const double by = double_of(c, "momentum"), eps = double_of(c, "eps");
    const idx n = idx_of(c, "n");
    PyArrayObject *first = floats(c, 2);
    if (!first) return;
    const idx count = PyArray_SIZE(first);
    float *means = maybe_floats(c, 0, count), *variances = maybe_floats(c, 1, count);
    const float *mean = DATA(first), *inverse = some_floats(c, 3, count);
    if (c->ends || !need(c, (!means || PyArray_ISWRITEABLE(ARRAY(c->args[0]))) && (!variances || PyArray_ISWRITEABLE(ARRAY(c->args[1]))))) return;
    const double unbiased = (double)n / (double)(n > 1 ? n - 1 : 1);
    for (idx i = 0; means && i < count; i++) means[i] = (float)(means[i] * (1 - by) + mean[i] * by);
    for (idx i = 0; variances && i < count; i++) {
        const double s = inverse[i], var = (1.0 / (s * s) - eps) * unbiased;
        variances[i] = (float)(variances[i] * (1 - by) + var * by);
    }
}

const Entry group_entries[] = {
    BOUND("running_statistics", running_statistics), BOUND("group_norm", group_norm, .copies = TURNS, .repeats = 1),
    BOUND("group_norm_grad", group_norm_grad, .copies = TURNS, .repeats = 1), {NULL},
};
