/* The loops for AVX-512; chosen at run time where the processor has them. */
#if defined(__x86_64__)
/* The system's headers come first: the pragma is for our functions only. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,fma")
#endif
#define VL 16
#define ISA avx512
#define ISA_NAME "AVX512"
#include "loops.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nothing_here; /* other architectures: an empty file is not standard C */
#endif
