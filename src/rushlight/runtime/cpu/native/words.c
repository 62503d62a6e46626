/* Draws from NumPy's mt19937: the module's functions words_unit, words_below and words_shuffled. */
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
