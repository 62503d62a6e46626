/* The loops for the instructions every machine of this architecture has: NEON, or SSE2. */
#define VL 4
#define ISA base
#if defined(__aarch64__)
#define ISA_NAME "NEON"
#elif defined(__x86_64__)
#define ISA_NAME "SSE2"
#else
#define ISA_NAME "plain C"
#endif
#include "loops.h"
