/* tanh and log with AVX-512: a place of a table in registers per lane, and a short polynomial around it. */

/* tanh of |x|: a slot for [0, 1/16), then four an octave up to 9.02, each with a point, the value there and five
 * coefficients (fitted at Chebyshev's places). The points are floats at which tanh is a float to a thousandth of a unit
 * of the last place, so that only the last sum rounds: 0.71 units at most. */
static const float tanh_table[7][32] = {
    {
        0.0f, 0.07051407f, 0.08611654f, 0.10162446f, 0.11703582f, 0.14065719f, 0.17156199f, 0.2030912f, 0.23424625f,
        0.2819597f, 0.34306926f, 0.40639323f, 0.46842492f, 0.5635847f, 0.68933463f, 0.81140244f, 0.9380472f, 1.1278839f,
        1.3772337f, 1.62135f, 1.8737447f, 2.2576733f, 2.7474122f, 3.2424555f, 3.744773f, 4.490859f, 5.495056f, 6.498996f,
        7.5130806f, 8.317766f, 8.317766f, 8.317766f},
    {
        0.0f, 0.07039743f, 0.085904285f, 0.101276055f, 0.11650437f, 0.13973686f, 0.16989835f, 0.20034428f, 0.23005378f,
        0.27471787f, 0.33021474f, 0.38540593f, 0.4369258f, 0.5106323f, 0.5975544f, 0.6703632f, 0.73432374f, 0.8102938f,
        0.8803303f, 0.9248198f, 0.9539324f, 0.97835714f, 0.99181765f, 0.99695206f, 0.99888283f, 0.99974865f, 0.99996626f,
        0.99999547f, 0.9999994f, 0.9999999f, 0.9999999f, 0.9999999f},
    {
        0.0f, 0.99504423f, 0.99262047f, 0.9897432f, 0.9864267f, 0.98047364f, 0.97113454f, 0.9598622f, 0.94707525f,
        0.9245301f, 0.89095825f, 0.85146224f, 0.80909586f, 0.73925465f, 0.6429288f, 0.5506132f, 0.46076864f, 0.34342396f,
        0.22501852f, 0.14470829f, 0.09001297f, 0.042817328f, 0.01629773f, 0.006086585f, 0.0022330882f, 0.00050260924f,
        6.746773e-05f, 9.059482e-06f, 1.1920712e-06f, 2.3837752e-07f, 2.3837752e-07f, 2.3837752e-07f},
    {
        0.0f, -0.070048556f, -0.08527035f, -0.10023728f, -0.11492302f, -0.13700831f, -0.16499415f, -0.1923029f,
        -0.21787824f, -0.2539849f, -0.2942075f, -0.32815856f, -0.35351482f, -0.37748697f, -0.3841848f, -0.36911088f,
        -0.3383535f, -0.27827683f, -0.19809212f, -0.13382965f, -0.08586638f, -0.04188904f, -0.016163183f, -0.0060675116f,
        -0.0022303862f, -0.0005017076f, -6.735882e-05f, -9.0449075e-06f, -1.1900931e-06f, -2.3862574e-07f,
        -2.3862574e-07f, -2.3862574e-07f},
    {
        -0.33333334f, -0.32675016f, -0.3235484f, -0.31976274f, -0.31541988f, -0.3076794f, -0.29567927f, -0.28142726f,
        -0.26556802f, -0.2384028f, -0.19983412f, -0.15734655f, -0.11523876f, -0.053662237f, 0.015261067f, 0.06390025f,
        0.09487151f, 0.111014634f, 0.09938195f, 0.07553069f, 0.0519064f, 0.026709689f, 0.010599838f, 0.0040212334f,
        0.0014838696f, 0.00033491265f, 4.4966513e-05f, 6.036055e-06f, 7.930402e-07f, 1.6024605e-07f, 1.6024605e-07f,
        1.6024605e-07f},
    {
        0.0f, 0.046349525f, 0.056214787f, 0.065793395f, 0.075051695f, 0.08864593f, 0.105213f, 0.12046036f, 0.1336963f,
        0.15005045f, 0.16395272f, 0.16993152f, 0.16810656f, 0.15301345f, 0.11887599f, 0.08024223f, 0.0432178f,
        0.00323878f, -0.021201216f, -0.025146905f, -0.020877821f, -0.012237736f, -0.005175884f, -0.0020085252f,
        -0.0007475096f, -0.00017564953f, -2.3625806e-05f, -3.1736624e-06f, -4.1761785e-07f, -7.85679e-08f, -7.85679e-08f,
        -7.85679e-08f},
    {
        0.13333334f, 0.12779257f, 0.12510762f, 0.12192758f, 0.11827461f, 0.11195339f, 0.10214395f, 0.09097897f,
        0.07874677f, 0.0590575f, 0.031952824f, 0.005923865f, -0.017165111f, -0.043507483f, -0.061594207f, -0.06268455f,
        -0.05306602f, -0.03202853f, -0.009495421f, 0.0014063526f, 0.0046056462f, 0.003978528f, 0.0019131746f,
        0.00076951965f, 0.00029223596f, 6.790717e-05f, 9.225234e-06f, 1.2491414e-06f, 1.6906466e-07f, 2.24598e-08f,
        2.24598e-08f, 2.24598e-08f},
};

