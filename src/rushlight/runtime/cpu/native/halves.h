/* Which half precision an array holds. */
#ifndef RL_HALVES_H
#define RL_HALVES_H

#include "arrays.h"
#include "codes.h"

/* ml_dtypes' bfloat16 has the letter E. */
static inline int half_of(PyArrayObject *a) {
    if (!PyArray_ISNOTSWAPPED(a) || PyArray_ITEMSIZE(a) != 2) return NO_HALF;
    return PyArray_TYPE(a) == NPY_HALF ? FLOAT16 : PyArray_DESCR(a)->type == 'E' ? BFLOAT16 : NO_HALF;
}

#endif
