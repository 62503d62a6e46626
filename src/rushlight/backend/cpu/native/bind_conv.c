/* conv and conv_grad_input: strips of rows, packed weights, phases of strided gradients; loops in k_conv.h. */
#include "conv.h"

/* -- running taps over images: forward, and the input's gradient ------------------------------------ */

typedef struct {
    const Loops *loops;
    Taps taps;          /* of one strip of rows */
    idx width;          /* results of a row */
    idx per_row;        /* vectors of a row */
    int flat;           /* rows are too narrow for vectors: they run on over the gaps between the rows */
    float *scratch;     /* flat: results with gaps, one per part */
    idx flat_floats;    /* of one channel of a strip */
    idx strip, strips;  /* rows of a strip; strips of a plane of results */
    idx planes, rows;   /* depth and height of the results */
    idx from_plane, from_row, to_plane, to_row;
    const float *packed;
    size_t packed_group;
    idx groups, group_channels;
    /* the source */
    const float *x;
    idx x_stride[5], size[3];
    Planes buffer;
    idx channel;        /* floats from one channel to the next where taps read */
    int direct;         /* taps read x itself */
    float *bufs;        /* one buffer per image or per part */
    idx buf_floats, base; /* base: where the first result's tap 0 lies */
    const float *bias;
    float *out;
    idx out_image, out_channel;
    idx n, channels;
} Conv;

/* Vectors that cover `rows` rows. */
static idx vectors_of(const Conv *v, idx rows) {
    if (!v->flat) return rows * v->per_row;
    return (rows * v->from_row - (v->from_row - v->width) + v->loops->lanes - 1) / v->loops->lanes;
}

/* Strip `strip` of an image, by part `part`. */
static void conv_strip(const Conv *v, idx image, idx strip, const float *buf, idx part) {
    const idx z = strip / v->strips, y0 = strip % v->strips * v->strip;
    const idx rows = v->rows - y0 < v->strip ? v->rows - y0 : v->strip;
    float *scratch = v->flat ? v->scratch + part * v->taps.outs * v->flat_floats : NULL;
    Taps t = v->taps;
    t.vectors = vectors_of(v, rows);
    for (idx g = 0; g < v->groups; g++) {
        float *out = v->out + image * v->out_image + g * t.outs * v->out_channel + z * v->to_plane + y0 * v->to_row;
        v->loops->conv_run(&t, buf + v->base + g * v->group_channels * v->channel + z * v->from_plane + y0 * v->from_row,
                           v->packed + g * v->packed_group, v->bias ? v->bias + g * t.outs : NULL,
                           v->flat ? scratch : out, v->flat ? v->flat_floats : v->out_channel);
        for (idx o = 0; v->flat && o < t.outs; o++)
            for (idx y = 0; y < rows; y++)
                memcpy(out + o * v->out_channel + y * v->to_row, scratch + o * v->flat_floats + y * v->from_row,
                       (size_t)v->width * 4);
    }
}

static void conv_images(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    float *buf = v->direct ? NULL : v->bufs + i * v->buf_floats;
    for (idx n = share(v->n, i, parts); n < share(v->n, i + 1, parts); n++) {
        const float *x = v->x + n * v->x_stride[0];
        if (!v->direct) fill_image(&v->buffer, x, v->size, v->x_stride + 1, v->channels, buf);
        for (idx s = 0; s < v->planes * v->strips; s++) conv_strip(v, n, s, v->direct ? x : buf, i);
    }
}

static void conv_strips(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    const idx strips = v->planes * v->strips, all = v->n * strips;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const idx n = j / strips;
        conv_strip(v, n, j % strips, v->direct ? v->x + n * v->x_stride[0] : v->bufs + n * v->buf_floats, i);
    }
}

static void conv_fills(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    for (idx n = share(v->n, i, parts); n < share(v->n, i + 1, parts); n++)
        fill_image(&v->buffer, v->x + n * v->x_stride[0], v->size, v->x_stride + 1, v->channels,
                   v->bufs + n * v->buf_floats);
}

/* How vectors lie over `rows` rows of `width` results, whose inputs are `row` apart: the way that takes fewer
 * of them. False when most of a vector would be wasted either way. */
