// Elements taken from and written to computed places. Before this file stand the prelude and:
// S the element type, X the type of the indices, N the number of dims of the index.

struct Geometry { i64 size[N]; i64 far[N]; i64 index[N]; i64 near[N]; };

// far: strides of the array that is indexed, near: of the one laid out like the index.
__device__ __forceinline__ void places(const Geometry& g, i64 i, i64& at, i64& line, i64& near, int dim) {
    at = line = near = 0;
    #pragma unroll
    for (int d = N - 1; d >= 0; d--) {
        i64 q = i / g.size[d], r = i - q * g.size[d];
        i = q;
        if (d != dim) at += r * g.far[d];
        line += r * g.index[d];
        near += r * g.near[d];
    }
}

BOUNDED_KERNEL(gather, 256)(
    i64 n, S* __restrict__ out, const S* __restrict__ x, const X* __restrict__ index, int dim, i64 extent,
    Geometry g
) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        i64 at, line, near;
        places(g, i, at, line, near, dim);
        i64 j = index[line];
        if (j < 0) j += extent;
        out[i] = x[at + j * g.far[dim]];
    }
}

BOUNDED_KERNEL(scatter, 256)(
    i64 n, S* __restrict__ out, const S* __restrict__ src, const X* __restrict__ index, int dim,
    i64 extent, Geometry g
) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        i64 at, line, near;
        places(g, i, at, line, near, dim);
        i64 j = index[line];
        if (j < 0) j += extent;
        out[at + j * g.far[dim]] = src[near];
    }
}

// Where every element of a scatter goes, as a place in flat memory.
BOUNDED_KERNEL(flatten, 256)(
    i64 n, i64* __restrict__ out, const S* unused, const X* __restrict__ index, int dim, i64 extent,
    Geometry g
) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        i64 at, line, near;
        places(g, i, at, line, near, dim);
        i64 j = index[line];
        if (j < 0) j += extent;
        out[i] = at + j * g.far[dim];
    }
}

#ifdef ATOMIC
BOUNDED_KERNEL(scatter_add, 256)(
    i64 n, S* __restrict__ out, const S* __restrict__ src, const X* __restrict__ index, int dim,
    i64 extent, Geometry g
) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        i64 at, line, near;
        places(g, i, at, line, near, dim);
        i64 j = index[line];
        if (j < 0) j += extent;
        atomicAdd((ATOMIC*)(out + at + j * g.far[dim]), (ATOMIC)src[near]);
    }
}

// The largest or the smallest of all that come to a place, in whichever order: of 0 and -0 always the same one, too.
template <int BYTES> struct Word { typedef unsigned type; };
template <> struct Word<8> { typedef u64 type; };
template <class B> struct Both { union { S value; B bits; }; __device__ Both() {} };
BOUNDED_KERNEL(scatter_extreme, 256)(
    i64 n, S* out, const S* __restrict__ src, const X* __restrict__ index, int dim, i64 extent, Geometry g,
    int largest
) {
    depend();
    typedef Word<sizeof(S)>::type B;
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        i64 at, line, near;
        places(g, i, at, line, near, dim);
        i64 j = index[line];
        if (j < 0) j += extent;
        B* to = (B*)(out + at + j * g.far[dim]);
        Both<B> seen, best, mine;
        mine.value = src[near];
        seen.bits = *(volatile B*)to;
        for (;;) {
            const S a = seen.value, b = mine.value;
            if (a == b) best.bits = (seen.bits < mine.bits) == (largest != 0) ? seen.bits : mine.bits;
            else best.value = largest ? top(a, b) : bottom(a, b);
            if (best.bits == seen.bits) break;
            const B found = atomicCAS(to, seen.bits, best.bits);
            if (found == seen.bits) break;
            seen.bits = found;
        }
    }
}

BOUNDED_KERNEL(add_flat, 256)(
    i64 n, S* out, const S* __restrict__ src, const i64* __restrict__ at
) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        atomicAdd((ATOMIC*)(out + at[i]), (ATOMIC)src[i]);
}
#endif

// Terms sorted by place: the first of a run folds the whole run, in order, into its place.
typedef Wide<S>::type C;
__device__ __forceinline__ C fold(int kind, C a, C b) {
    return kind == 0 ? C(a + b) : kind == 1 ? C(a * b) : kind == 2 ? top(a, b) : bottom(a, b);
}
BOUNDED_KERNEL(runs, 256)(
    i64 n, S* out, const S* __restrict__ src, const i64* __restrict__ at,
    const i64* __restrict__ order, int kind, int keep
) {
    depend();
    const i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 place = at[i];
        if (i > 0 && at[i - 1] == place) continue;
        i64 k = i;
        C a = keep ? widen(out[place]) : widen(src[order[k++]]);
        for (; k < n && at[k] == place; k++) a = fold(kind, a, widen(src[order[k]]));
        out[place] = narrow(To<S>(), a);
    }
}
