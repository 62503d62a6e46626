// One optimiser step for up to MAXT parameters in one launch. RULE changes p and the states a, b, c from
// the gradient g; the numbers h come by value, or from `live` when a graph replays them or parameters
// differ in them: then `row` apart, from one parameter to the next.
struct Group { T* at[ARRAYS * MAXT]; i64 size[MAXT]; };
struct Numbers { double h[8]; };

__device__ __forceinline__ A root(float v) { return sqrtf(v); }
__device__ __forceinline__ A root(double v) { return sqrt(v); }
__device__ __forceinline__ A abs_of(A v) { return v < (A)0 ? -v : v; }
__device__ __forceinline__ A max_of(A u, A v) { return (u > v || u != u) ? u : v; }
__device__ __forceinline__ A sign_of(A v) { return v > (A)0 ? (A)1 : v < (A)0 ? (A)-1 : (A)0; }
// PyTorch's lerp: from the nearer end, which decides what an infinite gradient leaves.
__device__ __forceinline__ A toward(A from, A to, double w) {
    return w < 0.5 ? from + (A)w * (to - from) : to - (A)(1 - w) * (to - from);
}

__device__ __forceinline__ void rule(const double* h, A& p, A g, A& a, A& b, A& c) {
    RULE
}

// All blocks walk over the numbers of all parameters laid end to end, a piece each turn: however sizes differ, every block
// has as much to do.
const int V = 16 / sizeof(T), PIECE = 256 * V;

// A piece of parameter k: `count` numbers from number `from` on.
__device__ __forceinline__ void step(const Group& t, const double* h, int k, i64 from, int count) {
    T* arrays[ARRAYS];
    unsigned long long bits = 0;
#pragma unroll
    for (int j = 0; j < ARRAYS; j++) {
        arrays[j] = t.at[j * MAXT + k] + from;
        bits |= (unsigned long long)arrays[j];
    }
    const int bulk = (bits & 15) ? 0 : count / V;
    for (int i = threadIdx.x; i < bulk; i += 256) {
        Vec<T, V> v[ARRAYS];
#pragma unroll
        for (int j = 0; j < ARRAYS; j++) v[j] = ((const Vec<T, V>*)arrays[j])[i];
#pragma unroll
        for (int q = 0; q < V; q++) {
            A s[5];
#pragma unroll
            for (int j = 0; j < 5; j++) s[j] = j < ARRAYS ? up(v[j < ARRAYS ? j : 0].v[q]) : (A)0;
            rule(h, s[0], s[1], s[2], s[3], s[4]);
#pragma unroll
            for (int j = 0; j < ARRAYS; j++)
                if (j != 1) v[j].v[q] = dn(s[j]);
        }
#pragma unroll
        for (int j = 0; j < ARRAYS; j++)
            if (j != 1) ((Vec<T, V>*)arrays[j])[i] = v[j];
    }
    for (int i = bulk * V + threadIdx.x; i < count; i += 256) {
        A s[5];
#pragma unroll
        for (int j = 0; j < 5; j++) s[j] = j < ARRAYS ? up(arrays[j < ARRAYS ? j : 0][i]) : (A)0;
        rule(h, s[0], s[1], s[2], s[3], s[4]);
#pragma unroll
        for (int j = 0; j < ARRAYS; j++)
            if (j != 1) arrays[j][i] = dn(s[j]);
    }
}

extern "C" __global__ void update(Group t, Numbers given, const double* live, i64 row) {
    depend();
    const i64 blocks = (i64)gridDim.x * gridDim.y;
    i64 piece = blockIdx.y * (i64)gridDim.x + blockIdx.x, before = 0;  // pieces of the parameters in front of k
    for (int k = 0; k < MAXT; k++) {
        const i64 size = t.size[k], mine = (size + PIECE - 1) / PIECE;
        if (piece >= before + mine) {
            before += mine;
            continue;
        }
        double h[8];
#pragma unroll
        for (int j = 0; j < 8; j++) h[j] = live ? live[k * row + j] : given.h[j];
        for (; piece < before + mine; piece += blocks) {
            const i64 from = (piece - before) * PIECE, left = size - from;
            step(t, h, k, from, left < PIECE ? (int)left : PIECE);
        }
        before += mine;
    }
}
