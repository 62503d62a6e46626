// A CUDA launch on host threads, one per CUDA thread: enough to check a kernel's arithmetic, indices and barriers on
// a machine without a GPU. Blocks run one after another.
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
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
static Dim blockDim, gridDim;
static std::unique_ptr<std::barrier<>> everyone;
static std::vector<std::unique_ptr<std::barrier<>>> warps;
static double exchange[1024];

inline void __syncthreads() { everyone->arrive_and_wait(); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

template <class V> V __shfl_xor_sync(unsigned, V v, int d) {
    const int t = threadIdx.x;
    std::barrier<>& warp = *warps[t / 32];
    memcpy(&exchange[t], &v, sizeof v);
    warp.arrive_and_wait();
    V r;
    memcpy(&r, &exchange[t ^ d], sizeof r);
    warp.arrive_and_wait();
    return r;
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
inline unsigned atomicInc(unsigned* p, unsigned most) {
    const unsigned seen = *p;  // one block at a time
    *p = seen >= most ? 0 : seen + 1;
    return seen;
}
template <class X, class Y> auto min(X a, Y b) { return a < b ? a : b; }
template <class X, class Y> auto max(X a, Y b) { return a > b ? a : b; }

template <class Kernel> void launch(Dim grid, unsigned threads, Kernel kernel) {
    gridDim = grid;
    blockDim = {threads, 1, 1};
    for (unsigned at = 0; at < grid.x * grid.y * grid.z; at++) {
        everyone.reset(new std::barrier<>(threads));
        warps.clear();
        for (unsigned first = 0; first < threads; first += 32)
            warps.emplace_back(new std::barrier<>(std::min(32u, threads - first)));
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; t++)
            all.emplace_back([=] {
                threadIdx = {t, 0, 0};
                blockIdx = {at % grid.x, at / grid.x % grid.y, at / (grid.x * grid.y)};
                kernel();
                everyone->arrive_and_drop();
            });
        for (std::thread& t : all) t.join();
    }
}
