// Elements taken from and written to computed places. Before this file stand the prelude and:
// S the element type, X the type of the indices, N the number of dims of the index.

struct Geometry { i64 size[N]; i64 far[N]; i64 index[N]; i64 near[N]; };

struct Place { i64 to, near; };

// Where element i of the index points in the array that is indexed (far: its strides), and where it lies in the one laid out
// like the index (near).
__device__ __forceinline__ Place place(const Geometry& g, i64 i, const X* __restrict__ index, int dim, i64 extent) {
    i64 at = 0, line = 0, near = 0;
    #pragma unroll
    for (int d = N - 1; d >= 0; d--) {
        i64 q = i / g.size[d], r = i - q * g.size[d];
        i = q;
        if (d != dim) at += r * g.far[d];
        line += r * g.index[d];
        near += r * g.near[d];
    }
    i64 j = index[line];
    if (j < 0) j += extent;
    return {at + j * g.far[dim], near};
}
#define EACH(i, n) \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x; i < n; i += step)

BOUNDED_KERNEL(gather, 256)(
    i64 n, S* __restrict__ out, const S* __restrict__ x, const X* __restrict__ index, int dim, i64 extent,
    Geometry g
) {
    depend();
    EACH(i, n) out[i] = x[place(g, i, index, dim, extent).to];
}

BOUNDED_KERNEL(scatter, 256)(
    i64 n, S* __restrict__ out, const S* __restrict__ src, const X* __restrict__ index, int dim,
    i64 extent, Geometry g
) {
    depend();
    EACH(i, n) {
        const Place p = place(g, i, index, dim, extent);
        out[p.to] = src[p.near];
    }
}

// Where every element of a scatter goes, as a place in flat memory.
BOUNDED_KERNEL(flatten, 256)(
    i64 n, i64* __restrict__ out, const S* unused, const X* __restrict__ index, int dim, i64 extent,
    Geometry g
) {
    depend();
    EACH(i, n) out[i] = place(g, i, index, dim, extent).to;
}

#ifdef ATOMIC
BOUNDED_KERNEL(scatter_add, 256)(
    i64 n, S* __restrict__ out, const S* __restrict__ src, const X* __restrict__ index, int dim,
    i64 extent, Geometry g
) {
    depend();
    EACH(i, n) {
        const Place p = place(g, i, index, dim, extent);
        atomicAdd((ATOMIC*)(out + p.to), (ATOMIC)src[p.near]);
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
    EACH(i, n) {
        const Place p = place(g, i, index, dim, extent);
        B* to = (B*)(out + p.to);
        Both<B> seen, best, mine;
        mine.value = src[p.near];
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
    EACH(i, n) atomicAdd((ATOMIC*)(out + at[i]), (ATOMIC)src[i]);
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
    EACH(i, n) {
        const i64 to = at[i];
        if (i > 0 && at[i - 1] == to) continue;
        i64 k = i;
        C a = keep ? widen(out[to]) : widen(src[order[k++]]);
        for (; k < n && at[k] == to; k++) a = fold(kind, a, widen(src[order[k]]));
        out[to] = narrow(To<S>(), a);
    }
}
