// One reduction over some dims of a strided array. Before this file stand the prelude and:
// S stored, A accumulated, O result types; INIT, MAP(v, r), JOIN(a, b), FINAL(a, n); I index type;
// KEPT and GONE, the numbers of dims that stay and go; PAIR where an accumulator holds two results, v and i, of which J is
// the second one's type.
#ifndef PAIR
typedef i64 J;
#endif

struct Geometry { I kept[KEPT]; I kept_step[KEPT]; I gone[GONE]; I gone_step[GONE]; };

__device__ __forceinline__ I kept_offset(const Geometry& g, I o) {
    I at = 0;
    #pragma unroll
    for (int d = KEPT - 1; d > 0; d--) {
        I q = o / g.kept[d];
        at += (o - q * g.kept[d]) * g.kept_step[d];
        o = q;
    }
    return at + o * g.kept_step[0];
}

__device__ __forceinline__ I gone_offset(const Geometry& g, I r) {
    I at = 0;
    #pragma unroll
    for (int d = GONE - 1; d > 0; d--) {
        I q = r / g.gone[d];
        at += (r - q * g.gone[d]) * g.gone_step[d];
        r = q;
    }
    return at + r * g.gone_step[0];
}

__device__ __forceinline__ void store(O* out, J* index, A* parts, I o, I outs, A a, i64 n) {
    if (parts) parts[(u64)blockIdx.y * outs + o] = a;
    else {
#ifdef PAIR
        if (out) out[o] = narrow(To<O>(), a.v);
        index[o] = narrow(To<J>(), a.i);
#else
        out[o] = narrow(To<O>(), FINAL(a, n));
#endif
    }
}

// Threads along the reduced dims: `lanes` of them share one result, 256 / lanes results a block.
BOUNDED_KERNEL(rows, 256)(
    const S* __restrict__ x, O* out, J* index, A* parts, I outs, I terms, I chunk, i64 n, Geometry g
) {
    depend();
    __shared__ A room[256];
    const int lanes = blockDim.x, me = threadIdx.y * lanes + threadIdx.x;
    const I o = (I)blockIdx.x * blockDim.y + threadIdx.y;
    const I start = (I)blockIdx.y * chunk, stop = start + chunk < terms ? start + chunk : terms;
    A a = INIT;
    if (o < outs) {
        const S* from = x + kept_offset(g, o);
        I r = start + threadIdx.x;
        if (GONE == 1) {
            const I step = g.gone_step[0];
            A b = INIT, c = INIT, d = INIT;
            for (; r + 3 * lanes < stop; r += 4 * lanes) {
                S p = from[r * step], q = from[(r + lanes) * step];
                S s = from[(r + 2 * lanes) * step], t = from[(r + 3 * lanes) * step];
                a = JOIN(a, MAP(widen(p), r));
                b = JOIN(b, MAP(widen(q), r + lanes));
                c = JOIN(c, MAP(widen(s), r + 2 * lanes));
                d = JOIN(d, MAP(widen(t), r + 3 * lanes));
            }
            a = JOIN(JOIN(a, b), JOIN(c, d));
        }
        for (; r < stop; r += lanes) a = JOIN(a, MAP(widen(from[gone_offset(g, r)]), r));
    }
    room[me] = a;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) room[me] = JOIN(room[me], room[me + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0 && o < outs) store(out, index, parts, o, outs, room[me], n);
}

