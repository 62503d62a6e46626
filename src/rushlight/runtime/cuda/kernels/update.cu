// One optimiser step for up to MAXT parameters in one launch. RULE changes p and the states a, b, c from
// the gradient g; the numbers h come by value, or from `live` when a graph replays them or parameters
// differ in them: then `row` apart, from one parameter to the next.
struct Group { T* at[ARRAYS * MAXT]; i64 size[MAXT]; };
struct Numbers { double h[8]; };

__device__ __forceinline__ A root(float v) { return sqrtf(v); }
__device__ __forceinline__ A root(double v) { return sqrt(v); }
__device__ __forceinline__ A abs_of(A v) { return v < (A)0 ? -v : v; }
__device__ __forceinline__ A max_of(A u, A v) { return (u > v || u != u) ? u : v; }
__device__ __forceinline__ A sign_of(A v) { return v > (A)0 ? (A)1 : v < (A)0 ? (A)-1 : v; }

__device__ __forceinline__ void rule(const double* h, A& p, A g, A& a, A& b, A& c) {
    RULE
}

extern "C" __global__ void update(Group t, Numbers given, const double* live, i64 row) {
    depend();
    const int k = blockIdx.y;
    const i64 size = t.size[k];
    const int V = 16 / sizeof(T);
    const i64 stride = (i64)gridDim.x * blockDim.x, me = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (me >= size) return;
    T* arrays[ARRAYS];
    unsigned long long bits = 0;
#pragma unroll
    for (int j = 0; j < ARRAYS; j++) {
        arrays[j] = t.at[j * MAXT + k];
        bits |= (unsigned long long)arrays[j];
    }
    double h[8];
#pragma unroll
    for (int j = 0; j < 8; j++) h[j] = live ? live[k * row + j] : given.h[j];
    const i64 bulk = (bits & 15) ? 0 : size / V;
    for (i64 i = me; i < bulk; i += stride) {
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
    for (i64 i = bulk * V + me; i < size; i += stride) {
        A s[5];
#pragma unroll
        for (int j = 0; j < 5; j++) s[j] = j < ARRAYS ? up(arrays[j < ARRAYS ? j : 0][i]) : (A)0;
        rule(h, s[0], s[1], s[2], s[3], s[4]);
#pragma unroll
        for (int j = 0; j < ARRAYS; j++)
            if (j != 1) arrays[j][i] = dn(s[j]);
    }
}