static int conv_form(Conv *v, idx width, idx rows, idx row) {
    const Loops *fit = loops_for_width(width);
    const idx flat = (rows * row - (row - width) + RL->lanes - 1) / RL->lanes;
    v->flat = !fit || 6 * flat < 5 * rows * ((width + fit->lanes - 1) / fit->lanes);
    v->loops = v->flat ? RL : fit;
    return !v->flat || 4 * rows * width >= flat * RL->lanes;
}

/* Lists of vectors for a strip of rows of `width` results; the last vector of a row overlaps the one
 * before, so that nothing is read or written beyond the row. */
static int conv_vectors(Conv *v, idx width) {
    const idx lanes = v->loops->lanes;
    v->width = width;
    v->per_row = (width + lanes - 1) / lanes;
    const idx count = vectors_of(v, v->strip);
    v->flat_floats = count * lanes;
    idx *list = PyMem_RawMalloc((size_t)(2 * count) * sizeof(idx));
    if (!list) return -1;
    for (idx i = 0; v->flat && i < count; i++) list[i] = list[count + i] = i * lanes;
    for (idx y = 0; !v->flat && y < v->strip; y++)
        for (idx q = 0; q < v->per_row; q++) {
            const idx at = (q + 1) * lanes <= width ? q * lanes : width - lanes;
            list[y * v->per_row + q] = y * v->from_row + at;
            list[count + y * v->per_row + q] = y * v->to_row + at;
        }
    v->taps.from = list;
    v->taps.to = list + count;
    return 0;
}

#define STRIP_FLOATS 65536 /* inputs of a strip: they stay in the second cache for all output channels */

static void conv_strip_size(Conv *v, idx rows, idx floats_per_row) {
    idx most = STRIP_FLOATS / (floats_per_row ? floats_per_row : 1);
    if (most < 4) most = 4;
    v->rows = rows;
    v->strips = (rows + most - 1) / most;
    v->strip = (rows + v->strips - 1) / v->strips;
}

/* Compute all images; `flops` of the whole. Results are written to v->out. */
static int conv_compute(Conv *v, double flops) {
    const double ns = flops / FLOPS_PER_NS;
    const idx parts = threads_parts(ns, v->n * v->planes * v->strips);
    const int by_image = v->n % parts == 0 || v->n >= 4 * parts;
    v->buf_floats = v->channels * v->buffer.channel + SLACK;
    const size_t bytes = v->direct ? 0 : (size_t)(v->buf_floats * (by_image ? parts : v->n)) * 4;
    const size_t scratch_bytes = v->flat ? (size_t)(parts * v->taps.outs * v->flat_floats) * 4 : 0;
    if (bytes && !(v->bufs = memory_take(bytes))) return -1;
    if (scratch_bytes && !(v->scratch = memory_take(scratch_bytes))) {
        if (bytes) memory_give(v->bufs, bytes);
        return -1;
    }
    if (by_image) {
        run_parts(conv_images, v, parts, ns);
    } else {
        if (!v->direct) run_parts(conv_fills, v, v->n < parts ? v->n : parts, ns);
        run_parts(conv_strips, v, parts, ns);
    }
    if (bytes) memory_give(v->bufs, bytes);
    if (scratch_bytes) memory_give(v->scratch, scratch_bytes);
    return 0;
}

static size_t packed_floats(const Loops *loops, idx outs, idx taps) {
    idx width = 0;
    for (idx o = 0; o < outs;) {
        const idx block = loops->conv_block(outs - o);
        width += block;
        o += block < outs - o ? block : outs - o;
    }
    return (size_t)(width * taps);
}

/* The weights of all groups, `group` floats apart, in the order in which the taps want them. */
static void pack_weights(const Conv *v, const float *w, idx group, idx o_stride, const idx *place, float *packed) {
    const int64_t begin = conversion_begin();
    for (idx i = 0; i < v->groups; i++)
        v->loops->conv_pack(w + i * group, v->taps.outs, o_stride, v->taps.taps, place,
                            packed + (size_t)i * v->packed_group);
    conversion_end(WEIGHT_PACKED, begin, v->packed_group * (size_t)v->groups * 4);
}

/* -- conv ----------------------------------------------------------------------------------------- */

