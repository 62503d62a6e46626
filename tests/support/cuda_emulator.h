// A CUDA launch on the host: enough to check a kernel's arithmetic, indices and barriers on a machine without a GPU.
// Blocks run one after another. The threads of a block take turns: each runs until it waits for others, so that a
// value read without a barrier is seen before it is written. The order turns round after every barrier.
#include <sys/mman.h>
#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static
#define __restrict__
#define __CUDA_ARCH__ 700  // without asynchronous copies

struct Dim { unsigned x, y, z; };
static Dim threadIdx, blockIdx, blockDim, gridDim;
static unsigned me;  // the thread's number in its block
static double exchange[1024];

namespace turns {
enum State { READY, AT_BARRIER, AT_WARP, DONE };
struct Thread {
    ucontext_t context;
    State state;
};
static std::vector<Thread> threads;
static ucontext_t scheduler;

// Let the others run until all of them have come here.
inline void wait_as(State state) {
    threads[me].state = state;
    swapcontext(&threads[me].context, &scheduler);
}
}  // namespace turns
inline void __syncthreads() { turns::wait_as(turns::AT_BARRIER); }
inline int __syncthreads_or(int wanted) {
    static int any;
    __syncthreads();
    any = 0;
    __syncthreads();
    if (wanted) any = 1;
    __syncthreads();
    return any;
}
inline void __syncwarp(unsigned = 0) { turns::wait_as(turns::AT_WARP); }
inline void __threadfence() {}

// What thread `from` of the block has.
template <class V> V of_thread(V v, unsigned from) {
    memcpy(&exchange[me], &v, sizeof v);
    __syncwarp();
    V r;
    memcpy(&r, &exchange[from], sizeof r);
    __syncwarp();
    return r;
}
template <class V> V __shfl_xor_sync(unsigned, V v, int d, int = 32) { return of_thread(v, me ^ d); }
template <class V> V __shfl_down_sync(unsigned, V v, int d, int width = 32) {
    return of_thread(v, me % width + d < unsigned(width) ? me + d : me);
}
template <class V> V __shfl_up_sync(unsigned, V v, int d, int width = 32) {
    return of_thread(v, int(me % width) >= d ? me - d : me);
}
template <class V> V __shfl_sync(unsigned, V v, int from, int width = 32) {
    return of_thread(v, me / width * width + from % width);
}

inline unsigned __ballot_sync(unsigned, bool v) {
    memcpy(&exchange[me], &v, sizeof v);
    __syncwarp();
    unsigned lanes = 0;
    for (unsigned i = 0; i < 32; i++) {
        memcpy(&v, &exchange[me / 32 * 32 + i], sizeof v);
        lanes |= unsigned(v) << i;
    }
    __syncwarp();
    return lanes;
}

