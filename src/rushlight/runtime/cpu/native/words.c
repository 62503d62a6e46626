/* Draws from NumPy's mt19937: the module's functions whose names begin with words_. */
#include <math.h>

#include "arrays.h"
#include "codes.h"
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

/* Pairs of numbers of [0, 1), which lie in blocks of 16, eight radii and eight angles, become normal numbers (Box and Muller, 1958). */
static void normals_of(float *u, idx blocks) {
    enum { SOME = 64 };
    float radius[8 * SOME], angle[8 * SOME], sine[8 * SOME];
    for (idx first = 0; first < blocks; first += SOME, u += 16 * SOME) {
        const idx some = blocks - first < SOME ? blocks - first : SOME;
        for (idx b = 0; b < some; b++)
            for (int i = 0; i < 8; i++) {
                radius[8 * b + i] = 1.0f - u[16 * b + i];
                angle[8 * b + i] = (float)((double)u[16 * b + 8 + i] * 6.283185307179586);
            }
        RL->unary(U_LOG, radius, radius, 8 * some);
        for (idx i = 0; i < 8 * some; i++) radius[i] = sqrtf(-2.0f * radius[i]);
        RL->unary(U_SIN, angle, sine, 8 * some);
        RL->unary(U_COS, angle, angle, 8 * some);
        for (idx b = 0; b < some; b++)
            for (int i = 0; i < 8; i++) {
                u[16 * b + i] = radius[8 * b + i] * angle[8 * b + i];
                u[16 * b + 8 + i] = radius[8 * b + i] * sine[8 * b + i];
            }
    }
}

/* words_normal(capsule, array, mean, std): into a float32 array of at least 16; of a ragged size the last 16 are drawn again. */
PyObject *m_words_normal(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 4 || !is_plain(args[1]) || PyArray_SIZE(ARRAY(args[1])) < 16) Py_RETURN_NOTIMPLEMENTED;
    const float mean = (float)PyFloat_AsDouble(args[2]), std = (float)PyFloat_AsDouble(args[3]);
    Twister *t = PyErr_Occurred() ? NULL : twister_of(args[0]);
    if (!t) return NULL;
    float *out = DATA(ARRAY(args[1]));
    const idx n = PyArray_SIZE(ARRAY(args[1]));
    fill_floats(t, out, n);
    normals_of(out, n / 16);
    if (n % 16) {
        fill_floats(t, out + n - 16, 16);
        normals_of(out + n - 16, 1);
    }
    if (mean != 0.0f || std != 1.0f)
        for (idx i = 0; i < n; i++) out[i] = (float)((double)out[i] * (double)std + (double)mean);
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
