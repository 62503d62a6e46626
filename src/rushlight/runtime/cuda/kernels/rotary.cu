// Rotary embedding: the halves of every row turned against each other, by cosines and sines of its place.
struct Steps { i64 size[3]; i64 x[3], c[3], s[3], out[3]; };

KERNEL(rotate)(const T* x, const T* c, const T* s, T* out, i64 pairs, int half, int back, Steps at) {
    depend();
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < pairs;
         i += (i64)gridDim.x * blockDim.x) {
        i64 row = i / half, j = i - row * half, px = j, pc = j, ps = j, po = j;
        for (int d = 2; d >= 0; d--) {
            i64 rest = row / at.size[d], k = row - rest * at.size[d];
            row = rest;
            px += k * at.x[d];
            pc += k * at.c[d];
            ps += k * at.s[d];
            po += k * at.out[d];
        }
        A a = up(x[px]), b = up(x[px + half]), c1 = up(c[pc]), c2 = up(c[pc + half]);
        A s1 = up(s[ps]), s2 = up(s[ps + half]);
        out[po] = dn(back ? a * c1 + b * s2 : a * c1 - b * s1);
        out[po + half] = dn(back ? b * c2 - a * s1 : b * c2 + a * s2);
    }
}
