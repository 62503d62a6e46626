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

/* Argument i, the images; 0 where it ends. */
static int norm_array(Call *c, Norm *q, int i) {
    q->eps = double_of(c, "eps");
    PyArrayObject *x = floats(c, i);
    if (!x || !need(c, PyArray_NDIM(x) >= 2 && PyArray_SIZE(x) > 0)) return 0;
    q->x = DATA(x), q->n = PyArray_DIM(x, 0), q->c = PyArray_DIM(x, 1), q->m = 1;
    for (int d = 2; d < PyArray_NDIM(x); d++) q->m *= PyArray_DIM(x, d);
    return need(c, q->m == 1 || q->m >= 4); /* shorter runs: NumPy's way is better */
}

static void batch_norm_train(Call *c) {
    Norm q = {0};
    if (!norm_array(c, &q, 0)) return;
    q.w = maybe_floats(c, 1, q.c), q.b = maybe_floats(c, 2, q.c);
    q.y = new_like(c, ARRAY(c->args[0])), q.mean = new_floats(c, 1, &q.c), q.rstd = new_floats(c, 1, &q.c);
    if (c->ends) return;
    const double ns = (double)(q.n * q.c * q.m) * 0.9;
    if (q.m == 1) run_shared(train_columns, &q, (q.c + BLOCK - 1) / BLOCK, ns);
    else run_shared(train_part, &q, q.c, ns);
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

/* `which`: the statistics are not the batch's, and argument 4 is a variance. */
static void batch_norm_grad(Call *c) {
    Norm q = {.still = c->which};
    if (!norm_array(c, &q, 1)) return;
    q.g = some_floats(c, 0, q.n * q.c * q.m), q.w = maybe_floats(c, 2, q.c);
    q.mean = some_floats(c, 3, q.c), q.rstd = some_floats(c, 4, q.c);
    q.y = new_like(c, ARRAY(c->args[1])), q.gw = new_floats(c, 1, &q.c), q.gb = new_floats(c, 1, &q.c);
    Deviation of = {q.rstd, q.still ? room(c, (size_t)q.c * 4) : NULL, q.c, q.eps};
    if (c->ends) return;
    if (q.still) {
        run_once(deviation_part, &of, (double)q.c);
        q.rstd = of.rstd;
    }
    const double ns = (double)(q.n * q.c * q.m) * 1.2;
    if (q.m == 1) run_shared(grad_columns, &q, (q.c + BLOCK - 1) / BLOCK, ns);
    else run_shared(train_grad_part, &q, q.c, ns);
}

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

static void batch_norm_eval(Call *c) {
    Norm q = {0};
    if (!norm_array(c, &q, 0) || !need(c, q.m > 1)) return;
    q.w = maybe_floats(c, 1, q.c), q.b = maybe_floats(c, 2, q.c), q.mean = some_floats(c, 3, q.c);
    q.rstd = some_floats(c, 4, q.c); /* the variance here */
    q.y = new_like(c, ARRAY(c->args[0]));
    if (!c->ends) run_shared(eval_part, &q, q.n * q.c, (double)(q.n * q.c * q.m) * 0.4);
}

/* -- layer norm: rows are shared out ---------------------------------------------------------------- */

/* Argument i as rows over its last `dims`, with the shape of a number for each row. */
typedef struct {
    PyArrayObject *x;
    int dims;
    npy_intp each[DIMS];
} Layer;

static int layer_array(Call *c, Norm *q, int i, Layer *l) {
    const idx dims = idx_of(c, "dims");
    PyArrayObject *x = l->x = floats(c, i);
    if (!x || !need(c, dims >= 1 && dims <= PyArray_NDIM(x) && PyArray_NDIM(x) <= DIMS && PyArray_SIZE(x) > 0)) return 0;
    q->x = DATA(x), q->n = q->m = 1, l->dims = (int)dims;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        const int outer = d < PyArray_NDIM(x) - dims;
        *(outer ? &q->n : &q->m) *= PyArray_DIM(x, d);
        l->each[d] = outer ? PyArray_DIM(x, d) : 1;
    }
    return 1;
}

