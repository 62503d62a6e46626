/* conv: taps and packed weights of the results. */
#include "strips.h"

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

const Entry conv_entries[] = {{"conv", conv}, {NULL, NULL}};
