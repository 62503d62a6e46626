// Number types of every kernel file: T is how numbers are stored, A what is computed with.
// No CUDA header is included, so that NVRTC needs no include path.
typedef unsigned char u8;
typedef long long i64;
typedef unsigned short u16;

struct half_t { u16 b; };
struct bf16_t { u16 b; };

__device__ __forceinline__ float up(float v) { return v; }
__device__ __forceinline__ double up(double v) { return v; }
__device__ __forceinline__ float up(half_t v) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.b));
    return f;
}
__device__ __forceinline__ float up(bf16_t v) { return __uint_as_float((unsigned)v.b << 16); }

template <typename T> struct Down;
template <> struct Down<float> {
    static __device__ __forceinline__ float of(float v) { return v; }
};
template <> struct Down<double> {
    static __device__ __forceinline__ double of(double v) { return v; }
};
template <> struct Down<half_t> {
    static __device__ __forceinline__ half_t of(float v) {
        half_t r;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.b) : "f"(v));
        return r;
    }
};
template <> struct Down<bf16_t> {
    static __device__ __forceinline__ bf16_t of(float v) {
        bf16_t r;
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.b) : "f"(v));
#else
        unsigned u = __float_as_uint(v);
        r.b = (v != v) ? (u16)0x7fff : (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
#endif
        return r;
    }
};

#ifndef NT
#define NT float
#endif
#ifndef NA
#define NA float
#endif
typedef NT T;
typedef NA A;

__device__ __forceinline__ T dn(A v) { return Down<T>::of(v); }

// V neighbours moved by one memory access; 16 bytes at most, by two where they are more.
template <typename E, int V> struct alignas(sizeof(E) * V > 16 ? 16 : sizeof(E) * V) Vec { E v[V]; };

__device__ __forceinline__ A warp_sum(A v) {
#pragma unroll
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}
__device__ __forceinline__ A warp_max(A v) {
#pragma unroll
    for (int d = 16; d; d >>= 1) {
        A o = __shfl_xor_sync(0xffffffffu, v, d);
        v = (o > v || o != o) ? o : v;
    }
    return v;
}
// Sum over a block, the same in every thread; `hold` has room for 32 numbers.
__device__ __forceinline__ A block_sum(A v, A* hold) {
    v = warp_sum(v);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) hold[threadIdx.x >> 5] = v;
    __syncthreads();
    v = threadIdx.x % 32 < (blockDim.x + 31) / 32 ? hold[threadIdx.x & 31] : (A)0;
    return warp_sum(v);
}
__device__ __forceinline__ A block_max(A v, A* hold) {
    v = warp_max(v);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) hold[threadIdx.x >> 5] = v;
    __syncthreads();
    v = hold[threadIdx.x % 32 < (blockDim.x + 31) / 32 ? (threadIdx.x & 31) : 0];
    return warp_max(v);
}
// The last block of a launch to get here answers true; `counter` returns to 0 by itself.
__device__ __forceinline__ bool last_block(unsigned* counter, unsigned blocks) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned seen = atomicAdd(counter, 1u);
        last = seen == blocks - 1;
        if (last) *counter = 0u;
    }
    __syncthreads();
    if (last) __threadfence();
    return last;
}
__device__ __forceinline__ A infinity() { return (A)__int_as_float(0x7f800000); }

// `bring` (kernel.cuh) for a vector of up to 32 bytes.
template <class V> __device__ __forceinline__ void bring_all(V* to, const V* from, bool live) {
    constexpr int STEP = sizeof(V) < 16 ? sizeof(V) : 16;
#pragma unroll
    for (int i = 0; i < sizeof(V); i += STEP) bring<STEP>((char*)to + i, (const char*)from + i, live);
}
