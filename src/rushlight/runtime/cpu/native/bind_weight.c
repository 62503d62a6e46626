/* conv_grad_weight: which of the two forms of k_weight.h, its buffers, and shares of images or channels. */
#include "conv.h"

/* Inputs and gradients of the images that a tile of the weight passes over: they stay in the second cache. */
#if defined(__x86_64__)
#define CHUNK_FLOATS 196608
#else
#define CHUNK_FLOATS 65536
#endif

typedef struct {
    const Loops *loops;
    Geo g;
    int outer;             /* outer products; otherwise dots */
    idx pitch;             /* dots over all rows at once: floats from a row of the input to the next; 0: row by row */
    idx block, blocks;     /* out channels worked on at once, of a group, and how many such blocks it has */
    Corr corr;
    Planes buffer;
    const float *x, *gy;
    idx x_stride[5], g_stride[5];
    int x_direct, g_direct;
    idx chunk;             /* images worked on at once */
    float *bufs;           /* one per part: images' buffers, then gradients */
    idx buf_floats, x_floats, g_floats;
    float *sums;           /* one gradient of the weight per part */
    idx shares;            /* how many of them */
    float *gw;
    idx weights;           /* floats of such a one: [o][tap], or panels [tap][channel] */
} Weight;

/* -- gradients as the loops read them ---------------------------------------------------------------- */

/* Rows whose tails are zero. */
static void fill_rows(const Weight *v, idx image, int fresh, float *to) {
    const Geo *g = &v->g;
    const idx row = v->pitch ? v->pitch : v->corr.width;
    const Planes rows = {{g->out[0], g->out[1], row}, {1, 1, 1}, {0, 0, 0}, v->corr.g_out, v->corr.g_out};
    fill_image(&rows, v->gy + image * v->g_stride[0], g->out, v->g_stride + 1, g->o, fresh, to);
}

/* One panel [place][channel]: the `here` channels that begin at `from`, zeros beside them. */
static void fill_panel(const Weight *v, const float *from, idx here, float *to) {
    const idx *out = v->g.out, *st = v->g_stride, width = v->block;
    if (here < width) memset(to, 0, (size_t)(volume(out) * width) * 4);
    if (st[4] == 1 && st[3] == out[2] && (out[0] == 1 || st[2] == out[1] * out[2])) { /* all places follow each other */
        v->loops->transpose(from, here, volume(out), st[1], to, width);
        return;
    }
    for (idx z = 0; z < out[0]; z++)
        for (idx y = 0; y < out[1]; y++, to += out[2] * width) {
            const float *row = from + z * st[2] + y * st[3];
            if (st[4] == 1) v->loops->transpose(row, here, out[2], st[1], to, width);
            else
                for (idx x = 0; x < out[2]; x++) memcpy(to + x * width, row + x * st[4], (size_t)here * 4);
        }
}

/* Panels [group][block], of the blocks [from, to) of every group. */
static void fill_panels(const Weight *v, idx image, idx from, idx to, float *panels) {
    const Geo *g = &v->g;
    const idx outs = g->o / g->groups;
    const int64_t begin = conversion_begin();
    for (idx i = 0; i < g->groups; i++)
        for (idx b = from; b < to; b++) {
            const idx o = b * v->block, here = outs - o < v->block ? outs - o : v->block;
            fill_panel(v, v->gy + image * v->g_stride[0] + (i * outs + o) * v->g_stride[1], here,
                       panels + (i * v->blocks + b) * v->corr.g_out);
        }
    conversion_end(GRADIENT_PACKED, begin, (size_t)(g->groups * (to - from) * v->corr.g_out) * 4);
}

/* -- shares of the work ------------------------------------------------------------------------------ */

