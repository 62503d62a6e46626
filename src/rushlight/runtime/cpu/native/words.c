/* Draws from NumPy's mt19937: the module's functions whose names begin with words_. */
#include <math.h>

#include "arrays.h"
#include "words.h"

#define KEY_WORDS 624
#define HELD 2048 /* words that are made of the state at a time; even */

/* What NumPy's MT19937 keeps; its capsule's first member points to it. */
typedef struct {
    uint32_t key[KEY_WORDS];
    int pos;
} Twister;

static Twister *twister_of(PyObject *capsule) {
    void **bits = PyCapsule_GetPointer(capsule, "BitGenerator");
    return bits ? *bits : NULL;
}

static void draw(Twister *t, uint32_t *out, idx n) {
    while (n > 0) {
        if (t->pos >= KEY_WORDS) {
            RL->twist(t->key);
            t->pos = 0;
        }
        const idx some = n < KEY_WORDS - t->pos ? n : KEY_WORDS - t->pos;
        RL->temper(t->key + t->pos, out, some);
        t->pos += (int)some;
        out += some, n -= some;
    }
}

static void fill_below(Twister *t, float *out, idx n, double p) {
    uint32_t words[HELD];
    const double scaled = ceil(p * 0x1p53); /* u < p for u = k / 2^53 is k < p * 2^53 */
    const uint64_t limit = scaled <= 0 ? 0 : scaled >= 0x1p53 ? (uint64_t)1 << 53 : (uint64_t)scaled;
    for (idx some; n > 0; out += some, n -= some) {
        some = n < HELD / 2 ? n : HELD / 2;
        draw(t, words, 2 * some);
        RL->below(words, out, some, (uint32_t)(limit >> 32), (uint32_t)limit);
    }
}

static void fill_floats(Twister *t, float *out, idx n) {
    uint32_t words[HELD];
    for (idx some; n > 0; out += some, n -= some) {
        some = n < HELD ? n : HELD;
        draw(t, words, some);
        RL->fractions(words, out, some);
    }
}

static void fill_doubles(Twister *t, double *out, idx n) {
    uint32_t words[HELD];
    for (idx some; n > 0; out += some, n -= some) {
        some = n < HELD / 2 ? n : HELD / 2;
        draw(t, words, 2 * some);
        for (idx i = 0; i < some; i++)
            out[i] = (double)(int64_t)((uint64_t)(words[2 * i] & 0x1fffffu) << 32 | words[2 * i + 1]) * 0x1p-53;
    }
}

/* words_unit(capsule, array): numbers of [0, 1) for a float32 or float64 array. */
PyObject *m_words_unit(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2) Py_RETURN_NOTIMPLEMENTED;
    const int wide = is_type(args[1], NPY_FLOAT64);
    if (!(wide || is_type(args[1], NPY_FLOAT32)) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[1]))) Py_RETURN_NOTIMPLEMENTED;
    Twister *t = twister_of(args[0]);
    if (!t) return NULL;
    const idx n = PyArray_SIZE(ARRAY(args[1]));
    if (wide) fill_doubles(t, PyArray_DATA(ARRAY(args[1])), n);
    else fill_floats(t, DATA(ARRAY(args[1])), n);
    Py_RETURN_NONE;
}

/* words_below(capsule, p, array): 1 where a double of [0, 1) is below p, else 0, into a float32 array. */
PyObject *m_words_below(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3 || !is_plain(args[2])) Py_RETURN_NOTIMPLEMENTED;
    const double p = PyFloat_AsDouble(args[1]);
    if (p == -1.0 && PyErr_Occurred()) return NULL;
    Twister *t = twister_of(args[0]);
    if (!t) return NULL;
    fill_below(t, DATA(ARRAY(args[2])), PyArray_SIZE(ARRAY(args[2])), p);
    Py_RETURN_NONE;
}

/* words_shuffled(capsule, array): 0 .. n - 1 into an int64 array, shuffled from the front with a word for each place. */
PyObject *m_words_shuffled(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2 || !is_type(args[1], NPY_INT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[1]))) Py_RETURN_NOTIMPLEMENTED;
    Twister *t = twister_of(args[0]);
    if (!t) return NULL;
    int64_t *out = PyArray_DATA(ARRAY(args[1]));
    const idx n = PyArray_SIZE(ARRAY(args[1]));
    uint32_t words[HELD];
    for (idx i = 0; i < n; i++) out[i] = i;
    for (idx i = 0, some; i < n - 1; i += some) { /* the last place is left as it is */
        some = n - 1 - i < HELD ? n - 1 - i : HELD;
        draw(t, words, some);
        for (idx j = i; j < i + some; j++) {
            const idx with = j + words[j - i] % (uint32_t)(n - j);
            const int64_t held = out[j];
            out[j] = out[with], out[with] = held;
        }
    }
    Py_RETURN_NONE;
}

/* words_uniform(capsule, array, low, high): numbers of [low, high) into a float32 array. A product and a sum are rounded once, by way
 * of doubles; what is rounded up to the end is the beginning. */
PyObject *m_words_uniform(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 4 || !is_plain(args[1])) Py_RETURN_NOTIMPLEMENTED;
    const float low = (float)PyFloat_AsDouble(args[2]), high = (float)PyFloat_AsDouble(args[3]), span = high - low;
    Twister *t = PyErr_Occurred() ? NULL : twister_of(args[0]);
    if (!t) return NULL;
    float *out = DATA(ARRAY(args[1]));
    const idx n = PyArray_SIZE(ARRAY(args[1]));
    fill_floats(t, out, n);
    for (idx i = 0; i < n; i++) {
        const float x = (float)((double)out[i] * (double)span + (double)low);
        out[i] = x == high ? low : x;
    }
    Py_RETURN_NONE;
}