static float *new_each(Call *c, const Layer *l) { return new_floats(c, PyArray_NDIM(l->x), l->each); }
static float *new_weight(Call *c, const Layer *l) {
    return new_floats(c, l->dims, PyArray_DIMS(l->x) + PyArray_NDIM(l->x) - l->dims);
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
static void layer_norm(Call *c) {
    const int adds = c->which;
    Norm q = {.eps = double_of(c, "eps")};
    Layer l;
    if (!layer_array(c, &q, 0, &l)) return;
    if (adds) q.other = DATA_OR_NULL(floats_like(c, 1, l.x));
    q.w = maybe_floats(c, 1 + adds, q.m), q.b = maybe_floats(c, 2 + adds, q.m);
    q.y = new_like(c, l.x), q.mean = new_each(c, &l), q.rstd = new_each(c, &l), q.total = adds ? new_like(c, l.x) : NULL;
    if (!c->ends) run_shared(layer_part, &q, q.n, (double)(q.n * q.m) * (adds ? 1.0 : 0.8));
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
static void layer_norm_grad(Call *c) {
    Norm q = {0};
    Layer l;
    if (!layer_array(c, &q, 1, &l)) return;
    q.g = some_floats(c, 0, q.n * q.m), q.w = maybe_floats(c, 2, q.m), q.mean = some_floats(c, 3, q.n), q.rstd = some_floats(c, 4, q.n);
    if (c->which) q.other = DATA_OR_NULL(floats_like(c, 5, l.x));
    const double ns = (double)(q.n * q.m) * 1.5;
    const idx parts = threads_parts(ns, q.n);
    q.y = new_like(c, l.x), q.gw = room(c, (size_t)(2 * parts * q.m) * 4);
    float *gw = new_weight(c, &l), *gb = new_weight(c, &l);
    if (c->ends) return;
    run_parts(layer_grad_part, &q, parts, ns);
    shares_added(q.gw, parts, 2 * q.m, gw, q.m);
    shares_added(q.gw + q.m, parts, 2 * q.m, gb, q.m);
}

/* -- root mean square norm ------------------------------------------------------------------------- */

static void rms_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx from = share(q->n, i, parts), rows = share(q->n, i + 1, parts) - from, at = from * q->m;
    RL->rms_norm(q->x + at, q->w, q->y + at, q->rstd + from, rows, q->m, (float)q->eps);
}

static void rms_norm(Call *c) {
    Norm q = {.eps = double_of(c, "eps")};
    Layer l;
    if (!layer_array(c, &q, 0, &l)) return;
    q.w = maybe_floats(c, 1, q.m), q.y = new_like(c, l.x), q.rstd = new_each(c, &l);
    if (!c->ends) run_shared(rms_part, &q, q.n, (double)(q.n * q.m) * 0.6);
}

static void rms_grad_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Norm *q = what;
    const idx from = share(q->n, i, parts), rows = share(q->n, i + 1, parts) - from, at = from * q->m;
    float *gw = q->gw + i * q->m; /* every share its own sums */
    memset(gw, 0, (size_t)q->m * 4);
    RL->rms_norm_grad(q->g + at, q->x + at, q->w, q->rstd + from, q->y + at, gw, rows, q->m);
}

static void rms_norm_grad(Call *c) {
    Norm q = {0};
    Layer l;
    if (!layer_array(c, &q, 1, &l)) return;
    q.g = some_floats(c, 0, q.n * q.m), q.w = maybe_floats(c, 2, q.m), q.rstd = some_floats(c, 3, q.n);
    const double ns = (double)(q.n * q.m) * 1.2;
    const idx parts = threads_parts(ns, q.n);
    q.y = new_like(c, l.x), q.gw = room(c, (size_t)(parts * q.m) * 4);
    float *gw = new_weight(c, &l);
    if (c->ends) return;
    run_parts(rms_grad_part, &q, parts, ns);
    shares_added(q.gw, parts, q.m, gw, q.m);
}

#define NORM(name, bind, number, copies_) BOUND(name, bind, .which = number, .copies = copies_, .repeats = 1)
const Entry norm_entries[] = {
    NORM("batch_norm_train", batch_norm_train, 0, TURNS), NORM("batch_norm_grad", batch_norm_grad, 0, TURNS),
    NORM("batch_norm_eval", batch_norm_eval, 0, TURNS), NORM("batch_norm_eval_grad", batch_norm_grad, 1, TURNS),
    NORM("layer_norm", layer_norm, 0, COPIES), NORM("layer_norm_grad", layer_norm_grad, 0, COPIES),
    NORM("add_layer_norm", layer_norm, 1, COPIES), NORM("layer_norm_grad_add", layer_norm_grad, 1, COPIES),
    NORM("rms_norm", rms_norm, 0, COPIES), NORM("rms_norm_grad", rms_norm_grad, 0, COPIES), {NULL},
};