static void weight_blocks(const Weight *v, const Corr *c, const float *x, const float *gs, float *sums, int first,
                          idx from, idx to) {
    const Geo *g = &v->g;
    const idx outs = g->o / g->groups, channels = g->c / g->groups;
    const idx channel = v->x_direct ? v->x_stride[1] : v->buffer.channel;
    for (idx i = 0; i < g->groups; i++) {
        const float *xs = x + i * channels * channel;
        for (idx b = from; b < to && v->outer; b++) {
            const idx at = i * v->blocks + b;
            v->loops->outer_run(c, xs, gs + at * c->g_out, sums + at * c->taps * v->block, first);
        }
        if (v->outer) continue;
        const idx o = from * v->block;
        Corr part = *c;
        part.outs = (to * v->block < outs ? to * v->block : outs) - o;
        v->loops->corr_run(&part, xs, gs + (i * outs + o) * c->g_out, sums + (i * outs + o) * c->taps, first);
    }
}

/* The weight's gradient from images [first, last), for the blocks [from, to) of every group. */
static void weight_images(const Weight *v, idx first, idx last, float *buf, float *sums, idx from, idx to) {
    const Geo *g = &v->g;
    for (idx n0 = first; n0 < last; n0 += v->chunk) {
        Corr c = v->corr;
        c.images = last - n0 < v->chunk ? last - n0 : v->chunk;
        const float *x = v->x + n0 * v->x_stride[0], *gs = v->gy + n0 * v->g_stride[0];
        if (!v->x_direct) {
            for (idx n = 0; n < c.images; n++)
                fill_image(&v->buffer, x + n * v->x_stride[0], g->in, v->x_stride + 1, g->c, n0 == first,
                           buf + n * v->x_floats);
            /* What the last row over-reads must hold numbers, or 0 * garbage could be a NaN. */
            memset(buf + c.images * v->x_floats, 0, SLACK * 4);
            x = buf;
        }
        if (!v->g_direct) {
            float *to_rows = buf + v->chunk * v->x_floats + SLACK;
            for (idx n = 0; n < c.images; n++)
                if (v->outer) fill_panels(v, n0 + n, from, to, to_rows + n * v->g_floats);
                else fill_rows(v, n0 + n, n0 == first, to_rows + n * v->g_floats);
            memset(to_rows + c.images * v->g_floats, 0, SLACK * 4);
            gs = to_rows;
        }
        weight_blocks(v, &c, x, gs, sums, n0 == first, from, to);
    }
}

static void weight_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Weight *v = what;
    weight_images(v, share(v->g.n, i, parts), share(v->g.n, i + 1, parts), v->bufs + i * v->buf_floats,
                  v->sums + i * v->weights, 0, v->blocks);
}

/* Few images: parts take blocks of out channels, of all images. */
static void weight_outs(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Weight *v = what;
    weight_images(v, 0, v->g.n, v->bufs + i * v->buf_floats, v->sums, share(v->blocks, i, parts),
                  share(v->blocks, i + 1, parts));
}

/* -- layout ------------------------------------------------------------------------------------------ */

static idx rounded(idx n, idx unit) { return (n + unit - 1) / unit * unit; }

/* Whichever form has its vectors full; dots also where a group has one channel. */
static void weight_form(Weight *v) {
    const Geo *g = &v->g;
    const idx outs = g->o / g->groups, width = g->out[2];
    v->loops = RL;
    v->block = RL->outer_width(outs);
    const double outer = (double)outs / (double)rounded(outs, v->block);
    const double dots = (double)width / (double)rounded(width, RL->lanes);
    v->outer = v->outer || (outs > 1 && outer >= 0.8 * dots);
    if (!v->outer) v->block = 4;
    v->blocks = (outs + v->block - 1) / v->block;
}

/* Dots may run on over the gaps between the rows, where gradients are zeros, if the gaps are not wide. */
static void weight_flat(Weight *v) {
    const Geo *g = &v->g;
    const idx row = v->x_direct ? v->x_stride[3] : v->buffer.size[2], lanes = v->loops->lanes;
    const idx width = (g->out[1] - 1) * row + g->out[2];
    if (v->outer || !v->loops->whole_rows || g->out[1] < 2 || row < g->out[2]) return;
    if (rounded(width, lanes) * 10 > g->out[1] * rounded(g->out[2], lanes) * 11) return;
    v->pitch = row;
    v->g_direct = 0;
    v->corr.width = width, v->corr.rows = g->out[0];
    v->corr.g_row = g->out[1] * row;
    v->corr.g_out = g->out[0] * v->corr.g_row;
}

