/* conv, conv_grad_input and conv_grad_weight: geometry, buffers and shares of work; loops in k_conv.h.
 *
 * All spatial sizes are brought to three dims (depth, height, width). An image that needs padding or has
 * a stride is copied once into a buffer with zeros around it, sorted by phases: element (i) of a row goes
 * to plane i % stride, place i / stride. After that every tap is a constant offset (see Taps), whatever
 * the stride and the dilation. */
#include "arrays.h"

typedef struct {
    idx n, c, o, groups;              /* images, channels in and out */
    idx in[3], k[3], out[3], s[3], p[3], d[3];
    int ndim;                         /* of the arrays: spatial dims + 2 */
} Geo;

/* A buffer of planes: `pad` zeros before, sizes after sorting by phases of `s`. */
typedef struct {
    idx size[3], s[3], pad[3], plane, channel; /* plane: floats of one phase; channel: of all phases */
} Planes;

#define SLACK 16 /* floats after a buffer that a vector at the end of the last row may read */

static int geometry(Geo *g, PyObject *attrs, PyArrayObject *x, const npy_intp *x_shape,
                    const npy_intp *w_shape, int ndim) {
    const int n = ndim - 2, lead = 3 - n;
    g->ndim = ndim;
    for (int i = 0; i < 3; i++) g->in[i] = g->k[i] = g->s[i] = g->d[i] = 1, g->p[i] = 0;
    if (attr_dims(attrs, "stride", g->s + lead, n) < 0 || attr_dims(attrs, "padding", g->p + lead, n) < 0 ||
        attr_dims(attrs, "dilation", g->d + lead, n) < 0 || attr_idx(attrs, "groups", &g->groups) < 0)
        return -1;
    g->n = x_shape[0], g->c = x_shape[1], g->o = w_shape[0];
    for (int i = 0; i < n; i++) {
        g->in[lead + i] = x_shape[2 + i];
        g->k[lead + i] = w_shape[2 + i];
    }
    for (int i = 0; i < 3; i++) g->out[i] = (g->in[i] + 2 * g->p[i] - g->d[i] * (g->k[i] - 1) - 1) / g->s[i] + 1;
    return 0;
}

static idx volume(const idx *v) { return v[0] * v[1] * v[2]; }

/* Strides of (image, channel, depth, height, width) in floats. */
static void strides_of(PyArrayObject *a, idx *out) {
    const int ndim = PyArray_NDIM(a);
    for (int i = 0; i < 5; i++) out[i] = 0;
    out[0] = PyArray_STRIDE(a, 0) / 4;
    out[1] = PyArray_STRIDE(a, 1) / 4;
    for (int i = 2; i < ndim; i++) out[5 - ndim + i] = PyArray_STRIDE(a, i) / 4;
}

/* An array the fills below can read: rows or channels lie along memory. New reference. */
static PyArrayObject *readable(PyObject *o) {
    PyArrayObject *a = ARRAY(o);
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (PyArray_STRIDE(a, i) % 4) return array_plain(o);
    const int last = PyArray_NDIM(a) - 1;
    if (PyArray_STRIDE(a, last) == 4 || PyArray_STRIDE(a, 1) == 4) return ARRAY(Py_NewRef(o));
    return array_plain(o);
}

/* -- buffers -------------------------------------------------------------------------------------- */

static void planes_for(Planes *b, const idx *size, const idx *pad_lo, const idx *pad_hi, const idx *s) {
    idx phases = 1;
    for (int i = 0; i < 3; i++) {
        b->s[i] = s[i];
        b->pad[i] = pad_lo[i];
        b->size[i] = (size[i] + pad_lo[i] + pad_hi[i] + s[i] - 1) / s[i];
        phases *= s[i];
    }
    b->plane = volume(b->size);
    b->channel = b->plane * phases;
}

/* Where a tap `at` floats into the padded image lies, for a result at place 0. */
static idx tap_at(const Planes *b, const idx *at) {
    idx phase = 0, place = 0;
    for (int i = 0; i < 3; i++) {
        phase = phase * b->s[i] + at[i] % b->s[i];
        place = place * b->size[i] + at[i] / b->s[i];
    }
    return phase * b->plane + place;
}