static int conv_forward(const Geo *g, Conv *v, PyArrayObject *x, PyArrayObject *w, PyArrayObject *b,
                        PyArrayObject *out) {
    const idx outs = g->o / g->groups, taps = g->c / g->groups * volume(g->k);
    int status = -1;
    strides_of(x, v->x_stride);
    memcpy(v->size, g->in, sizeof v->size);
    v->direct = !v->flat && is_direct(g, v->x_stride); /* flat vectors read past the end of the last row */
    planes_for(&v->buffer, g->in, g->p, g->p, g->s);
    v->channel = v->direct ? v->x_stride[1] : v->buffer.channel;
    v->from_plane = v->direct ? v->x_stride[2] : v->buffer.size[1] * v->buffer.size[2];
    v->from_row = v->direct ? v->x_stride[3] : v->buffer.size[2];
    v->to_row = g->out[2], v->to_plane = g->out[1] * g->out[2];
    v->planes = g->out[0];
    conv_strip_size(v, g->out[1], g->c / g->groups * g->in[2] * g->s[1]);
    v->groups = g->groups, v->group_channels = g->c / g->groups, v->channels = g->c, v->n = g->n;
    v->x = DATA(x), v->out = DATA(out), v->bias = b ? DATA(b) : NULL;
    v->out_channel = volume(g->out), v->out_image = g->o * v->out_channel;
    v->taps.taps = taps, v->taps.outs = outs;
    v->packed_group = packed_floats(v->loops, outs, taps);
    const size_t packed_bytes = v->packed_group * (size_t)g->groups * 4;
    float *packed = memory_take(packed_bytes);
    idx *tap = PyMem_RawMalloc((size_t)(2 * taps) * sizeof(idx));
    if (packed && tap && conv_vectors(v, g->out[2]) == 0) {
        forward_taps(g, &v->buffer, v->channel, v->x_stride, v->direct, tap);
        for (idx k = 0; k < taps; k++) tap[taps + k] = k;
        v->taps.tap = tap;
        pack_weights(v, DATA(w), outs * taps, taps, tap + taps, packed);
        v->packed = packed;
        status = conv_compute(v, 2.0 * (double)(g->n * g->o * taps) * (double)volume(g->out));
        PyMem_RawFree((void *)v->taps.from);
    }
    if (packed) memory_give(packed, packed_bytes);
    PyMem_RawFree(tap);
    return status;
}

static PyObject *conv(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!conv_args(args, 0, 1) || !(args[2] == Py_None || is_plain(args[2]))) return REFUSE;
    PyArrayObject *x = ARRAY(args[0]), *w = ARRAY(args[1]);
    Geo g;
    if (geometry(&g, attrs, x, PyArray_DIMS(x), PyArray_DIMS(w), PyArray_NDIM(x)) < 0) return NULL;
    Conv v = {.n = 0};
    if (!conv_form(&v, g.out[2], g.out[1], (g.in[2] + 2 * g.p[2] + g.s[2] - 1) / g.s[2])) return REFUSE;
    npy_intp shape[5] = {g.n, g.o};
    for (int i = 2; i < g.ndim; i++) shape[i] = g.out[3 - g.ndim + i];
    const int last = is_channels_last(x) || is_channels_last(w);
    PyArrayObject *out = array_new(g.ndim, shape, NPY_FLOAT32);
    x = readable(args[0]), w = array_plain(args[1]);
    if (!out || !x || !w || conv_forward(&g, &v, x, w, args[2] == Py_None ? NULL : ARRAY(args[2]), out) < 0) {
        Py_CLEAR(out);
        if (!PyErr_Occurred()) PyErr_NoMemory();
    }
    Py_XDECREF(x);
    Py_XDECREF(w);
    return (PyObject *)(out && last ? array_turned(out) : out);
}

/* -- conv_grad_input ------------------------------------------------------------------------------ */

/* The input's gradient, phase by phase: element i of the padded input, i = q * s + r, gets w[k] * gy[o]
 * for o * s + k * d = i, that is from taps with k * d % s == r, at o = q - (k * d - r) / s. Every phase
 * is a convolution of stride 1 over gy. */
typedef struct {
    idx r[3], lo[3], count[3]; /* the phase, its first q inside the input, how many q */
} Phase;

static int phase_of(const Geo *g, const idx *r, Phase *p) {
    int any = 1;
    for (int i = 0; i < 3; i++) {
        p->r[i] = r[i];
        const idx before = g->p[i] - r[i];
        p->lo[i] = before > 0 ? (before + g->s[i] - 1) / g->s[i] : 0;
        const idx end = g->in[i] - 1 + before;
        p->count[i] = end < 0 ? 0 : end / g->s[i] - p->lo[i] + 1;
        any = any && p->count[i] > 0;
    }
    return any;
}