static void weight_layout(Weight *v, PyArrayObject *gy, PyArrayObject *x) {
    const Geo *g = &v->g;
    Corr *c = &v->corr;
    strides_of(x, v->x_stride);
    strides_of(gy, v->g_stride);
    v->x = DATA(x), v->gy = DATA(gy);
    c->width = v->outer || v->loops->whole_rows ? g->out[2] : rounded(g->out[2], v->loops->lanes);
    c->rows = g->out[0] * g->out[1];
    c->outs = g->o / g->groups;
    v->x_direct = c->width == g->out[2] && is_direct(g, v->x_stride);
    v->g_direct = !v->outer && c->width == g->out[2] && v->g_stride[4] == 1 && v->g_stride[3] == c->width &&
                  (g->out[0] == 1 || v->g_stride[2] == c->width * g->out[1]);
    idx after[3]; /* when gy has fewer rows than the input has room for, the buffer is larger: no harm */
    for (int i = 0; i < 3; i++) {
        const idx need = (g->out[i] - 1) * g->s[i] + g->d[i] * (g->k[i] - 1) + 1;
        after[i] = need - g->in[i] - g->p[i];
        if (after[i] < 0) after[i] = 0;
    }
    planes_for(&v->buffer, g->in, g->p, after, g->s);
    v->x_floats = v->x_direct ? 0 : g->c * v->buffer.channel;
    c->g_row = c->width;
    c->g_out = v->g_direct ? v->g_stride[1] : c->rows * c->width * (v->outer ? v->block : 1);
    weight_flat(v);
    v->g_floats = v->g_direct ? 0 : c->g_out * (v->outer ? g->groups * v->blocks : g->o);
    const idx each = g->c * v->buffer.channel + g->o * (v->pitch ? c->g_out : c->rows * c->width);
    v->chunk = CHUNK_FLOATS / each < 1 ? 1 : CHUNK_FLOATS / each;
    if (v->chunk > g->n) v->chunk = g->n;
    c->x_image = v->x_direct ? v->x_stride[0] : v->x_floats;
    c->g_image = v->g_direct ? v->g_stride[0] : v->g_floats;
    v->buf_floats = v->chunk * (v->x_floats + v->g_floats) + 2 * SLACK;
}

/* -- computing --------------------------------------------------------------------------------------- */

/* The sums of all parts, as the weight lies. */
static void weight_finish(void *what, ptrdiff_t part, ptrdiff_t all) {
    const Weight *v = what;
    const Geo *g = &v->g;
    float *const gw = v->gw;
    const idx outs = g->o / g->groups, taps = v->corr.taps;
    for (idx i = 1; i < v->shares; i++) RL->add_into(v->sums, v->sums + i * v->weights, v->weights);
    if (!v->outer) memcpy(gw, v->sums, (size_t)v->weights * 4);
    for (idx i = 0; v->outer && i < g->groups; i++)
        for (idx b = 0; b < v->blocks; b++) {
            const idx o = b * v->block, here = outs - o < v->block ? outs - o : v->block;
            RL->transpose(v->sums + (i * v->blocks + b) * taps * v->block, taps, here, v->block,
                          gw + (i * outs + o) * taps, taps);
        }
}

static int weight_compute(Weight *v, PyArrayObject *gw) {
    const Geo *g = &v->g;
    const double ns = 2.0 * (double)(g->n * g->o * v->corr.taps) * (double)volume(g->out) / FLOPS_PER_NS;
    idx parts = threads_parts(ns, g->n > v->blocks ? g->n : v->blocks);
    const int by_image = g->n >= parts;
    if (!by_image && parts > v->blocks) parts = v->blocks;
    const size_t buf_bytes = (size_t)(parts * v->buf_floats) * 4;
    const size_t sum_bytes = (size_t)((by_image ? parts : 1) * v->weights) * 4;
    v->bufs = memory_take(buf_bytes);
    v->sums = memory_take(sum_bytes);
    int status = -1;
    if (v->bufs && v->sums) {
        run_parts(by_image ? weight_part : weight_outs, v, parts, ns);
        v->shares = by_image ? parts : 1, v->gw = DATA(gw);
        run_once(weight_finish, v, (double)(v->shares * v->weights));
        status = 0;
    }
    if (v->bufs) memory_give(v->bufs, buf_bytes);
    if (v->sums) memory_give(v->sums, sum_bytes);
    return status;
}

