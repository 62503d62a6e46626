// Tensor cores, which take numbers of float32 rounded to 11 bits; where TF32 is 0 numbers stay as they are.
__device__ __forceinline__ float rounded(float v) {
#if TF32
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return __uint_as_float(bits);
#else
    return v;
#endif
}

// c += a b of 16 x 8 by 8 x 8: a is (row G, depth L), (G + 8, L), (G, L + 4), (G + 8, L + 4), b (depth L, column G), (L + 4, G),
// where G is the lane's quarter of the eight and L its place in it; c is (G, 2 L), (G, 2 L + 1), and the same of row G + 8.
__device__ __forceinline__ void multiply(float* c, float a0, float a1, float a2, float a3, float b0, float b1) {
#if TF32
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a0)), "r"(__float_as_uint(a1)), "r"(__float_as_uint(a2)), "r"(__float_as_uint(a3)),
          "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
#endif
}
