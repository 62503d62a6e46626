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
    __shared__ int pieces[MAXT], first[MAXT + 1];  // of each parameter, and the first of each
    const int me = threadIdx.x, blocks = gridDim.x * gridDim.y;
    if (me < MAXT) pieces[me] = (int)((t.size[me] + PIECE - 1) / PIECE);
    __syncthreads();
    if (me <= MAXT) {
        int before = 0;
#pragma unroll
        for (int k = 0; k < MAXT; k++) before += k < me ? pieces[k] : 0;
        first[me] = before;
    }
    __syncthreads();
    int piece = blockIdx.y * gridDim.x + blockIdx.x, k = 0;
    for (int half = MAXT / 2; half; half /= 2)  // MAXT is a power of two
        if (first[k + half] <= piece) k += half;
    while (piece < first[MAXT]) {
        while (first[k + 1] <= piece) k++;
        double h[8];
#pragma unroll
        for (int j = 0; j < 8; j++) h[j] = live ? live[k * row + j] : given.h[j];
        for (; piece < first[k + 1]; piece += blocks) {
            const i64 from = (piece - first[k]) * (i64)PIECE, left = t.size[k] - from;
            step(t, h, k, from, left < PIECE ? (int)left : PIECE);
        }
    }
}
