/* What the three convolutions share: geometry, and images in buffers with zeros around them.
 *
 * All spatial sizes are brought to three dims (depth, height, width). An image that needs padding or has
 * a stride is copied once into a buffer with zeros around it, sorted by phases: element (i) of a row goes
 * to plane i % stride, place i / stride. After that every tap is a constant offset (see Taps), whatever
 * the stride and the dilation. */
#ifndef RL_CONV_H
#define RL_CONV_H

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

#define FEW_PLACES 32 /* results for which turning the weights would take longer than computing with them as they lie */
#define SLACK 16 /* floats after a buffer that a vector at the end of the last row may read */

/* Two images or kernels of three to five dims that have numbers. */
static inline int conv_args(Call *c) {
    PyArrayObject *a = strided(c, 0), *b = strided(c, 1);
    return !c->ends && need(c, PyArray_NDIM(a) >= 3 && PyArray_NDIM(a) <= 5 && PyArray_NDIM(b) == PyArray_NDIM(a) && PyArray_SIZE(a) && PyArray_SIZE(b));
}

static inline int geometry(Call *c, Geo *g, const npy_intp *x_shape, const npy_intp *w_shape) {
    const int ndim = PyArray_NDIM(ARRAY(c->args[0])), n = ndim - 2, lead = 3 - n;
    g->ndim = ndim, g->groups = idx_of(c, "groups");
    for (int i = 0; i < 3; i++) g->in[i] = g->k[i] = g->s[i] = g->d[i] = 1, g->p[i] = 0;
    dims_of(c, "stride", g->s + lead, n), dims_of(c, "padding", g->p + lead, n), dims_of(c, "dilation", g->d + lead, n);
    if (c->ends) return 0;
    g->n = x_shape[0], g->c = x_shape[1], g->o = w_shape[0];
    for (int i = 0; i < n; i++) {
        g->in[lead + i] = x_shape[2 + i];
        g->k[lead + i] = w_shape[2 + i];
    }
    for (int i = 0; i < 3; i++) g->out[i] = (g->in[i] + 2 * g->p[i] - g->d[i] * (g->k[i] - 1) - 1) / g->s[i] + 1;
    return 1;
}

/* A result that lies with channels last, or a plain one. */
static inline PyArrayObject *new_images(Call *c, const Geo *g, const npy_intp *shape, int last) {
    return new_made(c, last ? array_channels_last(g->ndim, shape) : array_new(g->ndim, shape, NPY_FLOAT32)) ? c->result[0] : NULL;
}

static inline idx volume(const idx *v) { return v[0] * v[1] * v[2]; }

/* Strides of (image, channel, depth, height, width) in floats. */
static inline void strides_of(PyArrayObject *a, idx *out) {
    const int ndim = PyArray_NDIM(a);
    for (int i = 0; i < 5; i++) out[i] = 0;
    out[0] = PyArray_STRIDE(a, 0) / 4;
    out[1] = PyArray_STRIDE(a, 1) / 4;
    for (int i = 2; i < ndim; i++) out[5 - ndim + i] = PyArray_STRIDE(a, i) / 4;
}

/* An array the fills below can read: rows or channels lie along memory. New reference. */
static inline PyArrayObject *readable(PyObject *o) {
    PyArrayObject *a = ARRAY(o);
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (PyArray_STRIDE(a, i) % 4) return array_plain(o);
    const int last = PyArray_NDIM(a) - 1;
    if (PyArray_STRIDE(a, last) == 4 || PyArray_STRIDE(a, 1) == 4) return ARRAY(Py_NewRef(o));
    return array_plain(o);
}

/* -- buffers -------------------------------------------------------------------------------------- */

