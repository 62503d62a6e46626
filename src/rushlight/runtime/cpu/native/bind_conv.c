/* conv: taps and packed weights of the results; of few places, one product that reads the weights as they lie. */
#include "strips.h"

/* -- few places ------------------------------------------------------------------------------------ */

/* What every place sees as a row, its numbers in the order of the weight: channels first or last. */
typedef struct {
    Geo g;
    const float *x;
    idx x_stride[5];
    int last;
    float *rows;
} Seen;

static void see(const Seen *s, idx n, const idx *place, float *row) {
    const Geo *g = &s->g;
    const idx kernel = volume(g->k), step = s->last ? 1 : kernel;
    for (idx k = 0; k < kernel; k++) {
        const idx tap[3] = {k / (g->k[1] * g->k[2]), k / g->k[2] % g->k[1], k % g->k[2]};
        const float *from = s->x + n * s->x_stride[0];
        float *to = row + (s->last ? k * g->c : k);
        int inside = 1;
        for (int d = 0; d < 3; d++) {
            const idx at = place[d] * g->s[d] + tap[d] * g->d[d] - g->p[d];
            inside = inside && at >= 0 && at < g->in[d];
            from += at * s->x_stride[2 + d];
        }
        for (idx c = 0; c < g->c; c++) to[c * step] = inside ? from[c * s->x_stride[1]] : 0.0f;
    }
}

static void see_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Seen *s = what;
    const Geo *g = &s->g;
    const idx each = volume(g->out), taps = g->c * volume(g->k);
    for (idx r = share(g->n * each, i, parts); r < share(g->n * each, i + 1, parts); r++) {
        const idx p = r % each, place[3] = {p / (g->out[1] * g->out[2]), p / g->out[2] % g->out[1], p % g->out[2]};
        see(s, r / each, place, s->rows + r * taps);
    }
}

/* Images of rows [place][output] into [output][place]. */
typedef struct {
    const float *from;
    float *to;
    idx n, each, outs;
} Back;

static void back_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Back *b = what;
    const idx image = b->each * b->outs;
    for (idx n = share(b->n, i, parts); n < share(b->n, i + 1, parts); n++)
        RL->transpose(b->from + n * image, b->each, b->outs, b->outs, b->to + n * image, b->each);
}

/* out (places, outputs): in memory what a channels-last result is, turned into a plain one otherwise. */
static int few_forward(const Geo *g, PyArrayObject *x, PyArrayObject *w, int w_last, PyArrayObject *b, float *out,
                       int out_last) {
    const idx each = volume(g->out), places = g->n * each, taps = g->c * volume(g->k);
    const size_t row_bytes = (size_t)(places * taps) * 4, out_bytes = out_last ? 0 : (size_t)(places * g->o) * 4;
    Seen s = {.g = *g, .x = DATA(x), .last = w_last, .rows = memory_take(row_bytes)};
    float *to = out_last ? out : memory_take(out_bytes);
    int status = -1;
    strides_of(x, s.x_stride);
    if (s.rows && to) {
        const double ns = (double)(places * taps);
        run_parts(see_part, &s, threads_parts(ns, places), ns);
        const Gemm product = {.m = places, .n = g->o, .k = taps, .a = s.rows, .b = DATA(w), .c = to,
                              .bias = b ? DATA(b) : NULL, .a_row = taps, .a_col = 1, .b_row = 1, .b_col = taps,
                              .ldc = g->o};
        status = product_of(&product);
        Back back = {to, out, g->n, each, g->o};
        if (!out_last && status == 0) run_once(back_part, &back, (double)(places * g->o));
    }
    if (s.rows) memory_give(s.rows, row_bytes);
    if (to && !out_last) memory_give(to, out_bytes);
    return status;
}

static void conv_few(Call *c, const Geo *g, PyArrayObject *b, const npy_intp *shape, int last) {
    const int w_last = is_channels_last(ARRAY(c->args[1]));
    PyArrayObject *out = new_images(c, g, shape, last), *x = aside(c, readable(c->args[0]));
    PyArrayObject *w = aside(c, w_last ? ARRAY(Py_NewRef(c->args[1])) : array_plain(c->args[1]));
    if (!c->ends && few_forward(g, x, w, w_last, b, DATA(out), last) < 0) fail(c);
}

/* -- one place of the kernel ------------------------------------------------------------------------ */

static void conv_one(Call *c, const Geo *g, PyArrayObject *b, const npy_intp *shape, int last) {
    PyArrayObject *out = new_images(c, g, shape, last), *x = aside(c, readable(c->args[0])), *w = aside(c, readable(c->args[1]));
    if (!c->ends && one_place(g, x, w, b, out, last) < 0) fail(c);
}

/* -- one channel per group -------------------------------------------------------------------------- */

