/* The Python module: kernels as callables with a NumPy body behind them, threads, memory. */
#define RL_IMPORTS_NUMPY
#include "arrays.h"
#include "conv.h"
#include "halves.h"

#include "scalars.h"
#include "sequence.h"
#include "ahead.h"
#include "words.h"

/* -- choosing the instruction set ---------------------------------------------------------------- */

/* setup.py says how many sets there are, and which is the first that is whole: of those before it only images' loops are there. */
typedef void LoopsPart(Loops *);
#define IMAGES(set) (LoopsPart *const[]){images_##set, NULL}
#define WHOLE(set) (LoopsPart *const[]){images_##set, products_##set, numbers_##set, NULL}

LoopsPart images_base, products_base, numbers_base, images_avx2, products_avx2, numbers_avx2, images_avx512, products_avx512, numbers_avx512;
static LoopsPart *const *const parts_of[] = {
#if FIRST_WHOLE_SET > 0
    IMAGES(base),
#else
    WHOLE(base),
#endif
#if INSTRUCTION_SETS > 1 && FIRST_WHOLE_SET > 1
    IMAGES(avx2),
#elif INSTRUCTION_SETS > 1
    WHOLE(avx2),
#endif
#if INSTRUCTION_SETS > 2
    WHOLE(avx512),
#endif
};
static Loops sets[INSTRUCTION_SETS];
const Loops *RL;

/* How many of the sets the processor has, and RUSHLIGHT_CPU_ISA (AVX2 or SSE2: what older machines run, for tests) allows. */
static int usable_sets(void) {
    int usable = 1;
#if defined(__x86_64__)
    const char *most = getenv("RUSHLIGHT_CPU_ISA");
    const int asked = most && strcmp(most, "SSE2") == 0 ? 1 : most && strcmp(most, "AVX2") == 0 ? 2 : 3;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) usable = 2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) usable = 3;
    if (usable > asked) usable = asked;
#endif
    return usable < INSTRUCTION_SETS ? usable : INSTRUCTION_SETS;
}

/* The best set; -1 with an error where the only whole one is not for this machine. */
static int choose_loops(void) {
    const int usable = usable_sets();
    for (int i = 0; i < usable; i++) /* no others: what fills a set's table is compiled for that set, too */
        for (LoopsPart *const *part = parts_of[i]; *part; part++) (*part)(&sets[i]);
    RL = &sets[usable - 1];
    if (usable > FIRST_WHOLE_SET) return 0;
    const char *words = "the engine was built for %s, which shall not or cannot run here: RUSHLIGHT_ALL_SETS=1 pip install -e . builds it for %s too";
    char message[200];
    snprintf(message, sizeof message, words, FIRST_WHOLE_SET > 1 ? "AVX512" : "AVX2", RL->name);
    if (PyErr_WarnEx(PyExc_RuntimeWarning, message, 1) == 0) PyErr_SetString(PyExc_ImportError, message);
    return -1;
}

const Loops *loops_for_width(idx width) {
    for (ptrdiff_t i = RL - sets; i >= 0; i--)
        if (width >= sets[i].lanes) return &sets[i];
    return NULL;
}

/* -- a kernel -------------------------------------------------------------------------------------- */

#define MOST_COPIED 16

/* A result of the images' kind, turned to channels-last; takes the reference. */
static PyObject *turned_result(PyObject *o) {
    if (!o || !is_plain(o) || PyArray_NDIM(ARRAY(o)) < 4) return o;
    return (PyObject *)array_turned(ARRAY(o));
}

static PyObject *turned_results(PyObject *out) {
    if (!out || out == REFUSE || !PyTuple_CheckExact(out)) return out == REFUSE ? out : turned_result(out);
    const Py_ssize_t n = PyTuple_GET_SIZE(out);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t i = 0; found && i < n; i++) {
        PyObject *item = turned_result(Py_NewRef(PyTuple_GET_ITEM(out, i)));
        if (item) PyTuple_SET_ITEM(found, i, item);
        else Py_CLEAR(found);
    }
    Py_DECREF(out);
    return found;
}

/* Call the body again with copies of the arrays that have gaps (an expanded gradient, a transposed
 * input): computing in C on a copy is quicker than NumPy's passes over the original. */
static PyObject *with_copies(const Entry *e, PyObject *const *args, Py_ssize_t n, PyObject *attrs) {
    PyObject *given_or_copied[MOST_COPIED], *out = REFUSE;
    int copied = 0, last = 0;
    if (n > MOST_COPIED) return REFUSE;
    for (Py_ssize_t i = 0; i < n; i++) last = last || (is_float(args[i]) && is_channels_last(ARRAY(args[i])));
    if (last && e->copies != TURNS) return REFUSE; /* the result shall have that layout too */
    for (Py_ssize_t i = 0; i < n; i++) {
        given_or_copied[i] = args[i];
        if (!is_float(args[i]) || PyArray_IS_C_CONTIGUOUS(ARRAY(args[i]))) continue;
        const int turn = is_channels_last(ARRAY(args[i]));
        PyObject *copy = (PyObject *)(turn ? array_first(ARRAY(args[i])) : array_plain(args[i]));
        if (!copy) {
            for (Py_ssize_t j = 0; j < i; j++)
                if (given_or_copied[j] != args[j]) Py_DECREF(given_or_copied[j]);
            return NULL;
        }
        given_or_copied[i] = copy;
        copied = 1;
    }
    if (copied) out = call_bound(e, given_or_copied, n, attrs);
    for (Py_ssize_t i = 0; i < n; i++)
        if (given_or_copied[i] != args[i]) Py_DECREF(given_or_copied[i]);
    return last ? turned_results(out) : out;
}

/* A float32 result rounded to what `like` holds, if that is half precision; takes the reference. */
static PyObject *narrowed(PyObject *o, PyObject *like) {
    const int half = PyArray_CheckExact(like) ? half_of(ARRAY(like)) : NO_HALF;
    if (!o || !is_plain(o) || !half) return o;
    PyObject *out = (PyObject *)array_narrowed(ARRAY(o), PyArray_TYPE(ARRAY(like)), half);
    Py_DECREF(o);
    return out;
}

/* Result `i`: a letter of `rounds` is the number of the argument whose type it takes (0, if that is None), '-' says
 * that it stays, and the last one stands for all that follow. */
static PyObject *rounded(PyObject *o, Py_ssize_t i, const char *rounds, PyObject *const *args, Py_ssize_t n) {
    const Py_ssize_t last = (Py_ssize_t)strlen(rounds) - 1;
    const int at = rounds[i < last ? i : last] - '0';
    if (at < 0 || at >= n) return o;
    return narrowed(o, args[at] == Py_None ? args[0] : args[at]);
}

/* Call the body with half precision as float32 and round its results, as `in_float32` of made_of/precision.py does. */
static PyObject *with_floats(const Entry *e, const char *rounds, PyObject *const *args, Py_ssize_t n, PyObject *attrs) {
    PyObject *wide[MOST_COPIED], *out = NULL;
    if (!n || n > MOST_COPIED || !PyArray_CheckExact(args[0]) || !half_of(ARRAY(args[0]))) return REFUSE;
    for (Py_ssize_t i = 0; i < n; i++) /* copies would forget that images lie channels last, and so would the result */
        if (PyArray_Check(args[i]) && !PyArray_IS_C_CONTIGUOUS(ARRAY(args[i]))) return REFUSE;
    Py_ssize_t made = 0;
    for (; made < n; made++) {
        PyObject *o = args[made];
        const int widens = PyArray_CheckExact(o) && PyArray_ISALIGNED(ARRAY(o)) && half_of(ARRAY(o));
        if (!(wide[made] = widens ? (PyObject *)array_widened(ARRAY(o)) : Py_NewRef(o))) break;
    }
    if (made == n) {
        Given *const lent = given; /* for what is rounded */
        given = NULL;
        out = call_bound(e, wide, n, attrs);
        if (out == REFUSE && e->copies) out = with_copies(e, wide, n, attrs);
        given = lent;
    }
    for (Py_ssize_t i = 0; i < made; i++) Py_DECREF(wide[i]);
    if (!out || out == REFUSE) return out;
    if (!PyTuple_CheckExact(out)) return rounded(out, 0, rounds, args, n);
    const Py_ssize_t count = PyTuple_GET_SIZE(out);
    PyObject *found = PyTuple_New(count);
    for (Py_ssize_t i = 0; found && i < count; i++) {
        PyObject *item = rounded(Py_NewRef(PyTuple_GET_ITEM(out, i)), i, rounds, args, n);
        if (item) PyTuple_SET_ITEM(found, i, item);
        else Py_CLEAR(found);
    }
    Py_DECREF(out);
    return found;
}

PyObject *call_body(const Entry *e, PyObject *rounds, PyObject *const *items, Py_ssize_t n, PyObject *attrs) {
    PyObject *out = call_bound(e, items, n, attrs);
    if (out == REFUSE && e->copies) out = with_copies(e, items, n, attrs);
    if (out != REFUSE) return out;
    const char *how = rounds == Py_None ? e->rounds : PyUnicode_AsUTF8(rounds);
    return how ? with_floats(e, how, items, n, attrs) : out;
}

typedef struct {
    PyObject_HEAD
    const Entry *entry;
    PyObject *otherwise; /* called when the body refuses */
    PyObject *rounds;    /* None, or as in Entry */
} Native;

/* A call as core/native/call.c makes it, who finds this in the capsule `direct`. */
static PyObject *native_direct(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *attrs) {
    Native *k = (Native *)self;
    if (given || writing) { /* a finaliser of Python, in the middle of a call into given memory: that is not for it */
        Given *const lent = given;
        Repeat *const r = repeat_pause();
        given = NULL;
        PyObject *out = native_direct(self, args, n, attrs);
        given = lent;
        repeat_resume(r);
        return out;
    }
    PyObject *out = call_body(k->entry, k->rounds, args, n, attrs);
    return out == REFUSE ? PyObject_VectorcallDict(k->otherwise, args, n, attrs) : out;
}

static PyObject *native_call(PyObject *self, PyObject *args, PyObject *attrs) {
    return native_direct(self, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), attrs);
}

static void native_dealloc(PyObject *self) {
    Py_XDECREF(((Native *)self)->otherwise);
    Py_XDECREF(((Native *)self)->rounds);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *native_repr(PyObject *self) {
    return PyUnicode_FromFormat("<native kernel %s>", ((Native *)self)->entry->name);
}

static PyTypeObject NativeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "rushlight.runtime.cpu._native.Native",
    .tp_basicsize = sizeof(Native),
    .tp_call = native_call,
    .tp_dealloc = native_dealloc,
    .tp_repr = native_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static const Entry *const families[] = {
    conv_entries,    input_entries, weight_entries, matmul_entries,    pool_entries,   point_entries,  fused_entries, attention_entries,
    softmax_entries, norm_entries,  update_entries, recurrent_entries, gather_entries, reduce_entries, move_entries,
    scatter_entries, group_entries, nll_entries, join_entries, loss_entries, view_entries, row_entries, row_group_entries,
    three_entries, resample_entries, order_entries, special_entries, ctc_entries, sample_entries, select_entries, scan_entries, cast_entries, whole_entries, window_entries, sort_entries, linear_entries, distance_entries, picture_entries, fft_entries,
};
#define FAMILIES (sizeof families / sizeof *families)

const Entry *entry_of(const char *name) {
    for (size_t f = 0; f < FAMILIES; f++)
        for (const Entry *e = families[f]; e->name; e++)
            if (strcmp(e->name, name) == 0) return e;
    return NULL;
}

static PyObject *m_kernel(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *otherwise, *rounds = Py_None;
    if (!PyArg_ParseTuple(args, "sO|O", &name, &otherwise, &rounds)) return NULL;
    const Entry *e = entry_of(name);
    if (!e) Py_RETURN_NONE;
    Native *k = PyObject_New(Native, &NativeType);
    if (!k) return NULL;
    k->entry = e;
    k->otherwise = Py_NewRef(otherwise);
    k->rounds = Py_NewRef(rounds);
    return (PyObject *)k;
}

static PyObject *m_names(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    for (size_t f = 0; list && f < FAMILIES; f++)
        for (const Entry *e = families[f]; e->name; e++) {
            PyObject *s = PyUnicode_FromString(e->name);
            if (!s || PyList_Append(list, s) < 0) Py_CLEAR(list);
            Py_XDECREF(s);
            if (!list) break;
        }
    return list;
}

/* -- the module ----------------------------------------------------------------------------------- */

static PyObject *m_set_threads(PyObject *module, PyObject *n) {
    const long value = PyLong_AsLong(n);
    if (value == -1 && PyErr_Occurred()) return NULL;
    Py_BEGIN_ALLOW_THREADS
    threads_set((int)value);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *m_same_bits(PyObject *module, PyObject *on) {
    const int value = PyObject_IsTrue(on);
    if (value < 0) return NULL;
    threads_same_bits(value);
    Py_RETURN_NONE;
}

static PyObject *m_set_team(PyObject *module, PyObject *address) {
    void *team = PyLong_AsVoidPtr(address);
    if (!team && PyErr_Occurred()) return NULL;
    threads_team((Team)(uintptr_t)team);
    Py_RETURN_NONE;
}

static PyObject *m_get_threads(PyObject *module, PyObject *unused) { return PyLong_FromLong(threads_get()); }
static PyObject *m_isa(PyObject *module, PyObject *unused) { return PyUnicode_FromString(RL->name); }

/* Those that were built and that this machine has. */
static PyObject *m_sets(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    for (int i = FIRST_WHOLE_SET; list && &sets[i] <= RL; i++) {
        PyObject *s = PyUnicode_FromString(sets[i].name);
        if (!s || PyList_Append(list, s) < 0) Py_CLEAR(list);
        Py_XDECREF(s);
    }
    return list;
}

static PyObject *m_kept(PyObject *module, PyObject *unused) { return PyLong_FromSize_t(memory_kept()); }

static PyObject *m_drop(PyObject *module, PyObject *unused) {
    memory_drop();
    Py_RETURN_NONE;
}

static PyObject *m_wake_cost(PyObject *module, PyObject *ns) {
    const double value = PyFloat_AsDouble(ns);
    if (value == -1.0 && PyErr_Occurred()) return NULL;
    threads_wake_cost(value);
    Py_RETURN_NONE;
}

static PyObject *m_watch(PyObject *module, PyObject *on) {
    const int value = PyObject_IsTrue(on);
    if (value < 0) return NULL;
    watching = value;
    Py_RETURN_NONE;
}

static PyObject *m_conversions(PyObject *module, PyObject *unused) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < CONVERSIONS; i++) {
        const Conversion c = watch_take(i);
        if (!c.count) continue;
        PyObject *row = Py_BuildValue("sLdL", c.name, (long long)c.count, (double)c.ns * 1e-9, (long long)c.bytes);
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"kernel", m_kernel, METH_VARARGS, "kernel(name, otherwise, rounds=None): the native kernel, or None."},
    {"behind", m_behind, METH_VARARGS,
     "behind(body, kind, lie, variable, quiet): NumPy's body without warnings, its results where PyTorch lays them; see behind.c."},
    {"sequence", m_sequence, METH_O, "sequence(calls) -> one callable for (callable, arguments, attributes), one after the other"},
    {"into", m_into, METH_VARARGS,
     "into(name, otherwise, arrays, rounds=None): the native kernel with its results in given memory, or None."},
    {"names", m_names, METH_NOARGS, "The names of all native kernels."},
    {"codes", m_codes, METH_NOARGS, "(kind, which) of the steps that chains and row groups may have, by name."},
    {"set_threads", m_set_threads, METH_O, "Set how many threads the kernels use."},
    {"set_same_bits", m_same_bits, METH_O,
     "Whether results shall have the same bits for any number of threads."},
    {"set_team", m_set_team, METH_O,
     "Work on the threads behind this GOMP_parallel (an address) instead of our own; 0 for our own."},
    {"get_threads", m_get_threads, METH_NOARGS, "How many threads the kernels use."},
    {"set_wake_cost", m_wake_cost, METH_O, "Nanoseconds to start a thread; 0 shares out any work (tests)."},
    {"instruction_set", m_isa, METH_NOARGS, "The vector instructions in use."},
    {"instruction_sets", m_sets, METH_NOARGS, "The vector instructions that could be in use, the best ones last."},
    {"watch", m_watch, METH_O, "Whether to count conversions of layout."},
    {"conversions", m_conversions, METH_NOARGS,
     "(what, count, seconds, bytes) of the conversions since the last call."},
    {"kept_bytes", m_kept, METH_NOARGS, "Bytes of freed arrays kept for the next ones."},
    {"drop_kept", m_drop, METH_NOARGS, "Return the kept memory to the system."},
    {"scalars_read", m_scalars_read, METH_O,
     "scalars_read(list): what all these 0-d arrays hold, a list where they differ; NotImplemented to refuse."},
    {"scalars_write", (PyCFunction)(void (*)(void))m_scalars_write, METH_FASTCALL,
     "scalars_write(list, number or list): fill 0-d arrays; NotImplemented to refuse."},
    {"places_within", (PyCFunction)(void (*)(void))m_places_within, METH_FASTCALL,
     "places_within(array, size): whether whole numbers are from 0 to below size; None where it cannot be said here."},
    {"words_unit", (PyCFunction)(void (*)(void))m_words_unit, METH_FASTCALL,
     "words_unit(capsule of an MT19937, array): fill it with numbers of [0, 1)."},
    {"words_shuffled", (PyCFunction)(void (*)(void))m_words_shuffled, METH_FASTCALL,
     "words_shuffled(capsule of an MT19937, array): fill it with 0 .. n - 1, shuffled."},
    {"words_below", (PyCFunction)(void (*)(void))m_words_below, METH_FASTCALL,
     "words_below(capsule of an MT19937, p, array): 1 where a number of [0, 1) is below p, else 0."},
    {"words_uniform", (PyCFunction)(void (*)(void))m_words_uniform, METH_FASTCALL,
     "words_uniform(capsule of an MT19937, array, low, high): fill it with numbers of [low, high)."},
    {"words_normals", (PyCFunction)(void (*)(void))m_words_normals, METH_FASTCALL,
     "words_normals(array, vectors): blocks of 16 numbers of [0, 1) become normal ones."},
    {"words_pairs", (PyCFunction)(void (*)(void))m_words_pairs, METH_FASTCALL,
     "words_pairs(array): pairs of numbers of [0, 1) become normal ones."},
    {"words_scaled", (PyCFunction)(void (*)(void))m_words_scaled, METH_FASTCALL,
     "words_scaled(array, scale, shift): a product and a sum, rounded once."},
    {"words_picked", (PyCFunction)(void (*)(void))m_words_picked, METH_FASTCALL,
     "words_picked(capsule of an MT19937, weights, places): fill places with columns, drawn by the weights of their row."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The native CPU engine.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    if (PyType_Ready(&NativeType) < 0 || PyType_Ready(&IntoType) < 0 || PyType_Ready(&SequenceType) < 0 || PyType_Ready(&BehindType) < 0)
        return NULL;
    PyObject *direct = PyCapsule_New((void *)native_direct, "rushlight.direct", NULL);
    if (!direct || PyDict_SetItemString(NativeType.tp_dict, "direct", direct) < 0) return NULL;
    Py_DECREF(direct);
    if (arrays_init() < 0) return NULL;
    if (choose_loops() < 0) return NULL;
    threads_init();
    memory_init();
    ahead_init();
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntConstant(module, "FEW_PLACES", FEW_PLACES) < 0) Py_CLEAR(module);
    return module;
}
