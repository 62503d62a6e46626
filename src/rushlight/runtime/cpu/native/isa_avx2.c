/* The loops for AVX2 and FMA; chosen at run time where the processor has them. */
#if defined(__x86_64__)
/* The system's headers come first: the pragma is for our functions only. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif
#define VL 8
#define ISA avx2
#define ISA_NAME "AVX2"
#include "loops.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nothing_here; /* other architectures: an empty file is not standard C */
#endif
