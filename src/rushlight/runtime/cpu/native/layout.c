/* Whole arrays from one order of channels to the other. */
#include "arrays.h"

typedef struct {
    const float *from;
    float *to;
    idx n, rows, cols; /* of every image, as it lies in `from` */
} Turn;

static void turn_part(void *what, ptrdiff_t i, ptrdiff_t parts) {
    const Turn *t = what;
    const idx image = t->rows * t->cols;
    for (idx n = share(t->n, i, parts); n < share(t->n, i + 1, parts); n++)
        RL->transpose(t->from + n * image, t->rows, t->cols, t->cols, t->to + n * image, t->rows);
}

static void turn(PyArrayObject *from, PyArrayObject *to, int to_last) {
    const npy_intp *shape = PyArray_DIMS(from);
    idx places = 1;
    for (int i = 2; i < PyArray_NDIM(from); i++) places *= shape[i];
    Turn t = {DATA(from), DATA(to), shape[0], to_last ? shape[1] : places, to_last ? places : shape[1]};
    const double ns = (double)PyArray_SIZE(from) * 0.6;
    const int64_t begin = conversion_begin();
    run_parts(turn_part, &t, threads_parts(ns, t.n), ns);
    conversion_end(to_last ? FIRST_TO_LAST : LAST_TO_FIRST, begin, (size_t)PyArray_NBYTES(to));
}

PyArrayObject *array_turned(PyArrayObject *a) {
    PyArrayObject *out = array_channels_last(PyArray_NDIM(a), PyArray_DIMS(a));
    if (out) turn(a, out, 1);
    Py_DECREF(a);
    return out;
}

PyArrayObject *array_first(PyArrayObject *a) {
    PyArrayObject *out = array_copy(a);
    if (out) turn(a, out, 0);
    return out;
}
