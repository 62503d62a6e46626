// Element types, what they are computed in, and the functions that expressions use. No headers are
// included: the half types are converted by instructions of the GPU, which keeps compiling quick.

typedef long long i64;
typedef unsigned long long u64;

struct half_t { unsigned short bits; };
struct bf16_t { unsigned short bits; };

template <class R> struct cplx {
    R re, im;
    __device__ cplx() {}
    __device__ cplx(R a) : re(a), im(0) {}
    __device__ cplx(R a, R b) : re(a), im(b) {}
};

template <class T> struct Wide { typedef T type; };
template <> struct Wide<half_t> { typedef float type; };
template <> struct Wide<bf16_t> { typedef float type; };
template <class T> struct Real { typedef T type; };
template <class R> struct Real<cplx<R>> { typedef R type; };

template <class T> __device__ __forceinline__ T widen(T v) { return v; }
__device__ __forceinline__ float widen(half_t v) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
    return f;
}
__device__ __forceinline__ float widen(bf16_t v) { return __uint_as_float((unsigned)v.bits << 16); }

// Conversions to a stored type, by overloads on a tag.
template <class T> struct To {};
template <class T, class C> __device__ __forceinline__ T narrow(To<T>, C v) { return (T)v; }
template <class C> __device__ __forceinline__ bool narrow(To<bool>, C v) { return v != C(0); }
#define THROUGH_I64(type) \
    __device__ __forceinline__ type narrow(To<type>, float v) { return (type)(i64)v; } \
    __device__ __forceinline__ type narrow(To<type>, double v) { return (type)(i64)v; }
THROUGH_I64(signed char) THROUGH_I64(unsigned char) THROUGH_I64(short)
THROUGH_I64(unsigned short) THROUGH_I64(int) THROUGH_I64(unsigned)
template <class C> __device__ __forceinline__ half_t narrow(To<half_t>, C v) {
    half_t h;
    float f = (float)v;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
    return h;
}
template <class C> __device__ __forceinline__ bf16_t narrow(To<bf16_t>, C v) {
    bf16_t b;
#if __CUDA_ARCH__ >= 800
    float f = (float)v;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(f));
#else
    unsigned u = __float_as_uint((float)v);
    if ((u & 0x7fffffffu) > 0x7f800000u) b.bits = 0x7fc0;
    else b.bits = (unsigned short)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
#endif
    return b;
}
template <class R, class C> __device__ __forceinline__ cplx<R> narrow(To<cplx<R>>, C v) {
    return cplx<R>((R)v);
}
template <class R, class Q> __device__ __forceinline__ cplx<R> narrow(To<cplx<R>>, cplx<Q> v) {
    return cplx<R>((R)v.re, (R)v.im);
}
template <class T, class Q> __device__ __forceinline__ T narrow(To<T> to, cplx<Q> v) {
    return narrow(to, v.re);
}
template <class Q> __device__ __forceinline__ bool narrow(To<bool>, cplx<Q> v) {
    return v.re != 0 || v.im != 0;
}
template <class Q> __device__ __forceinline__ half_t narrow(To<half_t> to, cplx<Q> v) {
    return narrow(to, v.re);
}
template <class Q> __device__ __forceinline__ bf16_t narrow(To<bf16_t> to, cplx<Q> v) {
    return narrow(to, v.re);
}

// A value as a kernel of its own would store and read it again: `one` is a 1 that no compiler knows, and a product by
// these functions is never made part of a fused multiply-add, whatever stands before and behind it.
__device__ __forceinline__ float hidden(float v, float one) { return __fmul_rn(v, one); }
__device__ __forceinline__ double hidden(double v, double one) { return __dmul_rn(v, one); }
template <class S, class C, class T> __device__ __forceinline__ auto stored_as(To<S> to, C v, T) { return widen(narrow(to, v)); }
template <class C> __device__ __forceinline__ float stored_as(To<float>, C v, float one) { return hidden((float)v, one); }
template <class C> __device__ __forceinline__ double stored_as(To<double>, C v, double one) { return hidden((double)v, one); }

