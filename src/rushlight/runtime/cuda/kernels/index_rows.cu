// Rows of an array at computed places: taken, and added up. LANES neighbours of a warp move one row together, so that
// its place is read once for all of them and the row by whole words. X is the type of the places.
#ifndef X
#define X i64
#endif
#ifndef LANES
#define LANES 32
#endif
#ifndef UNIT
#define UNIT int
#endif
struct alignas(8) bytes_8 { unsigned v[2]; };
struct alignas(16) bytes_16 { unsigned v[4]; };

// Negative places count from the end; beyond it they begin again, as a check would wait for the GPU.
__device__ __forceinline__ i64 wrapped(i64 place, i64 extent) {
    if (place >= 0 && place < extent) return place;
    place %= extent;
    return place < 0 ? place + extent : place;
}

// x is (blocks, extent, width), out (blocks, picks, width); `count` is blocks * picks, `width` in words.
KERNEL(take)(const UNIT* __restrict__ x, const X* __restrict__ index, UNIT* __restrict__ out, i64 count, i64 picks,
             i64 extent, i64 width) {
    depend();
    const int lane = threadIdx.x & (LANES - 1);
    const i64 step = (i64)gridDim.x * blockDim.x / LANES;
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES; row < count; row += step) {
        const i64 outer = count == picks ? 0 : row / picks;
        const i64 from = outer * extent + wrapped((i64)index[row - outer * picks], extent);
        for (i64 i = lane; i < width; i += LANES) out[row * width + i] = x[from * width + i];
    }
}

// The same of strided memory: what is picked has a times b lines of `width` words, `far`, `over` and `down` apart.
KERNEL(take_lines)(const UNIT* __restrict__ x, const X* __restrict__ index, UNIT* __restrict__ out, i64 count, i64 extent,
                   i64 width, i64 far, int a, int b, i64 over, i64 down) {
    depend();
    const int lane = threadIdx.x & (LANES - 1);
    const i64 step = (i64)gridDim.x * blockDim.x / LANES;
    for (i64 line = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES; line < count; line += step) {
        const i64 pick = line / (a * b);
        const int own = (int)(line - pick * (a * b)), i = own / b;
        const UNIT* from = x + wrapped((i64)index[pick], extent) * far + i * over + (own - i * b) * down;
        for (i64 k = lane; k < width; k += LANES) out[line * width + k] = from[k];
    }
}

// The other way round: rows of x written to places of out; of equal places any.
KERNEL(put)(const UNIT* __restrict__ x, const X* __restrict__ index, UNIT* __restrict__ out, i64 count, i64 picks,
            i64 extent, i64 width) {
    depend();
    const int lane = threadIdx.x & (LANES - 1);
    const i64 step = (i64)gridDim.x * blockDim.x / LANES;
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES; row < count; row += step) {
        const i64 outer = count == picks ? 0 : row / picks;
        const i64 to = outer * extent + wrapped((i64)index[row - outer * picks], extent);
        for (i64 i = lane; i < width; i += LANES) out[to * width + i] = x[row * width + i];
    }
}

// Four neighbours by one instruction where the GPU knows it.
__device__ __forceinline__ void add_four(float* to, const float* v) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3])
                 : "memory");
#else
    for (int k = 0; k < 4; k++) atomicAdd(to + k, v[k]);
#endif
}
__device__ __forceinline__ void add_four(double* to, const double* v) {
    for (int k = 0; k < 4; k++) atomicAdd(to + k, v[k]);
}

// out[., index, .] += g, in whichever order the rows come; FOUR says that rows are whole groups of four.
KERNEL(add)(const T* __restrict__ g, const X* __restrict__ index, A* out, i64 count, i64 picks, i64 extent,
            i64 width) {
    depend();
    const int lane = threadIdx.x & (LANES - 1);
    const i64 step = (i64)gridDim.x * blockDim.x / LANES;
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES; row < count; row += step) {
        const i64 outer = count == picks ? 0 : row / picks;
        A* to = out + (outer * extent + wrapped((i64)index[row - outer * picks], extent)) * width;
        const T* from = g + row * width;
#if FOUR
        for (i64 i = 4 * lane; i < width; i += 4 * LANES) {
            const Vec<T, 4> raw = *(const Vec<T, 4>*)(from + i);
            A v[4];
#pragma unroll
            for (int k = 0; k < 4; k++) v[k] = up(raw.v[k]);
            add_four(to + i, v);
        }
#else
        for (i64 i = lane; i < width; i += LANES) atomicAdd(to + i, up(from[i]));
#endif
    }
}

// The same in the order of the rows: `order` sorts the places (stable), the first of equal ones adds them all up.
KERNEL(add_in_order)(const T* __restrict__ g, const X* __restrict__ index, const i64* __restrict__ order, T* out,
                     i64 count, i64 picks, i64 extent, i64 width) {
    depend();
    const int lane = threadIdx.x & (LANES - 1);
    const i64 step = (i64)gridDim.x * blockDim.x / LANES;
    for (i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / LANES; row < count; row += step) {
        const i64 outer = count == picks ? 0 : row / picks, first = row - outer * picks;
        const i64 place = wrapped((i64)index[order[first]], extent);
        if (first > 0 && wrapped((i64)index[order[first - 1]], extent) == place) continue;
        i64 end = first + 1;
        while (end < picks && wrapped((i64)index[order[end]], extent) == place) end++;
        T* to = out + (outer * extent + place) * width;
        for (i64 i = lane; i < width; i += LANES) {
            A total = up(to[i]);
            for (i64 k = first; k < end; k++) total += up(g[(outer * picks + order[k]) * width + i]);
            to[i] = dn(total);
        }
    }
}