static inline void planes_for(Planes *b, const idx *size, const idx *pad_lo, const idx *pad_hi, const idx *s) {
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
static inline idx tap_at(const Planes *b, const idx *at) {
    idx phase = 0, place = 0;
    for (int i = 0; i < 3; i++) {
        phase = phase * b->s[i] + at[i] % b->s[i];
        place = place * b->size[i] + at[i] / b->s[i];
    }
    return phase * b->plane + place;
}

#define SHORT_ROW 48 /* floats; a buffer for longer ones is not cleared as a whole before it is filled */

/* One row: n places of a phase that starts `shift` after the image's first float. */
static inline void fill_row(float *to, const float *from, idx n, idx size, idx shift, idx s, idx step) {
    const idx room = size - shift; /* a stride of 1 is the usual one, and divisions are slow */
    idx lo = shift >= 0 ? 0 : s == 1 ? -shift : (-shift + s - 1) / s;
    idx hi = room <= 0 ? 0 : s == 1 ? room : (room + s - 1) / s;
    if (hi > n) hi = n;
    if (lo > hi) lo = hi;
    if (lo) memset(to, 0, (size_t)lo * 4);
    if (s * step == 1) memcpy(to + lo, from + lo + shift, (size_t)(hi - lo) * 4);
    else
        for (idx i = lo; i < hi; i++) to[i] = from[(i * s + shift) * step];
    if (n > hi) memset(to + hi, 0, (size_t)(n - hi) * 4);
}

/* Channels [first, last) of one image into the buffer. `st`: strides of channel, depth, height, width. */
static inline void fill(const Planes *b, const float *x, const idx *size, const idx *st, idx first, idx last,
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

/* The same for images of stride 1, whose zeros are in the buffer already; those with channels last are transposed as
 * they are copied. */
static inline void fill_inside(const Planes *b, const float *x, const idx *size, const idx *st, idx channels, int turns,
                               float *buf) {
    const idx room = b->size[2] - b->pad[2], width = room < size[2] ? room : size[2];
    for (idx c = 0; c < (turns ? 1 : channels); c++)
        for (idx z = 0; z < size[0] && z + b->pad[0] < b->size[0]; z++) {
            float *to = buf + c * b->channel + ((z + b->pad[0]) * b->size[1] + b->pad[1]) * b->size[2] + b->pad[2];
            const float *from = x + c * st[0] + z * st[1];
            const idx left = b->size[1] - b->pad[1], rows = left < size[1] ? left : size[1];
            if (turns)
                for (idx y = 0; y < rows; y++, from += st[2], to += b->size[2])
                    RL->transpose(from, width, channels, st[3], to, b->channel);
            else if (rows > 0) RL->copy_rows(from, st[2], to, b->size[2], rows, width);
        }
}

/* `fresh`: the buffer has not held an image of this geometry yet. */
static inline void fill_image(const Planes *b, const float *x, const idx *size, const idx *st, idx channels,
                              int fresh, float *buf) {
    const int64_t begin = conversion_begin();
    const int turns = st[0] == 1 && st[3] != 1;
    const int wide = fresh && !turns && size[2] > SHORT_ROW; /* to clear all of it first would take longer */
    if (b->s[0] * b->s[1] * b->s[2] == 1 && (turns || st[3] == 1) && !wide) {
        if (fresh) memset(buf, 0, (size_t)(channels * b->channel) * 4);
        if (b->size[2] > b->pad[2]) fill_inside(b, x, size, st, channels, turns, buf);
    } else fill(b, x, size, st, 0, channels, buf);
    conversion_end(turns ? LAST_TO_FIRST : PADDED, begin, (size_t)(channels * b->channel) * 4);
}

/* -- taps ------------------------------------------------------------------------------------------ */

/* Offsets of the taps of one group, in the order of the weight: channel, depth, height, width. */
static inline void forward_taps(const Geo *g, const Planes *b, idx channel, const idx *strides, int direct, idx *tap) {
    const idx kernel = volume(g->k);
    idx *to = tap;
    for (idx z = 0; z < g->k[0]; z++)
        for (idx y = 0; y < g->k[1]; y++)
            for (idx x = 0; x < g->k[2]; x++) {
                const idx at[3] = {z * g->d[0], y * g->d[1], x * g->d[2]};
                *to++ = direct ? at[0] * strides[2] + at[1] * strides[3] + at[2] * strides[4] : tap_at(b, at);
            }
    for (idx c = 1; c < g->c / g->groups; c++) /* the other channels' lie alike: divisions are slow */
        for (idx k = 0; k < kernel; k++) *to++ = c * channel + tap[k];
}

static inline int is_direct(const Geo *g, const idx *st) {
    for (int i = 0; i < 3; i++)
        if (g->s[i] != 1 || g->p[i]) return 0;
    return st[4] == 1;
}

/* bind_one.c: kernels of one place. `last`: the result lies with channels last; -1 without memory. */
int is_one_place(const Geo *g);
int one_place(const Geo *g, PyArrayObject *x, PyArrayObject *w, PyArrayObject *b, PyArrayObject *out, int last);
int one_place_input(const Geo *g, PyArrayObject *gy, PyArrayObject *w, PyArrayObject *gx, int last);
int one_place_weight(const Geo *g, PyArrayObject *gy, PyArrayObject *x, PyArrayObject *gw, int last);

/* bind_depth.c: one channel per group. `last`: all images lie with channels last, else all are plain. */
int is_depthwise(const Geo *g, int last);
int depthwise(const Geo *g, const float *x, const float *w, const float *bias, float *y, int last);
int depthwise_input(const Geo *g, const float *gy, const float *w, float *gx, int last);
int depthwise_weight(const Geo *g, const float *gy, const float *x, float *gw, int last);

#endif