INLINE vf tanh_at(int which, __m512i slot) {
    return (vf)_mm512_permutex2var_ps(_mm512_loadu_ps(tanh_table[which]), slot, _mm512_loadu_ps(tanh_table[which] + 16));
}

INLINE vf vtanh(vf x) {
    const vf a = vmin(spread(9.02f), vabs(x)); /* beyond: 1 all the same; NaN stays */
    const __m512i quarter = _mm512_srli_epi32((__m512i)a, 21);
    const __m512i slot = _mm512_max_epi32(_mm512_sub_epi32(quarter, _mm512_set1_epi32((123 << 2) - 1)), _mm512_setzero_si512());
    const vf t = a - tanh_at(0, slot);
    vf p = tanh_at(6, slot);
    p = p * t + tanh_at(5, slot);
    p = p * t + tanh_at(4, slot);
    p = p * t + tanh_at(3, slot);
    p = p * t + tanh_at(2, slot);
    const __mmask16 small = _mm512_testn_epi32_mask(slot, slot); /* there tanh is |x| and a little */
    const vf base = (vf)_mm512_mask_mov_ps((__m512)tanh_at(1, slot), small, (__m512)a);
    const vf y = p * t + base;
    return (vf)((vi)y | ((vi)x & spread_i((int32_t)0x80000000)));
}

/* log of x = 2^e m, m in [3/4, 3/2): an inverse of a number near m (by its first four bits), the logarithm of that inverse,
 * which is a float to a thousandth of a unit, and a polynomial in what is left. Around 1 the inverse is 1;
 * 0.75 units of the last place at most. */
static const float log_inverse[16] = {
    1.0f, 1.0f, 0.86582845f, 0.82044643f, 0.78125566f, 0.74446446f, 0.71128654f, 0.6809041f, 1.3060398f, 1.2551628f,
    1.2079182f, 1.1636252f, 1.1228523f, 1.084903f, 1.0f, 1.0f};
static const float log_of_it[16] = {
    0.0f, 0.0f, 0.14406848f, 0.19790666f, 0.24685283f, 0.29509017f, 0.3406799f, 0.38433382f, -0.2669995f,
    -0.22726531f, -0.18889835f, -0.15154034f, -0.11587217f, -0.08149058f, 0.0f, 0.0f};

INLINE vf vlog(vf x) {
    const __m512 m = _mm512_getmant_ps((__m512)x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_zero);
    const __m512 down = _mm512_getexp_ps((__m512)x), one = _mm512_set1_ps(1.0f);
    const vf e = (vf)_mm512_mask_add_ps(down, _mm512_cmp_ps_mask(m, one, _CMP_LT_OQ), down, one);
    const __m512i slot = _mm512_srli_epi32((__m512i)m, 19); /* only its last four bits count */
    const vf base = (vf)_mm512_permutexvar_ps(slot, _mm512_loadu_ps(log_of_it));
    const vf t = (vf)_mm512_fmsub_ps(m, _mm512_permutexvar_ps(slot, _mm512_loadu_ps(log_inverse)), one);
    const vf ln2 = spread(0.693147182f);
    const vf s = t * t; /* pairs of coefficients: shorter chains than Horner's */
    const vf upper = spread(0.12272038f) * t + spread(-0.16660993f);
    const vf middle = spread(0.20011291f) * t + spread(-0.25000197f);
    const vf p = (upper * s + middle) * s + (spread(0.3333332f) * t + spread(-0.5f));
    /* e ln 2 + base in two floats: what the first one lost, and what the float of ln 2 lacks */
    const __m512 high = _mm512_fmadd_ps((__m512)e, (__m512)ln2, (__m512)base);
    const __m512 lost = _mm512_add_ps(_mm512_fmsub_ps((__m512)e, (__m512)ln2, high), (__m512)base);
    const vf low = e * spread(-1.9046542e-09f) + (vf)lost;
    const vf y = (vf)high + (t + (p * s + low));
    /* NaN stays, 0 is -inf, 1 is 0, infinity stays, below 0 is NaN */
    return (vf)_mm512_fixupimm_ps((__m512)y, (__m512)x, _mm512_set1_epi32(0x03538422), 0);
}