typedef struct {
    const float *x;
    idx n;
} Numbers;

static int has_nan(const void *what) {
    const Numbers *numbers = what;
    for (idx i = 0; i < numbers->n; i++)
        if (numbers->x[i] != numbers->x[i]) return 1;
    return 0;
}

static int weight_run(const Geo *g, PyArrayObject *gy, PyArrayObject *x, PyArrayObject *gw, int outer) {
    Weight v = {.g = *g, .outer = outer};
    const idx taps = g->c / g->groups * volume(g->k);
    weight_form(&v);
    weight_layout(&v, gy, x);
    idx *list = table_take((size_t)(taps + v.corr.rows) * sizeof(idx));
    if (!list) return -1;
    forward_taps(g, &v.buffer, v.x_direct ? v.x_stride[1] : v.buffer.channel, v.x_stride, v.x_direct, list);
    for (idx r = 0; r < v.corr.rows; r++) {
        const idx z = v.pitch ? r : r / g->out[1], y = v.pitch ? 0 : r % g->out[1];
        list[taps + r] = v.x_direct ? z * v.x_stride[2] + y * v.x_stride[3]
                                    : (z * v.buffer.size[1] + y) * v.buffer.size[2];
    }
    v.corr.taps = taps, v.corr.tap = list, v.corr.x_row = list + taps;
    v.weights = taps * (v.outer ? g->groups * v.blocks * v.block : g->o);
    const int status = weight_compute(&v, gw);
    table_give(list);
    /* Dots meet the zeros behind a row with what the input holds there: 0 * inf. Outer products have no tails. */
    const Numbers made = {DATA(gw), g->o * taps};
    if (status == 0 && !v.outer && v.corr.width != g->out[2] && run_check(has_nan, &made))
        return weight_run(g, gy, x, gw, 1);
    return status;
}

static void conv_grad_weight(Call *c) {
    Geo g;
    idx shape[5];
    if (!conv_args(c)) return;
    PyArrayObject *gy = ARRAY(c->args[0]), *x = ARRAY(c->args[1]);
    const int ndim = PyArray_NDIM(gy);
    if (!dims_of(c, "w_shape", shape, ndim) || !need(c, PyArray_MultiplyList(shape, ndim) > 0)) return;
    if (!geometry(c, &g, PyArray_DIMS(x), shape)) return;
    for (int i = 2; i < ndim; i++) g.out[3 - ndim + i] = PyArray_DIM(gy, i);
    const int last = is_channels_last(gy) && is_channels_last(x), deep = is_depthwise(&g, last);
    const int one = is_one_place(&g) && (last || volume(g.s) > 1 || volume(g.out) <= FEW_PLACES);
    const int as_is = deep && last && g.o == g.c;
    PyArrayObject *gw = new_images(c, &g, shape, 0);
    gy = aside(c, deep && !as_is ? array_plain(c->args[0]) : readable(c->args[0]));
    x = aside(c, deep && !as_is ? array_plain(c->args[1]) : readable(c->args[1]));
    if (c->ends) return;
    const int status = deep  ? depthwise_weight(&g, DATA(gy), DATA(x), DATA(gw), as_is)
                       : one ? one_place_weight(&g, gy, x, gw, last)
                             : weight_run(&g, gy, x, gw, 0);
    if (status < 0) fail(c);
}

const Entry weight_entries[] = {BOUND("conv_grad_weight", conv_grad_weight, .repeats = 1), {NULL}};