// A tensor core's product of 16 x 8 by 8 x 8 numbers, whose last 13 bits it does not see, as mma.m16n8k8 shares them out.
static float operands[1024][6];
inline void multiply_tf32(float* c, float a0, float a1, float a2, float a3, float b0, float b1) {
    const float given[6] = {a0, a1, a2, a3, b0, b1};
    for (int i = 0; i < 6; i++) {
        unsigned bits;
        memcpy(&bits, &given[i], sizeof bits);
        bits &= ~0x1fffu;
        memcpy(&operands[me][i], &bits, sizeof bits);
    }
    __syncwarp();
    const unsigned first = me / 32 * 32, lane = me % 32;
    for (int i = 0; i < 4; i++) {
        const unsigned row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
        for (unsigned k = 0; k < 8; k++)
            c[i] += operands[first + row % 8 * 4 + k % 4][row / 8 + 2 * (k / 4)] * operands[first + column * 4 + k % 4][4 + k / 4];
    }
    __syncwarp();
}
inline unsigned to_tf32(float v) {  // to the nearest, ties away from zero
    unsigned bits;
    memcpy(&bits, &v, sizeof bits);
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

template <class R, class V> R reinterpret(V v) {
    R r;
    memcpy(&r, &v, sizeof r);
    return r;
}
inline float __uint_as_float(unsigned u) { return reinterpret<float>(u); }
inline unsigned __float_as_uint(float f) { return reinterpret<unsigned>(f); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline float __int_as_float(int u) { return reinterpret<float>(u); }
inline double __longlong_as_double(long long u) { return reinterpret<double>(u); }
inline long long __double_as_longlong(double f) { return reinterpret<long long>(f); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
template <class V> V __ldg(const V* p) { return *p; }
template <class V> V __ldcg(const V* p) { return *p; }
inline unsigned atomicAdd(unsigned* p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
template <class V> V atomicAdd(V* p, V v) {
    const V seen = *p;
    *p = seen + v;
    return seen;
}
template <class V> V atomicCAS(V* p, V seen, V wanted) {
    const V found = *p;
    if (found == seen) *p = wanted;
    return found;
}
inline unsigned atomicOr(unsigned* p, unsigned v) { return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); }
inline int __ffs(int v) { return __builtin_ffs(v); }
struct uint4 { unsigned x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
inline unsigned atomicInc(unsigned* p, unsigned most) {
    const unsigned seen = *p;  // one block at a time
    *p = seen >= most ? 0 : seen + 1;
    return seen;
}
template <class X, class Y> auto min(X a, Y b) { return a < b ? a : b; }
template <class X, class Y> auto max(X a, Y b) { return a > b ? a : b; }

namespace turns {
// One warp runs until each of its threads has ended or waits for the whole block.
inline void run_warp(unsigned first, unsigned end, bool backwards) {
    for (;;) {
        unsigned at_warp = 0, at_barrier = 0;
        for (unsigned i = first; i < end; i++) {
            const unsigned t = backwards ? first + end - 1 - i : i;
            if (threads[t].state == READY) {
                me = t;
                threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / (blockDim.x * blockDim.y)};
                swapcontext(&scheduler, &threads[t].context);
            }
            at_warp += threads[t].state == AT_WARP;
            at_barrier += threads[t].state == AT_BARRIER;
        }
        if (!at_warp) return;
        if (at_barrier) {
            fprintf(stderr, "threads of one warp wait for each other at different barriers\n");
            abort();
        }
        for (unsigned t = first; t < end; t++)
            if (threads[t].state == AT_WARP) threads[t].state = READY;
    }
}

template <class Kernel> struct Body {
    static Kernel* kernel;
    static void run() {
        (*kernel)();
        threads[me].state = DONE;  // and the context goes on where `uc_link` says
    }
};
template <class Kernel> Kernel* Body<Kernel>::kernel;

template <class Kernel> void run_block(unsigned count, char* stacks, size_t stack) {
    for (unsigned t = 0; t < count; t++) {
        ucontext_t& context = threads[t].context;
        getcontext(&context);
        context.uc_stack.ss_sp = stacks + t * stack;
        context.uc_stack.ss_size = stack;
        context.uc_link = &scheduler;
        makecontext(&context, Body<Kernel>::run, 0);
        threads[t].state = READY;
    }
    for (bool backwards = false, alive = true; alive; backwards = !backwards) {
        const unsigned warps = (count + 31) / 32;
        for (unsigned i = 0; i < warps; i++) {
            const unsigned first = 32 * (backwards ? warps - 1 - i : i);
            run_warp(first, first + 32 < count ? first + 32 : count, backwards);
        }
        alive = false;
        for (unsigned t = 0; t < count; t++)
            if (threads[t].state == AT_BARRIER) {
                threads[t].state = READY;
                alive = true;
            }
    }
}

}  // namespace turns

template <class Kernel> void launch(Dim grid, Dim block, Kernel kernel) {
    using namespace turns;
    gridDim = grid;
    blockDim = block;
    Body<Kernel>::kernel = &kernel;
    const unsigned count = block.x * block.y * block.z;
    const size_t stack = 256 << 10, bytes = count * stack;
    char* stacks = (char*)mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) {
        perror("no memory for the threads of a block");
        abort();
    }
    threads.resize(count);
    for (unsigned at = 0; at < grid.x * grid.y * grid.z; at++) {
        blockIdx = {at % grid.x, at / grid.x % grid.y, at / (grid.x * grid.y)};
        run_block<Kernel>(count, stacks, stack);
    }
    munmap(stacks, bytes);
}
template <class Kernel> void launch(Dim grid, unsigned count, Kernel kernel) {
    launch(grid, Dim{count, 1, 1}, kernel);
}

// A kernel called with the addresses of its parameters, as the driver gets them.
template <class... P, size_t... I> void call_at(void (*kernel)(P...), void** p, std::index_sequence<I...>) {
    kernel(*(std::remove_const_t<P>*)p[I]...);
}
template <class... P> void call_at(void (*kernel)(P...), void** p) { call_at(kernel, p, std::index_sequence_for<P...>{}); }

// A kernel called with eight bytes for each parameter: an address, a number, or where a structure lies.
template <class P> P of_word(long long word) {
    if constexpr (std::is_pointer_v<P>) return (P)word;
    else if constexpr (std::is_floating_point_v<P>) return (P)__builtin_bit_cast(double, word);
    else if constexpr (std::is_integral_v<P>) return (P)word;
    else return *(P*)word;
}
template <class... P, size_t... I> void call_with(void (*kernel)(P...), long long* words, std::index_sequence<I...>) {
    kernel(of_word<P>(words[I])...);
}
template <class... P> void call_with(void (*kernel)(P...), long long* words) { call_with(kernel, words, std::index_sequence_for<P...>{}); }

// The addresses of copies of the parameters: a captured launch outlives the caller's.
template <class... P, size_t... I> void** copies_at(void (*)(P...), void** p, std::index_sequence<I...>) {
    return new void*[sizeof...(P) + 1]{(void*)new std::remove_const_t<P>(*(std::remove_const_t<P>*)p[I])..., nullptr};
}
template <class... P> void** copies_at(void (*kernel)(P...), void** p) { return copies_at(kernel, p, std::index_sequence_for<P...>{}); }

// CUDA's own functions and types that sources name.
struct alignas(16) ulonglong2 { unsigned long long x, y; };
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
// Named by the sources of all pointwise kernels, called by few of them: not emulated.
inline float cyl_bessel_i0f(float) { return NAN; }
inline double cyl_bessel_i0(double) { return NAN; }
inline float cyl_bessel_i1f(float) { return NAN; }
inline double cyl_bessel_i1(double) { return NAN; }
inline float erfinvf(float) { return NAN; }
inline double erfinv(double) { return NAN; }
inline float erfcxf(float) { return NAN; }
inline double erfcx(double) { return NAN; }
inline float normcdff(float) { return NAN; }
inline double normcdf(double) { return NAN; }
inline float normcdfinvf(float) { return NAN; }
inline double normcdfinv(double) { return NAN; }