/* One row: n places of a phase that starts `shift` after the image's first float. */
static void fill_row(float *to, const float *from, idx n, idx size, idx shift, idx s, idx step) {
    idx lo = shift < 0 ? (-shift + s - 1) / s : 0;
    idx hi = size - shift <= 0 ? 0 : (size - shift + s - 1) / s;
    if (hi > n) hi = n;
    if (lo > hi) lo = hi;
    memset(to, 0, (size_t)lo * 4);
    if (s * step == 1) memcpy(to + lo, from + lo + shift, (size_t)(hi - lo) * 4);
    else
        for (idx i = lo; i < hi; i++) to[i] = from[(i * s + shift) * step];
    memset(to + hi, 0, (size_t)(n - hi) * 4);
}

/* Channels [first, last) of one image into the buffer. `st`: strides of channel, depth, height, width. */
static void fill(const Planes *b, const float *x, const idx *size, const idx *st, idx first, idx last,
                 float *buf) {
    for (idx c = first; c < last; c++) {
        float *to = buf + c * b->channel;
        for (idx rz = 0; rz < b->s[0]; rz++)
            for (idx ry = 0; ry < b->s[1]; ry++)
                for (idx rx = 0; rx < b->s[2]; rx++)
                    for (idx pz = 0; pz < b->size[0]; pz++)
                        for (idx py = 0; py < b->size[1]; py++, to += b->size[2]) {
                            const idx z = pz * b->s[0] + rz - b->pad[0], y = py * b->s[1] + ry - b->pad[1];
                            if (z < 0 || z >= size[0] || y < 0 || y >= size[1])
                                memset(to, 0, (size_t)b->size[2] * 4);
                            else
                                fill_row(to, x + c * st[0] + z * st[1] + y * st[2], b->size[2], size[2],
                                         rx - b->pad[2], b->s[2], st[3]);
                        }
    }
}

/* The same for channels-last images of stride 1: rows are transposed as they are copied. */
static void fill_transposed(const Planes *b, const float *x, const idx *size, const idx *st, idx channels,
                            float *buf) {
    memset(buf, 0, (size_t)(channels * b->channel) * 4);
    for (idx z = 0; z < size[0]; z++)
        for (idx y = 0; y < size[1]; y++) {
            if (z + b->pad[0] >= b->size[0] || y + b->pad[1] >= b->size[1]) continue;
            idx width = b->size[2] - b->pad[2] < size[2] ? b->size[2] - b->pad[2] : size[2];
            float *to = buf + ((z + b->pad[0]) * b->size[1] + y + b->pad[1]) * b->size[2] + b->pad[2];
            RL->transpose(x + z * st[1] + y * st[2], width, channels, st[3], to, b->channel);
        }
}

static void fill_image(const Planes *b, const float *x, const idx *size, const idx *st, idx channels,
                       float *buf) {
    const int64_t begin = conversion_begin();
    const int turns = st[0] == 1 && st[3] != 1;
    if (turns && b->s[0] * b->s[1] * b->s[2] == 1) fill_transposed(b, x, size, st, channels, buf);
    else fill(b, x, size, st, 0, channels, buf);
    conversion_end(turns ? LAST_TO_FIRST : PADDED, begin, (size_t)(channels * b->channel) * 4);
}

/* -- running taps over images: forward, and the input's gradient ------------------------------------ */

