// A CUDA launch on host threads, one per CUDA thread: enough to check a kernel's arithmetic, indices and barriers on
// a machine without a GPU. Blocks run one after another.
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
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
static thread_local Dim threadIdx, blockIdx;
static thread_local unsigned me;  // the thread's number in its block
static Dim blockDim, gridDim;
static std::unique_ptr<std::barrier<>> everyone;
static std::vector<std::unique_ptr<std::barrier<>>> warps;
static double exchange[1024];

inline void __syncthreads() { everyone->arrive_and_wait(); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

inline void __syncwarp(unsigned = 0) { warps[me / 32]->arrive_and_wait(); }

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
template <class V> V __shfl_sync(unsigned, V v, int from, int width = 32) {
    return of_thread(v, me / width * width + from % width);
}

template <class R, class V> R reinterpret(V v) {
    R r;
    memcpy(&r, &v, sizeof r);
    return r;
}
inline float __uint_as_float(unsigned u) { return reinterpret<float>(u); }
inline unsigned __float_as_uint(float f) { return reinterpret<unsigned>(f); }
inline float __int_as_float(int u) { return reinterpret<float>(u); }
template <class V> V __ldg(const V* p) { return *p; }
template <class V> V __ldcg(const V* p) { return *p; }
inline unsigned atomicAdd(unsigned* p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
template <class V> V atomicAdd(V* p, V v) {
    static std::mutex one;
    std::lock_guard<std::mutex> alone(one);
    const V seen = *p;
    *p = seen + v;
    return seen;
}
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

template <class Kernel> void launch(Dim grid, Dim block, Kernel kernel) {
    gridDim = grid;
    blockDim = block;
    const unsigned threads = block.x * block.y * block.z;
    for (unsigned at = 0; at < grid.x * grid.y * grid.z; at++) {
        everyone.reset(new std::barrier<>(threads));
        warps.clear();
        for (unsigned first = 0; first < threads; first += 32)
            warps.emplace_back(new std::barrier<>(std::min(32u, threads - first)));
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; t++)
            all.emplace_back([=] {
                me = t;
                threadIdx = {t % block.x, t / block.x % block.y, t / (block.x * block.y)};
                blockIdx = {at % grid.x, at / grid.x % grid.y, at / (grid.x * grid.y)};
                kernel();
                everyone->arrive_and_drop();
            });
        for (std::thread& t : all) t.join();
    }
}
template <class Kernel> void launch(Dim grid, unsigned threads, Kernel kernel) {
    launch(grid, Dim{threads, 1, 1}, kernel);
}

// A kernel called with the addresses of its parameters, as the driver gets them.
template <class... P, size_t... I> void call_at(void (*kernel)(P...), void** p, std::index_sequence<I...>) {
    kernel(*(std::remove_const_t<P>*)p[I]...);
}
template <class... P> void call_at(void (*kernel)(P...), void** p) { call_at(kernel, p, std::index_sequence_for<P...>{}); }

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