static void conv_depth(Call *c, const Geo *g, PyArrayObject *b, const npy_intp *shape, int last) {
    const int as_is = last && g->o == g->c && is_channels_last(ARRAY(c->args[0]));
    PyArrayObject *out = new_images(c, g, shape, as_is), *w = aside(c, array_plain(c->args[1]));
    PyArrayObject *x = aside(c, as_is ? ARRAY(Py_NewRef(c->args[0])) : array_plain(c->args[0]));
    if (!c->ends && depthwise(g, DATA(x), DATA(w), b ? DATA(b) : NULL, DATA(out), as_is) < 0) fail(c);
    if (!c->ends && last && !as_is) answer(c, array_turned(out));
}

/* -- many ------------------------------------------------------------------------------------------ */

static void conv_forward(Call *c, const Geo *g, Conv *v, PyArrayObject *x, PyArrayObject *w, PyArrayObject *b, PyArrayObject *out) {
    const idx outs = g->o / g->groups, taps = g->c / g->groups * volume(g->k);
    strides_of(x, v->x_stride);
    memcpy(v->size, g->in, sizeof v->size);
    planes_for(&v->buffer, g->in, g->p, g->p, g->s);
    conv_strip_size(v, g->out[1], g->c / g->groups * g->in[2] * g->s[1]);
    v->direct = !v->partial && is_direct(g, v->x_stride); /* parts of a vector are read past the end of the last row */
    if (v->flat) /* whole vectors end with the last row, if all of them fit into it, and rows follow each other */
        v->direct = v->direct && v->strips == 1 && v->x_stride[3] == g->in[2] &&
                    (g->out[1] - 1) * g->in[2] + g->out[2] >= v->loops->lanes;
    v->channel = v->direct ? v->x_stride[1] : v->buffer.channel;
    v->from_plane = v->direct ? v->x_stride[2] : v->buffer.size[1] * v->buffer.size[2];
    v->from_row = v->direct ? v->x_stride[3] : v->buffer.size[2];
    v->to_row = g->out[2], v->to_plane = g->out[1] * g->out[2];
    v->planes = g->out[0];
    v->groups = g->groups, v->group_channels = g->c / g->groups, v->channels = g->c, v->n = g->n;
    v->x = DATA(x), v->out = DATA(out), v->bias = b ? DATA(b) : NULL;
    v->out_channel = volume(g->out), v->out_image = g->o * v->out_channel;
    v->taps.taps = taps, v->taps.outs = outs;
    v->packed_group = packed_floats(v->loops, outs, taps);
    float *packed = room(c, v->packed_group * (size_t)g->groups * 4);
    idx *tap = table(c, (size_t)(2 * taps) * sizeof(idx));
    if (c->ends) return;
    conv_vectors(v, g->out[2]);
    forward_taps(g, &v->buffer, v->channel, v->x_stride, v->direct, tap);
    for (idx k = 0; k < taps; k++) tap[taps + k] = k;
    v->taps.tap = tap;
    pack_weights(v, DATA(w), outs * taps, taps, tap + taps, packed);
    v->packed = packed;
    if (conv_compute(v, 2.0 * (double)(g->n * g->o * taps) * (double)volume(g->out)) < 0) fail(c);
}

static void conv(Call *c) {
    Geo g;
    if (!conv_args(c)) return;
    PyArrayObject *x = ARRAY(c->args[0]), *w = ARRAY(c->args[1]), *b = c->args[2] == Py_None ? NULL : floats(c, 2);
    if (!geometry(c, &g, PyArray_DIMS(x), PyArray_DIMS(w))) return;
    npy_intp shape[5] = {g.n, g.o};
    for (int i = 2; i < g.ndim; i++) shape[i] = g.out[3 - g.ndim + i];
    const int last = is_channels_last(x) || is_channels_last(w);
    const idx places = g.n * volume(g.out);
    Conv v = {.n = 0};
    if (g.groups == 1 && places > 0 && places <= FEW_PLACES && g.o >= places) conv_few(c, &g, b, shape, last);
    else if (is_one_place(&g)) conv_one(c, &g, b, shape, last);
    else if (is_depthwise(&g, last)) conv_depth(c, &g, b, shape, last);
    else if (need(c, conv_form(&v, g.out[2], g.out[1], (g.in[2] + 2 * g.p[2] + g.s[2] - 1) / g.s[2]))) {
        PyArrayObject *out = new_images(c, &g, shape, 0);
        x = aside(c, readable(c->args[0])), w = aside(c, array_plain(c->args[1]));
        if (!c->ends) conv_forward(c, &g, &v, x, w, b, out);
        if (!c->ends && last) answer(c, array_turned(out));
    }
}

const Entry conv_entries[] = {BOUND("conv", conv, .repeats = 1), {NULL}};
