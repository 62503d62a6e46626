// Up to MAXT arrays into another dtype by one launch: array k holds size[k] numbers, from SRC to T, without
// gaps and in the same order on both sides.
#ifndef SRC
#define SRC float
#endif
#ifndef MAXT
#define MAXT 64
#endif
struct Group { const SRC* from[MAXT]; T* to[MAXT]; i64 size[MAXT]; };

extern "C" __global__ void casts(Group g) {
    depend();
    const int k = blockIdx.y;
    const i64 size = g.size[k], step = (i64)gridDim.x * blockDim.x;
    const SRC* from = g.from[k];
    T* to = g.to[k];
    const bool aligned = !(((unsigned long long)from | (unsigned long long)to) & 15);
    const i64 first = blockIdx.x * (i64)blockDim.x + threadIdx.x, packs = aligned ? size / 4 : 0;
    for (i64 i = first; i < packs; i += step) {
        const Vec<SRC, 4> v = ((const Vec<SRC, 4>*)from)[i];
        Vec<T, 4> out;
#pragma unroll
        for (int j = 0; j < 4; j++) out.v[j] = dn((A)up(v.v[j]));
        ((Vec<T, 4>*)to)[i] = out;
    }
    for (i64 i = packs * 4 + first; i < size; i += step) to[i] = dn((A)up(from[i]));
}