typedef struct {
    const Loops *loops;
    Taps taps;          /* of one strip of rows */
    idx per_row;        /* vectors of a row */
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

static void conv_strip(const Conv *v, idx image, idx strip, const float *buf) {
    const idx z = strip / v->strips, y0 = strip % v->strips * v->strip;
    Taps t = v->taps;
    t.vectors = (v->rows - y0 < v->strip ? v->rows - y0 : v->strip) * v->per_row;
    for (idx g = 0; g < v->groups; g++)
        v->loops->conv_run(&t, buf + v->base + g * v->group_channels * v->channel + z * v->from_plane + y0 * v->from_row,
                           v->packed + g * v->packed_group, v->bias ? v->bias + g * t.outs : NULL,
                           v->out + image * v->out_image + g * t.outs * v->out_channel + z * v->to_plane +
                               y0 * v->to_row,
                           v->out_channel);
}

static void conv_images(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    float *buf = v->direct ? NULL : v->bufs + i * v->buf_floats;
    for (idx n = share(v->n, i, parts); n < share(v->n, i + 1, parts); n++) {
        const float *x = v->x + n * v->x_stride[0];
        if (!v->direct) fill_image(&v->buffer, x, v->size, v->x_stride + 1, v->channels, buf);
        for (idx s = 0; s < v->planes * v->strips; s++) conv_strip(v, n, s, v->direct ? x : buf);
    }
}

static void conv_strips(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    const idx strips = v->planes * v->strips, all = v->n * strips;
    for (idx j = share(all, i, parts); j < share(all, i + 1, parts); j++) {
        const idx n = j / strips;
        conv_strip(v, n, j % strips, v->direct ? v->x + n * v->x_stride[0] : v->bufs + n * v->buf_floats);
    }
}

static void conv_fills(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Conv *v = what;
    for (idx n = share(v->n, i, parts); n < share(v->n, i + 1, parts); n++)
        fill_image(&v->buffer, v->x + n * v->x_stride[0], v->size, v->x_stride + 1, v->channels,
                   v->bufs + n * v->buf_floats);
}

/* Lists of vectors for a strip of rows of `width` results; the last vector of a row overlaps the one
 * before, so that nothing is read or written beyond the row. */
static int conv_vectors(Conv *v, idx width) {
    const idx lanes = v->loops->lanes;
    v->per_row = (width + lanes - 1) / lanes;
    const idx count = v->strip * v->per_row;
    idx *list = PyMem_RawMalloc((size_t)(2 * count) * sizeof(idx));
    if (!list) return -1;
    for (idx y = 0; y < v->strip; y++)
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
    const double ns = flops / 30.0;
    const idx parts = threads_parts(ns, v->n * v->planes * v->strips);
    const int by_image = v->n % parts == 0 || v->n >= 4 * parts;
    v->buf_floats = v->channels * v->buffer.channel + SLACK;
    const size_t bytes = v->direct ? 0 : (size_t)(v->buf_floats * (by_image ? parts : v->n)) * 4;
    if (bytes && !(v->bufs = memory_take(bytes))) return -1;
    if (by_image) {
        run_parts(conv_images, v, parts, ns);
    } else {
        if (!v->direct) run_parts(conv_fills, v, v->n < parts ? v->n : parts, ns);
        run_parts(conv_strips, v, parts, ns);
    }
    if (bytes) memory_give(v->bufs, bytes);
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

/* Offsets of the taps of one group, in the order of the weight: channel, depth, height, width. */
static void forward_taps(const Geo *g, const Planes *b, idx channel, const idx *strides, int direct, idx *tap) {
    for (idx c = 0; c < g->c / g->groups; c++)
        for (idx z = 0; z < g->k[0]; z++)
            for (idx y = 0; y < g->k[1]; y++)
                for (idx x = 0; x < g->k[2]; x++) {
                    const idx at[3] = {z * g->d[0], y * g->d[1], x * g->d[2]};
                    *tap++ = c * channel + (direct ? at[0] * strides[2] + at[1] * strides[3] + at[2] * strides[4]
                                                   : tap_at(b, at));
                }
}

static int is_direct(const Geo *g, const idx *st) {
    for (int i = 0; i < 3; i++)
        if (g->s[i] != 1 || g->p[i]) return 0;
    return st[4] == 1;
}

/* NCHW results copied to a channels-last array. */
typedef struct {
    const float *from;
    float *to;
    idx n, channels, places;
} Turn;

static void turn_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Turn *t = what;
    const idx image = t->channels * t->places;
    for (idx n = share(t->n, i, parts); n < share(t->n, i + 1, parts); n++)
        RL->transpose(t->from + n * image, t->channels, t->places, t->places, t->to + n * image, t->channels);
}

static PyArrayObject *turned(PyArrayObject *a) {
    PyArrayObject *out = array_channels_last(PyArray_NDIM(a), PyArray_DIMS(a));
    if (out) {
        const npy_intp *shape = PyArray_DIMS(a);
        Turn t = {DATA(a), DATA(out), shape[0], shape[1], 1};
        for (int i = 2; i < PyArray_NDIM(a); i++) t.places *= shape[i];
        const double ns = (double)PyArray_SIZE(a) * 0.6;
        const int64_t begin = conversion_begin();
        run_parts(turn_part, &t, threads_parts(ns, t.n), ns);
        conversion_end(FIRST_TO_LAST, begin, (size_t)PyArray_NBYTES(out));
    }
    Py_DECREF(a);
    return out;
}

static int conv_args(PyObject *const *args, int first, int second) {
    for (int i = first; i <= second; i++)
        if (!is_float(args[i])) return 0;
    const int ndim = PyArray_NDIM(ARRAY(args[first]));
    if (ndim < 3 || ndim > 5 || PyArray_NDIM(ARRAY(args[second])) != ndim) return 0;
    return PyArray_SIZE(ARRAY(args[first])) > 0 && PyArray_SIZE(ARRAY(args[second])) > 0;
}

static int conv_forward(const Geo *g, Conv *v, PyArrayObject *x, PyArrayObject *w, PyArrayObject *b,
                        PyArrayObject *out) {
    const idx outs = g->o / g->groups, taps = g->c / g->groups * volume(g->k);
    int status = -1;
    strides_of(x, v->x_stride);
    memcpy(v->size, g->in, sizeof v->size);
    v->direct = is_direct(g, v->x_stride);
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
    Conv v = {.loops = loops_for_width(g.out[2])};
    if (!v.loops) return REFUSE;
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
    return (PyObject *)(out && last ? turned(out) : out);
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
    Conv v = {.loops = loops_for_width(narrowest(&g))};
    if (!v.loops) return REFUSE;
    const int last = is_channels_last(gy);
    PyArrayObject *gx = array_new(ndim, x_shape, NPY_FLOAT32);
    gy = readable(args[0]), w = array_plain(args[1]);
    if (!gx || !gy || !w || conv_backward(&g, &v, gy, w, DATA(gx)) < 0) {
        Py_CLEAR(gx);
        if (!PyErr_Occurred()) PyErr_NoMemory();
    }
    Py_XDECREF(gy);
    Py_XDECREF(w);
    return (PyObject *)(gx && last ? turned(gx) : gx);
}

/* -- conv_grad_weight ----------------------------------------------------------------------------- */

#define CHUNK_FLOATS 65536 /* inputs and gradients of the images that a tile of the weight passes over */

typedef struct {
    const Loops *loops;
    const Geo *g;
    Corr corr;
    Planes buffer;
    const float *x, *gy;
    idx x_stride[5], g_stride[5];
    int x_direct, g_direct;
    idx chunk;             /* images worked on at once */
    float *bufs;           /* one per part: images' buffers, then gradients' rows */
    idx buf_floats, x_floats, g_floats;
    float *sums;           /* one gradient of the weight per part; the first is the result */
    idx weights;
} Weight;

/* Gradients of one image as rows whose tails are zero. */
static void fill_grads(const Weight *v, idx image, float *to) {
    const Geo *g = v->g;
    const Planes rows = {{g->out[0], g->out[1], v->corr.width}, {1, 1, 1}, {0, 0, 0}, v->corr.g_out, v->corr.g_out};
    fill_image(&rows, v->gy + image * v->g_stride[0], g->out, v->g_stride + 1, g->o, to);
}

/* The weight's gradient from images [first, last), for the out channels [from, to) of every group. */
static void weight_images(const Weight *v, idx first, idx last, float *buf, float *gw, idx from, idx to) {
    const Geo *g = v->g;
    const idx outs = g->o / g->groups, channels = g->c / g->groups;
    for (idx n0 = first; n0 < last; n0 += v->chunk) {
        Corr c = v->corr;
        c.images = last - n0 < v->chunk ? last - n0 : v->chunk;
        c.outs = to - from;
        const float *x = v->x + n0 * v->x_stride[0], *gs = v->gy + n0 * v->g_stride[0];
        if (!v->x_direct) {
            for (idx n = 0; n < c.images; n++)
                fill_image(&v->buffer, x + n * v->x_stride[0], g->in, v->x_stride + 1, g->c, buf + n * v->x_floats);
            /* What the last row over-reads must hold numbers, or 0 * garbage could be a NaN. */
            memset(buf + c.images * v->x_floats, 0, SLACK * 4);
            x = buf;
        }
        if (!v->g_direct) {
            float *to_rows = buf + v->chunk * v->x_floats;
            for (idx n = 0; n < c.images; n++) fill_grads(v, n0 + n, to_rows + n * v->g_floats);
            memset(to_rows + c.images * v->g_floats, 0, SLACK * 4);
            gs = to_rows;
        }
        const idx channel = v->x_direct ? v->x_stride[1] : v->buffer.channel;
        for (idx i = 0; i < g->groups; i++)
            v->loops->corr_run(&c, x + i * channels * channel, gs + (i * outs + from) * c.g_out,
                               gw + (i * outs + from) * c.taps, n0 == first);
    }
}

static void weight_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Weight *v = what;
    weight_images(v, share(v->g->n, i, parts), share(v->g->n, i + 1, parts), v->bufs + i * v->buf_floats,
                  v->sums + i * v->weights, 0, v->g->o / v->g->groups);
}