/* Blocks of 16 numbers of [0, 1), eight radii and eight angles, become normal numbers (Box and Muller, 1958) by the C library's functions. */
#define NORMALS(type, log, sqrt, sin, cos) \
    static void normals_of_##type(type *u, idx blocks) { \
        for (idx b = 0; b < blocks; b++, u += 16) \
            for (int i = 0; i < 8; i++) { \
                const type radius = sqrt(-2 * log(1 - u[i])), angle = (type)(6.283185307179586 * (double)u[8 + i]); \
                u[i] = radius * cos(angle), u[8 + i] = radius * sin(angle); \
            } \
    }
NORMALS(float, logf, sqrtf, sinf, cosf)
NORMALS(double, log, sqrt, sin, cos)

/* words_normals(array, vectors): blocks of 16 numbers of [0, 1), float32 or float64, become normal ones in their place; `vectors`: by the
 * polynomials that PyTorch has for processors with AVX2 (float32 alone). */
PyObject *m_words_normals(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2) Py_RETURN_NOTIMPLEMENTED;
    const int wide = is_type(args[0], NPY_FLOAT64), vectors = PyObject_IsTrue(args[1]);
    if (!(wide || is_type(args[0], NPY_FLOAT32)) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[0]))) Py_RETURN_NOTIMPLEMENTED;
    const idx blocks = PyArray_SIZE(ARRAY(args[0])) / 16;
    if (wide) normals_of_double(PyArray_DATA(ARRAY(args[0])), blocks);
    else if (vectors) RL->normals(DATA(ARRAY(args[0])), blocks);
    else normals_of_float(DATA(ARRAY(args[0])), blocks);
    Py_RETURN_NONE;
}

/* words_pairs(array): pairs of float64 numbers of [0, 1), an angle and a radius, become normal ones in their place. */
PyObject *m_words_pairs(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 1 || !is_type(args[0], NPY_FLOAT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[0]))) Py_RETURN_NOTIMPLEMENTED;
    double *u = PyArray_DATA(ARRAY(args[0]));
    for (idx left = PyArray_SIZE(ARRAY(args[0])) / 2; left > 0; left--, u += 2) {
        const double radius = sqrt(-2.0 * log1p(-u[1])), angle = 6.283185307179586 * u[0];
        u[0] = radius * cos(angle), u[1] = radius * sin(angle);
    }
    Py_RETURN_NONE;
}

/* words_scaled(array, scale, shift): each number times the one and the other added, rounded once, in its place. */
PyObject *m_words_scaled(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3) Py_RETURN_NOTIMPLEMENTED;
    const int wide = is_type(args[0], NPY_FLOAT64);
    if (!(wide || is_type(args[0], NPY_FLOAT32)) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[0]))) Py_RETURN_NOTIMPLEMENTED;
    const double scale = PyFloat_AsDouble(args[1]), shift = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred()) return NULL;
    const idx n = PyArray_SIZE(ARRAY(args[0]));
    if (wide) RL->scaled_d(PyArray_DATA(ARRAY(args[0])), n, scale, shift);
    else RL->scaled_f(DATA(ARRAY(args[0])), n, (float)scale, (float)shift);
    Py_RETURN_NONE;
}

/* words_picked(capsule, weights, places): places of float32 rows, drawn with the weights that stand there, into int64 rows. Nothing is
 * drawn where a row has no weights that could be: the answer is 1 for a number below 0 or none, 2 for a row of zeros, else 0. */
PyObject *m_words_picked(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3 || !is_plain(args[1]) || !is_type(args[2], NPY_INT64) || !PyArray_IS_C_CONTIGUOUS(ARRAY(args[2])))
        Py_RETURN_NOTIMPLEMENTED;
    PyArrayObject *weights = ARRAY(args[1]), *places = ARRAY(args[2]);
    if (PyArray_NDIM(weights) != 2 || PyArray_NDIM(places) != 2 || PyArray_DIM(weights, 0) != PyArray_DIM(places, 0)) Py_RETURN_NOTIMPLEMENTED;
    const idx rows = PyArray_DIM(weights, 0), n = PyArray_DIM(weights, 1), count = PyArray_DIM(places, 1);
    Twister *t = twister_of(args[0]);
    if (!t) return NULL;
    const float *w = DATA(weights);
    for (idx r = 0; r < rows; r++) {
        int fits = 1, some = 0;
        for (idx i = 0; i < n; i++) {
            fits &= (w[r * n + i] >= 0.0f) & (w[r * n + i] < INFINITY);
            some |= w[r * n + i] > 0.0f;
        }
        if (!fits || !some) return PyLong_FromLong(fits ? 2 : 1);
    }
    float *up_to = memory_take((size_t)n * 4);
    double *at = memory_take((size_t)count * 8);
    if (!up_to || !at) return PyErr_NoMemory();
    for (idx r = 0; r < rows; r++) {
        float sum = 0.0f;
        for (idx i = 0; i < n; i++) up_to[i] = sum += w[r * n + i];
        for (idx i = 0; i < n; i++) up_to[i] /= sum;
        fill_doubles(t, at, count);
        int64_t *to = (int64_t *)PyArray_DATA(places) + r * count;
        for (idx k = 0; k < count; k++) {
            const float *begin = up_to; /* the first that is not below, without branches */
            for (idx left = n; left > 1; left -= left / 2) begin += (double)begin[left / 2 - 1] < at[k] ? left / 2 : 0;
            to[k] = begin - up_to + ((double)*begin < at[k]);
        }
    }
    memory_give(up_to, (size_t)n * 4);
    memory_give(at, (size_t)count * 8);
    return PyLong_FromLong(0);
}