// As `rows`, for terms that lie next to each other at aligned addresses, 16 bytes at a time.
BOUNDED_KERNEL(packs, 256)(
    const S* __restrict__ x, O* out, J* index, A* parts, I outs, I terms, I chunk, i64 n, Geometry g
) {
    depend();
    static const int V = 16 / sizeof(S);
    __shared__ A room[256];
    const int lanes = blockDim.x, me = threadIdx.y * lanes + threadIdx.x;
    const I o = (I)blockIdx.x * blockDim.y + threadIdx.y;
    const I start = (I)blockIdx.y * chunk, stop = start + chunk < terms ? start + chunk : terms;
    A a = INIT;
    if (o < outs) {
        const Pack<S, V>* from = (const Pack<S, V>*)(x + kept_offset(g, o));
        A b = INIT;
        I r = start / V + threadIdx.x;
        const I last = stop / V;
        for (; r + lanes < last; r += 2 * lanes) {
            const Pack<S, V> p = from[r], q = from[r + lanes];
            #pragma unroll
            for (int j = 0; j < V; j++) {
                a = JOIN(a, MAP(widen(p.v[j]), r * V + j));
                b = JOIN(b, MAP(widen(q.v[j]), (r + lanes) * V + j));
            }
        }
        for (; r < last; r += lanes) {
            const Pack<S, V> p = from[r];
            #pragma unroll
            for (int j = 0; j < V; j++) a = JOIN(a, MAP(widen(p.v[j]), r * V + j));
        }
        a = JOIN(a, b);
    }
    room[me] = a;
    __syncthreads();
    for (int half = lanes / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) room[me] = JOIN(room[me], room[me + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0 && o < outs) store(out, index, parts, o, outs, room[me], n);
}

// Threads along the results, eight at a time along the reduced dims.
BOUNDED_KERNEL(columns, 256)(
    const S* __restrict__ x, O* out, J* index, A* parts, I outs, I terms, I chunk, i64 n, Geometry g
) {
    depend();
    __shared__ A room[8][32];
    const I o = (I)blockIdx.x * 32 + threadIdx.x;
    const I start = (I)blockIdx.y * chunk, stop = start + chunk < terms ? start + chunk : terms;
    A a = INIT;
    if (o < outs) {
        const S* from = x + kept_offset(g, o);
        I r = start + threadIdx.y;
        A b = INIT;
        for (; r + 8 < stop; r += 16) {
            S p = from[gone_offset(g, r)], q = from[gone_offset(g, r + 8)];
            a = JOIN(a, MAP(widen(p), r));
            b = JOIN(b, MAP(widen(q), r + 8));
        }
        for (; r < stop; r += 8) a = JOIN(a, MAP(widen(from[gone_offset(g, r)]), r));
        a = JOIN(a, b);
    }
    room[threadIdx.y][threadIdx.x] = a;
    __syncthreads();
    for (int half = 4; half > 0; half /= 2) {
        if (threadIdx.y < half)
            room[threadIdx.y][threadIdx.x] =
                JOIN(room[threadIdx.y][threadIdx.x], room[threadIdx.y + half][threadIdx.x]);
        __syncthreads();
    }
    if (threadIdx.y == 0 && o < outs) store(out, index, parts, o, outs, room[0][threadIdx.x], n);
}

// As `columns`, for results that lie next to each other at aligned addresses, 16 bytes of them a thread.
BOUNDED_KERNEL(column_packs, 256)(
    const S* __restrict__ x, O* out, J* index, A* parts, I outs, I terms, I chunk, i64 n, Geometry g
) {
    depend();
    static const int V = 16 / sizeof(S), AHEAD = 4;
    __shared__ A room[V][8][32];
    const I o = ((I)blockIdx.x * 32 + threadIdx.x) * V;
    const I start = (I)blockIdx.y * chunk, stop = start + chunk < terms ? start + chunk : terms;
    A a[V];
    #pragma unroll
    for (int j = 0; j < V; j++) a[j] = INIT;
    if (o < outs) {
        const S* from = x + o;
        const I step = g.gone_step[0];
        I r = start + threadIdx.y;
        for (; r + 8 * (AHEAD - 1) < stop; r += 8 * AHEAD) {
            Pack<S, V> p[AHEAD];
            #pragma unroll
            for (int k = 0; k < AHEAD; k++) p[k] = *(const Pack<S, V>*)(from + (r + 8 * k) * step);
            #pragma unroll
            for (int k = 0; k < AHEAD; k++)
                #pragma unroll
                for (int j = 0; j < V; j++) a[j] = JOIN(a[j], MAP(widen(p[k].v[j]), r + 8 * k));
        }
        for (; r < stop; r += 8) {
            const Pack<S, V> p = *(const Pack<S, V>*)(from + r * step);
            #pragma unroll
            for (int j = 0; j < V; j++) a[j] = JOIN(a[j], MAP(widen(p.v[j]), r));
        }
    }
    #pragma unroll
    for (int j = 0; j < V; j++) room[j][threadIdx.y][threadIdx.x] = a[j];
    __syncthreads();
    // every row of threads takes some of the V results of a column of threads
    for (int j = threadIdx.y; j < V; j += 8) {
        A all = room[j][0][threadIdx.x];
        for (int k = 1; k < 8; k++) all = JOIN(all, room[j][k][threadIdx.x]);
        if (o < outs) store(out, index, parts, o + j, outs, all, n);
    }
}

// As `column_packs`, for so few terms that one thread takes all of them.
BOUNDED_KERNEL(short_columns, 256)(
    const S* __restrict__ x, O* out, J* index, A* parts, I outs, I terms, I chunk, i64 n, Geometry g
) {
    depend();
    static const int V = 16 / sizeof(S), AHEAD = 4;
    const I o = ((I)blockIdx.x * blockDim.x + threadIdx.x) * V;
    if (o >= outs) return;
    A a[V];
    #pragma unroll
    for (int j = 0; j < V; j++) a[j] = INIT;
    const S* from = x + o;
    const I step = g.gone_step[0];
    I r = 0;
    for (; r + AHEAD <= terms; r += AHEAD) {
        Pack<S, V> p[AHEAD];
        #pragma unroll
        for (int k = 0; k < AHEAD; k++) p[k] = *(const Pack<S, V>*)(from + (r + k) * step);
        #pragma unroll
        for (int k = 0; k < AHEAD; k++)
            #pragma unroll
            for (int j = 0; j < V; j++) a[j] = JOIN(a[j], MAP(widen(p[k].v[j]), r + k));
    }
    for (; r < terms; r++) {
        const Pack<S, V> p = *(const Pack<S, V>*)(from + r * step);
        #pragma unroll
        for (int j = 0; j < V; j++) a[j] = JOIN(a[j], MAP(widen(p.v[j]), r));
    }
    #pragma unroll
    for (int j = 0; j < V; j++) store(out, index, parts, o + j, outs, a[j], n);
}

// The second step of a reduction in parts: a block per result joins them in a fixed order.
BOUNDED_KERNEL(join, 256)(
    const A* __restrict__ parts, O* out, J* index, I outs, I count, i64 n
) {
    depend();
    __shared__ A room[256];
    const I o = blockIdx.x;
    A a = INIT;
    for (I k = threadIdx.x; k < count; k += 256) a = JOIN(a, parts[(u64)k * outs + o]);
    room[threadIdx.x] = a;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) room[threadIdx.x] = JOIN(room[threadIdx.x], room[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) store(out, index, (A*)0, o, outs, room[0], n);
}

// The same for many results: threads along them, eight at a time along the parts.
BOUNDED_KERNEL(join_columns, 256)(
    const A* __restrict__ parts, O* out, J* index, I outs, I count, i64 n
) {
    depend();
    __shared__ A room[8][32];
    const I o = (I)blockIdx.x * 32 + threadIdx.x;
    A a = INIT;
    if (o < outs)
        for (I k = threadIdx.y; k < count; k += 8) a = JOIN(a, parts[(u64)k * outs + o]);
    room[threadIdx.y][threadIdx.x] = a;
    __syncthreads();
    if (threadIdx.y || o >= outs) return;
    for (int k = 1; k < 8; k++) a = JOIN(a, room[k][threadIdx.x]);
    store(out, index, (A*)0, o, outs, a, n);
}