/* Few images: parts take blocks of four out channels each, of all images. */
static void weight_outs(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Weight *v = what;
    const idx outs = v->g->o / v->g->groups, blocks = (outs + 3) / 4;
    const idx from = share(blocks, i, parts) * 4, to = share(blocks, i + 1, parts) * 4;
    weight_images(v, 0, v->g->n, v->bufs + i * v->buf_floats, v->sums, from, to < outs ? to : outs);
}

static void weight_layout(Weight *v, PyArrayObject *gy, PyArrayObject *x) {
    const Geo *g = v->g;
    const idx lanes = v->loops->lanes, width = (g->out[2] + lanes - 1) / lanes * lanes;
    strides_of(x, v->x_stride);
    strides_of(gy, v->g_stride);
    v->x = DATA(x), v->gy = DATA(gy);
    v->x_direct = width == g->out[2] && is_direct(g, v->x_stride);
    v->g_direct = width == g->out[2] && v->g_stride[4] == 1 && v->g_stride[3] == width &&
                  (g->out[0] == 1 || v->g_stride[2] == width * g->out[1]);
    idx after[3]; /* when gy has fewer rows than the input has room for, the buffer is larger: no harm */
    for (int i = 0; i < 3; i++) {
        const idx need = (g->out[i] - 1) * g->s[i] + g->d[i] * (g->k[i] - 1) + 1;
        after[i] = need - g->in[i] - g->p[i];
        if (after[i] < 0) after[i] = 0;
    }
    planes_for(&v->buffer, g->in, g->p, after, g->s);
    v->x_floats = v->x_direct ? 0 : g->c * v->buffer.channel;
    Corr *c = &v->corr;
    c->width = width;
    c->rows = g->out[0] * g->out[1];
    c->g_row = width;
    c->g_out = v->g_direct ? v->g_stride[1] : c->rows * width;
    v->g_floats = v->g_direct ? 0 : g->o * c->g_out;
    const idx each = g->c * v->buffer.channel + g->o * c->rows * width;
    v->chunk = CHUNK_FLOATS / each < 1 ? 1 : CHUNK_FLOATS / each;
    if (v->chunk > g->n) v->chunk = g->n;
    c->x_image = v->x_direct ? v->x_stride[0] : v->x_floats;
    c->g_image = v->g_direct ? v->g_stride[0] : v->g_floats;
    v->buf_floats = v->chunk * (v->x_floats + v->g_floats) + SLACK;
}