// Numbers given from Python, as the compute type.
template <class T> struct Make {
    static __device__ __forceinline__ T of(double v) { return (T)v; }
    static __device__ __forceinline__ T of(i64 v) { return (T)v; }
    static __device__ __forceinline__ T of(u64 v) { return (T)v; }
};

// -- complex ------------------------------------------------------------------------------------
#define CX template <class R> __device__ __forceinline__
CX cplx<R> operator+(cplx<R> a, cplx<R> b) { return cplx<R>(a.re + b.re, a.im + b.im); }
CX cplx<R> operator-(cplx<R> a, cplx<R> b) { return cplx<R>(a.re - b.re, a.im - b.im); }
CX cplx<R> operator-(cplx<R> a) { return cplx<R>(-a.re, -a.im); }
CX cplx<R> operator*(cplx<R> a, cplx<R> b) {
    return cplx<R>(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
CX cplx<R> operator/(cplx<R> a, cplx<R> b) {
    R p = fabs(b.re), q = fabs(b.im);
    if (p >= q) {
        if (p == 0 && q == 0) return cplx<R>(a.re / p, a.im / p);
        R t = b.im / b.re, s = 1 / (b.re + b.im * t);
        return cplx<R>((a.re + a.im * t) * s, (a.im - a.re * t) * s);
    }
    R t = b.re / b.im, s = 1 / (b.im + b.re * t);
    return cplx<R>((a.re * t + a.im) * s, (a.im * t - a.re) * s);
}
CX bool operator==(cplx<R> a, cplx<R> b) { return a.re == b.re && a.im == b.im; }
CX bool operator!=(cplx<R> a, cplx<R> b) { return a.re != b.re || a.im != b.im; }
CX cplx<R> cscale(cplx<R> a, R s) { return cplx<R>(a.re * s, a.im * s); }
CX R cabs(cplx<R> a) { return hypot(a.re, a.im); }
CX R carg(cplx<R> a) { return atan2(a.im, a.re); }
CX cplx<R> cconj(cplx<R> a) { return cplx<R>(a.re, -a.im); }
CX cplx<R> cexp(cplx<R> a) {
    R e = exp(a.re);
    if (a.im == 0) return cplx<R>(e, a.im);
    return cplx<R>(e * cos(a.im), e * sin(a.im));
}
CX cplx<R> clog(cplx<R> a) { return cplx<R>(log(cabs(a)), carg(a)); }
CX cplx<R> csqrt(cplx<R> a) {
    if (a.re == 0 && a.im == 0) return cplx<R>(0, a.im);
    R m = sqrt((fabs(a.re) + cabs(a)) * R(0.5));
    R n = fabs(a.im) / (2 * m);
    R re = a.re >= 0 ? m : n, im = a.re >= 0 ? n : m;
    return cplx<R>(re, copysign(im, a.im));
}
CX cplx<R> csin(cplx<R> a) { return cplx<R>(sin(a.re) * cosh(a.im), cos(a.re) * sinh(a.im)); }
CX cplx<R> ccos(cplx<R> a) { return cplx<R>(cos(a.re) * cosh(a.im), -sin(a.re) * sinh(a.im)); }
CX cplx<R> csinh(cplx<R> a) { return cplx<R>(sinh(a.re) * cos(a.im), cosh(a.re) * sin(a.im)); }
CX cplx<R> ccosh(cplx<R> a) { return cplx<R>(cosh(a.re) * cos(a.im), sinh(a.re) * sin(a.im)); }
CX cplx<R> ctanh(cplx<R> a) {
    if (fabs(a.re) > 20) return cplx<R>(copysign(R(1), a.re), 0 * sin(2 * a.im));
    R d = cosh(2 * a.re) + cos(2 * a.im);
    return cplx<R>(sinh(2 * a.re) / d, sin(2 * a.im) / d);
}
CX cplx<R> ctan(cplx<R> a) {
    cplx<R> t = ctanh(cplx<R>(-a.im, a.re));
    return cplx<R>(t.im, -t.re);
}
CX cplx<R> cpow(cplx<R> a, cplx<R> b) {
    if (b.re == 0 && b.im == 0) return cplx<R>(1, 0);
    if (a.re == 0 && a.im == 0) return b.re > 0 ? cplx<R>(0, 0) : cplx<R>(R(0) / R(0), R(0) / R(0));
    if (b.im == 0 && b.re == rint(b.re) && fabs(b.re) <= 64) {
        int n = (int)fabs(b.re);
        cplx<R> base = a, out(1, 0);
        for (; n; n >>= 1) {
            if (n & 1) out = out * base;
            base = base * base;
        }
        return b.re < 0 ? cplx<R>(1, 0) / out : out;
    }
    return cexp(b * clog(a));
}
template <class R> struct Make<cplx<R>> {
    static __device__ __forceinline__ cplx<R> of(double re, double im) {
        return cplx<R>((R)re, (R)im);
    }
};

// -- truth, order, division ---------------------------------------------------------------------
template <class T> __device__ __forceinline__ bool truth(T v) { return v != T(0); }
CX bool truth(cplx<R> v) { return v.re != 0 || v.im != 0; }
template <class T> __device__ __forceinline__ T top(T a, T b) { return (a != a || a > b) ? a : b; }
template <class T> __device__ __forceinline__ T bottom(T a, T b) {
    return (a != a || a < b) ? a : b;
}
template <class T> __device__ __forceinline__ T floordiv(T a, T b) {
    if (b == 0) return a / b;
    T mod = fmod(a, b), div = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
    if (div == 0) return copysign(T(0), a / b);
    T down = floor(div);
    return div - down > T(0.5) ? down + 1 : down;
}
template <class T> __device__ __forceinline__ T modulo(T a, T b) {
    T mod = fmod(a, b);
    if (b == 0) return mod;
    if (mod == 0) return copysign(T(0), b);
    return (b < 0) != (mod < 0) ? mod + b : mod;
}
template <class T> __device__ __forceinline__ T ifloordiv(T a, T b) {
    if (b == 0) return 0;
    if (T(-1) < T(0) && b == T(-1)) return (T)(0 - (u64)a);
    T q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
template <class T> __device__ __forceinline__ T itruncdiv(T a, T b) {
    if (b == 0) return 0;
    if (T(-1) < T(0) && b == T(-1)) return (T)(0 - (u64)a);
    return a / b;
}
template <class T> __device__ __forceinline__ T imodulo(T a, T b) {
    if (b == 0 || (T(-1) < T(0) && b == T(-1))) return 0;
    T r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}
template <class T> __device__ __forceinline__ T ifmod(T a, T b) {
    return b == 0 || (T(-1) < T(0) && b == T(-1)) ? T(0) : T(a % b);
}
template <class T> __device__ __forceinline__ T ipow(T a, T b) {
    if (b < 0) return a == 1 ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
    u64 base = (u64)a, out = 1;
    for (u64 n = (u64)b; n; n >>= 1) {
        if (n & 1) out *= base;
        base *= base;
    }
    return (T)out;
}
template <class T> __device__ __forceinline__ T magnitude(T a) { return a < 0 ? T(-a) : a; }
template <class T> __device__ __forceinline__ T gcd(T a, T b) {
    a = magnitude(a);
    b = magnitude(b);
    while (b != 0) {
        T r = a % b;
        a = b;
        b = r;
    }
    return a;
}
template <class T> __device__ __forceinline__ T lcm(T a, T b) {
    T g = gcd(a, b);
    return g == 0 ? T(0) : magnitude(T(a / g * b));
}
template <class T> __device__ __forceinline__ T shiftl(T a, T b) {
    return (u64)b < sizeof(T) * 8 ? T(a << b) : T(0);
}
template <class T> __device__ __forceinline__ T shiftr(T a, T b) {
    return (u64)b < sizeof(T) * 8 ? T(a >> b) : a < 0 ? T(-1) : T(0);
}

// -- functions of one number --------------------------------------------------------------------
#define FX template <class T> __device__ __forceinline__ T
FX sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
FX softplus1(T x) { return (x > 0 ? x : T(0)) + log1p(exp(-fabs(x))); }
FX cdf(T x) { return T(0.5) * (T(1) + erf(x * T(0.70710678118654752440))); }
FX gelu_inner(T x) { return T(0.79788456080286535588) * (x + T(0.044715) * x * x * x); }
FX gelu_inner_slope(T x) { return T(0.79788456080286535588) * (T(1) + T(3 * 0.044715) * x * x); }
// The same for numbers that are stored in half precision (NARROW): within 1e-5 of their size, and without a branch. What
// is above costs more than reading and writing such numbers does.
__device__ __forceinline__ float near_exp2(float v) {
#if __CUDA_ARCH__ >= 800
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(v));
    return power;
#else
    return exp2f(v);
#endif
}
__device__ __forceinline__ float near_inverse(float v) {
#if __CUDA_ARCH__ >= 800
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(v));
    return inverse;
#else
    return 1.0f / v;
#endif
}
// The normal distribution's cdf, where `power` is exp(-v * v / 2): its tail is a polynomial of t = 1 / (1 + 0.31 |v|) times
// that. The coefficients make the largest relative error least.
__device__ __forceinline__ float near_normal(float v, float power) {
    const float t = near_inverse(1.0f + 0.31f * fabsf(v));
    float p = -0.07392898946584171f;
    p = p * t + 0.18044991499671925f;
    p = p * t + 0.01574517743482468f;
    p = p * t + 0.13342954610899424f;
    p = p * t + 0.12044133319295458f;
    p = p * t + 0.12386069711290196f;
    const float tail = p * t * power;
    return v < 0.0f ? tail : 1.0f - tail;
}
__device__ __forceinline__ float near_power(float v) { return near_exp2(v * v * -0.72134752044448170368f); }
FX near_cdf(T x) { return T(near_normal((float)x, near_power((float)x))); }
FX near_gelu_slope(T x) {
    const float v = (float)x, power = near_power(v);
    return T(near_normal(v, power) + v * 0.39894228040143267794f * power);
}
FX near_tanh_cdf(T x) { return T(near_inverse(1.0f + near_exp2(-2.88539008177792681472f * gelu_inner((float)x)))); }
FX near_tanh_slope(T x) {
    const float v = (float)x, s = (float)near_tanh_cdf(x);
    return T(s + 2.0f * v * s * (1.0f - s) * gelu_inner_slope(v));
}
FX logaddexp(T x, T y) {
    if (x == y) return x + T(0.69314718055994530942);
    T d = x - y;
    if (d != d) return d;
    return d > 0 ? x + log1p(exp(-d)) : y + log1p(exp(d));
}
FX logaddexp2(T x, T y) {
    if (x == y) return x + T(1);
    T d = x - y;
    if (d != d) return d;
    return d > 0 ? x + log1p(exp2(-d)) * T(1.44269504088896340736)
                 : y + log1p(exp2(d)) * T(1.44269504088896340736);
}
FX sinc(T x) {
    T a = x * T(3.14159265358979323846);
    return x == 0 ? T(1) : sin(a) / a;
}
FX inf_of() { return T(__longlong_as_double(0x7ff0000000000000ll)); }
FX nan_of() { return T(__longlong_as_double(0x7ff8000000000000ll)); }
__device__ __forceinline__ float bessel_i0(float x) { return cyl_bessel_i0f(x); }
__device__ __forceinline__ double bessel_i0(double x) { return cyl_bessel_i0(x); }
__device__ __forceinline__ float bessel_i1(float x) { return cyl_bessel_i1f(x); }
__device__ __forceinline__ double bessel_i1(double x) { return cyl_bessel_i1(x); }

// A few elements that are read or written by one instruction.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };
