/* What bindings share: looking at NumPy arrays, making new ones, reading attributes. */
#ifndef RL_ARRAYS_H
#define RL_ARRAYS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL rushlight_native_api
#ifndef RL_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "memory.h"
#include "repeat.h"
#include "table.h"
#include "threads.h"
#include "watch.h"

#define DIMS 8 /* most dims a native kernel looks at */

/* The answer that says: "the NumPy body shall do it". */
#define REFUSE ((PyObject *)&_Py_NotImplementedStruct)

/* A call into given memory lends its arrays to whoever asks for a new one that looks like them. */
#define MOST_GIVEN 4
typedef struct {
    PyArrayObject *arrays[MOST_GIVEN];
    int count, taken; /* a bit per array */
} Given;

extern _Thread_local Given *given;

#define DATA(a) ((float *)PyArray_DATA(a))
#define ARRAY(o) ((PyArrayObject *)(o))
#define DATA_OR_NULL(a) ({ PyArrayObject *a_ = (a); a_ ? DATA(a_) : NULL; })

/* Whether `o` is an aligned float32 array in this machine's byte order. */
static inline int is_type(PyObject *o, int type) {
    return PyArray_CheckExact(o) && PyArray_TYPE(ARRAY(o)) == type &&
           PyArray_CHKFLAGS(ARRAY(o), NPY_ARRAY_ALIGNED) && PyArray_ISNOTSWAPPED(ARRAY(o));
}
static inline int is_float(PyObject *o) { return is_type(o, NPY_FLOAT32); }
static inline int is_plain(PyObject *o) { /* float32 and C-contiguous */
    return is_float(o) && PyArray_IS_C_CONTIGUOUS(ARRAY(o));
}

PyArrayObject *array_new(int ndim, const npy_intp *shape, int type); /* uninitialised, C order */
PyArrayObject *array_laid(int ndim, const npy_intp *shape, const npy_intp *strides, int type); /* or of these strides, without gaps */

/* Attributes; -1 with an exception when one is absent. */
int attr_dims(PyObject *attrs, const char *name, idx *out, int n);
int attr_flag(PyObject *attrs, const char *name);
int attr_double(PyObject *attrs, const char *name, double *out);
int attr_idx(PyObject *attrs, const char *name, idx *out);
PyObject *attr(PyObject *attrs, const char *name); /* borrowed */

#include "call.h"

struct Entry {
    const char *name;
    void (*bind)(Call *c);
    int copies; /* where it wants plain arrays: COPIES or TURNS */
    const char *rounds; /* half precision may be computed with in float32: see with_floats of module.c */
    int repeats; /* all that it computes is in parts and checks: see repeat.h */
    int which; /* what it is told */
    double ns; /* of a number, about, where the binding asks for it */
    const char *names[3]; /* attributes that its loop is told */
};

#define BOUND(name_, bind_, ...) {.name = name_, .bind = bind_, __VA_ARGS__}

PyObject *call_ended(const Call *c); /* the answer; what was the call's own goes */

/* behind.c: NumPy's bodies */
extern PyTypeObject BehindType;
PyObject *m_behind(PyObject *module, PyObject *args);

/* A new reference, NULL with an exception set, or REFUSE. */
static inline PyObject *call_bound(const Entry *e, PyObject *const *args, Py_ssize_t count, PyObject *attrs) {
    Call c;
    c.args = args, c.count = count, c.attrs = attrs, c.entry = e, c.which = e->which, c.value = NULL;
    c.ends = c.results = c.blocks = c.copies = c.tuple = 0;
    e->bind(&c);
    if (c.results == 1 && !(c.ends | c.blocks | c.copies | c.tuple)) return (PyObject *)c.result[0];
    return call_ended(&c);
}

#define COPIES 1 /* it is worth to copy others for it */
#define TURNS 2  /* channels-last ones too, whose results are turned back */

int arrays_init(void); /* once, at import; -1 with an exception */

PyArrayObject *array_like(PyArrayObject *a);                          /* same shape, C order, float32 */
PyArrayObject *array_dense(PyArrayObject *a);                         /* same shape, type and order in memory, if that has no gaps */
int is_filled(PyArrayObject *a);                                      /* whether it has none, in whichever order its dims lie */
PyArrayObject *array_plain(PyObject *o); /* a new reference to o, or to a C-contiguous copy of it */
int array_put(PyArrayObject *to, PyArrayObject *from); /* the numbers of one array into another of its shape; -1 with an exception */
PyArrayObject *array_copy(PyArrayObject *a); /* uninitialised, C order, of a's shape and type; no result */
PyArrayObject *array_widened(PyArrayObject *a); /* half precision in float32, C order; no result */
PyArrayObject *array_narrowed(PyArrayObject *a, int type, int half); /* the other way; a is plain */
PyArrayObject *array_channels_last(int ndim, const npy_intp *shape); /* (N, C, ...) with C innermost */
PyArrayObject *array_columns(int ndim, const npy_intp *shape, int type); /* matrices column by column */
int is_channels_last(PyArrayObject *a); /* so, and not C-contiguous at the same time */
PyArrayObject *array_turned(PyArrayObject *a); /* a plain (N, C, ...) as channels-last; takes a's reference */
PyArrayObject *array_first(PyArrayObject *a);  /* a plain copy of a channels-last array */

#define LONG_WORK_NS 100000.0 /* work that takes longer lets other Python threads run meanwhile */

/* Run parts without the GIL when the work is long. */
static inline void run_parts_of(Part part, void *what, size_t size, ptrdiff_t parts, double ns) {
    Repeat *const r = writing;
    if (r) repeat_part(part, what, size, parts, ns);
    writing = NULL; /* memory that a part takes for itself is its own business */
    if (ns < LONG_WORK_NS) {
        threads_run(part, what, parts);
    } else {
        Py_BEGIN_ALLOW_THREADS
        threads_run(part, what, parts);
        Py_END_ALLOW_THREADS
    }
    writing = r;
}

/* The struct itself is known, so that it can be written down; sizes of 1 are those of `void`. */
#define SIZE_OF_WHAT(what) (sizeof *(what) * sizeof(char[sizeof *(what) > 1 ? 1 : -1]))
#define run_parts(part, what, parts, ns) run_parts_of(part, what, SIZE_OF_WHAT(what), parts, ns)
/* Shared out to as many threads as are worth it, at most `most`. */
#define run_shared(part, what, most, ns) \
    do { \
        const double ns_ = (ns); \
        run_parts(part, what, threads_parts(ns_, most), ns_); \
    } while (0)
#define run_once(part, what, ns) run_parts_of(part, what, SIZE_OF_WHAT(what), 1, ns)

/* Whether values ask for another way: a repeated call is then made anew. */
static inline int run_check_of(Check check, const void *what, size_t size) {
    if (writing) repeat_check(check, what, size);
    return check(what);
}
#define run_check(check, what) run_check_of(check, what, SIZE_OF_WHAT(what))

/* Two operands of any shapes that fit together, whose inner numbers lie beside each other or are one. */
void broadcast(Call *c, int which, PyObject *a, PyObject *b);

#define STRIP 1024
#define LAID_OVER 16
/* What of n floats is part i's, strip by strip. */
#define EACH_STRIP(from, some, n, i, parts) \
    for (from = share(((n) + 63) / 64, i, parts) * 64; \
         some = share(((n) + 63) / 64, (i) + 1, parts) * 64, some = (some < (n) ? some : (n)) - from, some = some < STRIP ? some : STRIP, some > 0; from += some)
Stepped stepped_joined(const float *x, int ndim, const npy_intp *shape, const idx *step); /* neighbouring dims are one where they lie so */
const float *stepped_floats(const Stepped *v, idx from, idx n, float *room); /* n floats of it, in `room` if they are not side by side already */
PyObject *m_codes(PyObject *module, PyObject *unused); /* of the module */
PyObject *m_places_within(PyObject *module, PyObject *const *args, Py_ssize_t nargs); /* of the module */
void whole_sum(Call *c); /* of int64 */
void whole_cumsum(Call *c);
void sort_rows(Call *c, int descending); /* of float32 or int64, (values, places) */
void whole_extreme(Call *c, int low);
void whole_divide(Call *c, int which); /* which: B_FMOD, B_REMAINDER or B_FLOOR_DIV */
float log_sum(const float *x, idx n); /* of the exponentials of a row */
int product_of(const Gemm *g); /* one matrix product on all threads; -1 when memory is short */
/* The same A with `batch` times B, `b_step` floats apart, into results that follow each other. */
int products_of(const Gemm *g, idx batch, idx b_step);

/* The sums of `parts` shares, `step` floats apart, into one: to = sums[0] + sums[1] + ... */
void shares_added(const float *sums, idx parts, idx step, float *to, idx n);

/* Part i of n items in `parts` equal shares. */
static inline idx share(idx n, idx i, idx parts) { return n / parts * i + (n % parts < i ? n % parts : i); }

extern const Entry conv_entries[], input_entries[], weight_entries[], matmul_entries[], pool_entries[], point_entries[], softmax_entries[],
    norm_entries[], update_entries[], recurrent_entries[], gather_entries[], reduce_entries[], move_entries[], fused_entries[], attention_entries[],
    scatter_entries[], group_entries[], nll_entries[], join_entries[],
    loss_entries[], view_entries[], row_entries[], row_group_entries[], three_entries[], resample_entries[], order_entries[], special_entries[], ctc_entries[], sample_entries[], select_entries[], scan_entries[], cast_entries[],
    whole_entries[], window_entries[], sort_entries[], linear_entries[],
    distance_entries[], picture_entries[], fft_entries[];

#endif