static int weight_compute(Weight *v, PyArrayObject *gw) {
    const Geo *g = v->g;
    const idx blocks = (g->o / g->groups + 3) / 4;
    const double ns = 2.0 * (double)(g->n * v->weights) * (double)volume(g->out) / 25.0;
    idx parts = threads_parts(ns, g->n > blocks ? g->n : blocks);
    const int by_image = g->n >= parts;
    if (!by_image && parts > blocks) parts = blocks;
    const size_t buf_bytes = (size_t)(parts * v->buf_floats) * 4;
    const size_t sum_bytes = by_image ? (size_t)(parts * v->weights) * 4 : 4;
    v->bufs = memory_take(buf_bytes);
    v->sums = memory_take(sum_bytes);
    int status = -1;
    if (v->bufs && v->sums) {
        float *const shared = v->sums;
        if (!by_image) v->sums = DATA(gw);
        run_parts(by_image ? weight_part : weight_outs, v, parts, ns);
        v->sums = shared;
        if (by_image) {
            memcpy(DATA(gw), shared, (size_t)v->weights * 4);
            for (idx i = 1; i < parts; i++) RL->add_into(DATA(gw), shared + i * v->weights, v->weights);
        }
        status = 0;
    }
    if (v->bufs) memory_give(v->bufs, buf_bytes);
    if (v->sums) memory_give(v->sums, sum_bytes);
    return status;
}