/* Taps of a phase for one group, and their places in the weight; returns how many. */
static idx backward_taps(const Geo *g, const Planes *b, const idx *reach, const Phase *p, idx *tap, idx *place) {
    const idx outs = g->o / g->groups, channels = g->c / g->groups, kernel = volume(g->k);
    idx found = 0;
    for (idx o = 0; o < outs; o++)
        for (idx z = 0; z < g->k[0]; z++)
            for (idx y = 0; y < g->k[1]; y++)
                for (idx x = 0; x < g->k[2]; x++) {
                    const idx at[3] = {z * g->d[0], y * g->d[1], x * g->d[2]};
                    idx where = 0;
                    int mine = 1;
                    for (int i = 0; i < 3; i++) {
                        mine = mine && at[i] % g->s[i] == p->r[i];
                        where = where * b->size[i] + reach[i] - (at[i] - p->r[i]) / g->s[i];
                    }
                    if (!mine) continue;
                    tap[found] = o * b->channel + where;
                    place[found++] = o * channels * kernel + (z * g->k[1] + y) * g->k[2] + x;
                }
    return found;
}

/* A phase's results, [n][channel][q], back to their places in the gradient. */
typedef struct {
    const Geo *g;
    const Phase *p;
    const float *from;
    float *to;
} Spread;

static void spread_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Spread *t = what;
    const Geo *g = t->g;
    const idx *count = t->p->count, planes = g->n * g->c;
    for (idx c = share(planes, i, parts); c < share(planes, i + 1, parts); c++)
        for (idx z = 0; z < count[0]; z++)
            for (idx y = 0; y < count[1]; y++) {
                const idx at_z = (t->p->lo[0] + z) * g->s[0] + t->p->r[0] - g->p[0];
                const idx at_y = (t->p->lo[1] + y) * g->s[1] + t->p->r[1] - g->p[1];
                const idx at_x = t->p->lo[2] * g->s[2] + t->p->r[2] - g->p[2];
                float *to = t->to + ((c * g->in[0] + at_z) * g->in[1] + at_y) * g->in[2] + at_x;
                const float *from = t->from ? t->from + ((c * count[0] + z) * count[1] + y) * count[2] : NULL;
                for (idx x = 0; x < count[2]; x++) to[x * g->s[2]] = from ? from[x] : 0.0f;
            }
}

static int backward_phase(const Geo *g, Conv v, const Phase *p, const idx *reach, PyArrayObject *w, float *gx,
                          int strided) {
    const idx channels = g->c / g->groups, kernel = volume(g->k), most = g->o / g->groups * kernel;
    const idx results = g->n * g->c * volume(p->count);
    idx *tap = PyMem_RawMalloc((size_t)(2 * most) * sizeof(idx));
    if (!tap) return -1;
    const idx taps = backward_taps(g, &v.buffer, reach, p, tap, tap + most);
    Spread sp = {g, p, NULL, gx};
    float *found = NULL, *packed = NULL;
    const size_t found_bytes = strided ? (size_t)results * 4 : 0;
    int status = -1;
    if (taps == 0) { /* no tap of the kernel meets this phase */
        threads_run(spread_part, &sp, 1);
        PyMem_RawFree(tap);
        return 0;
    }
    v.taps.taps = taps, v.taps.outs = channels, v.taps.tap = tap;
    v.to_row = p->count[2], v.to_plane = p->count[1] * p->count[2];
    v.planes = p->count[0];
    v.out_channel = volume(p->count), v.out_image = g->c * v.out_channel;
    v.base = (p->lo[0] * v.buffer.size[1] + p->lo[1]) * v.buffer.size[2] + p->lo[2];
    conv_strip_size(&v, p->count[1], g->o / g->groups * v.buffer.size[2]);
    v.packed_group = packed_floats(v.loops, channels, taps);
    const size_t packed_bytes = v.packed_group * (size_t)g->groups * 4;
    packed = memory_take(packed_bytes);
    if (strided) found = memory_take(found_bytes);
    v.out = strided ? found : gx;
    if (packed && (found || !strided) && conv_vectors(&v, p->count[2]) == 0) {
        pack_weights(&v, DATA(w), g->o / g->groups * channels * kernel, kernel, tap + most, packed);
        v.packed = packed;
        status = conv_compute(&v, 2.0 * (double)(results * taps));
        PyMem_RawFree((void *)v.taps.from);
    }
    if (status == 0 && strided) {
        sp.from = found;
        const int64_t begin = conversion_begin();
        run_parts(spread_part, &sp, threads_parts((double)results, g->n * g->c), (double)results);
        conversion_end(PHASES_MERGED, begin, found_bytes);
    }
    if (packed) memory_give(packed, packed_bytes);
    if (found) memory_give(found, found_bytes);
    PyMem_RawFree(tap);
    return status;
}