static int weight_run(const Geo *g, PyArrayObject *gy, PyArrayObject *x, PyArrayObject *gw) {
    Weight v = {.loops = loops_for_width(g->out[2] < loops_base.lanes ? loops_base.lanes : g->out[2]), .g = g};
    const idx taps = g->c / g->groups * volume(g->k);
    weight_layout(&v, gy, x);
    idx *list = PyMem_RawMalloc((size_t)(taps + v.corr.rows) * sizeof(idx));
    if (!list) return -1;
    forward_taps(g, &v.buffer, v.x_direct ? v.x_stride[1] : v.buffer.channel, v.x_stride, v.x_direct, list);
    for (idx r = 0; r < v.corr.rows; r++) {
        const idx z = r / g->out[1], y = r % g->out[1];
        list[taps + r] = v.x_direct ? z * v.x_stride[2] + y * v.x_stride[3]
                                    : (z * v.buffer.size[1] + y) * v.buffer.size[2];
    }
    v.corr.taps = taps, v.corr.tap = list, v.corr.x_row = list + taps;
    v.weights = g->o * taps;
    const int status = weight_compute(&v, gw);
    PyMem_RawFree(list);
    return status;
}

static PyObject *conv_grad_weight(PyObject *const *args, Py_ssize_t nargs, PyObject *attrs) {
    if (!conv_args(args, 0, 1)) return REFUSE;
    PyArrayObject *gy = ARRAY(args[0]), *x = ARRAY(args[1]);
    const int ndim = PyArray_NDIM(gy);
    idx w_shape[5];
    if (attr_dims(attrs, "w_shape", w_shape, ndim) < 0) return NULL;
    for (int i = 0; i < ndim; i++)
        if (w_shape[i] == 0) return REFUSE;
    Geo g;
    if (geometry(&g, attrs, x, PyArray_DIMS(x), w_shape, ndim) < 0) return NULL;
    for (int i = 2; i < ndim; i++) g.out[3 - ndim + i] = PyArray_DIM(gy, i);
    PyArrayObject *gw = array_new(ndim, w_shape, NPY_FLOAT32);
    gy = readable(args[0]), x = readable(args[1]);
    if (!gw || !gy || !x || weight_run(&g, gy, x, gw) < 0) {
        Py_CLEAR(gw);
        if (!PyErr_Occurred()) PyErr_NoMemory();
    }
    Py_XDECREF(gy);
    Py_XDECREF(x);
    return (PyObject *)gw;
}

const Entry conv_entries[] = {
    {"conv", conv},
    {"conv_grad_input", conv_grad_input},
    {"conv_grad_weight", conv_grad_weight},
    {NULL, NULL},
};