static int conv_backward(const Geo *g, Conv *v, PyArrayObject *gy, PyArrayObject *w, float *gx) {
    idx reach[3], after[3], one[3] = {1, 1, 1};
    const idx phases = volume(g->s);
    strides_of(gy, v->x_stride);
    for (int i = 0; i < 3; i++) {
        const idx last = (g->in[i] - 1 + g->p[i]) / g->s[i];
        reach[i] = (g->k[i] - 1) * g->d[i] / g->s[i];
        after[i] = last + 1 - g->out[i]; /* may be negative: gradients that meet padding only */
        v->size[i] = g->out[i];
    }
    planes_for(&v->buffer, g->out, reach, after, one);
    v->channel = v->buffer.channel;
    v->from_plane = v->buffer.size[1] * v->buffer.size[2], v->from_row = v->buffer.size[2];
    v->groups = g->groups, v->group_channels = g->o / g->groups, v->channels = g->o, v->n = g->n;
    v->x = DATA(gy);
    for (idx i = 0; i < phases; i++) {
        const idx r[3] = {i / (g->s[1] * g->s[2]), i / g->s[2] % g->s[1], i % g->s[2]};
        Phase p;
        if (phase_of(g, r, &p) && backward_phase(g, *v, &p, reach, w, gx, phases > 1) < 0) return -1;
    }
    return 0;
}

/* The narrowest row of results that any phase has: vectors must fit into it. */
static idx narrowest(const Geo *g) {
    idx least = g->in[2];
    for (idx r = 0; r < g->s[2]; r++) {
        const idx at[3] = {0, 0, r};
        Phase p;
        phase_of(g, at, &p);
        if (p.count[2] > 0 && p.count[2] < least) least = p.count[2];
    }
    return least;
}

static PyObject *conv_grad_input(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!conv_args(args, 0, 1)) return REFUSE;
    PyArrayObject *gy = ARRAY(args[0]), *w = ARRAY(args[1]);
    const int ndim = PyArray_NDIM(gy);
    idx x_shape[5];
    if (attr_dims(attrs, "x_shape", x_shape, ndim) < 0) return NULL;
    Geo g;
    if (geometry(&g, attrs, gy, x_shape, PyArray_DIMS(w), ndim) < 0) return NULL;
    for (int i = 0; i < ndim; i++) /* output_padding may make room for more outputs than there are */
        if (x_shape[i] == 0) return REFUSE;
    for (int i = 2; i < ndim; i++) g.out[3 - ndim + i] = PyArray_DIM(gy, i);
    Conv v = {.n = 0};
    const idx row = (g.k[2] - 1) * g.d[2] / g.s[2] + (g.in[2] - 1 + g.p[2]) / g.s[2] + 1;
    if (!conv_form(&v, narrowest(&g), (g.in[1] + g.s[1] - 1) / g.s[1], row)) return REFUSE;
    const int last = is_channels_last(gy);
    PyArrayObject *gx = array_new(ndim, x_shape, NPY_FLOAT32);
    gy = readable(args[0]), w = array_plain(args[1]);
    if (!gx || !gy || !w || conv_backward(&g, &v, gy, w, DATA(gx)) < 0) {
        Py_CLEAR(gx);
        if (!PyErr_Occurred()) PyErr_NoMemory();
    }
    Py_XDECREF(gy);
    Py_XDECREF(w);
    return (PyObject *)(gx && last ? array_turned(gx) : gx);
}

const Entry conv_entries[] = {{"conv", conv}, {"conv_grad_input", conv_grad_input}, {NULL, NULL}};
