/* Template: functions of vectors that are the same for every instruction set.
 *
 * A variant includes one of avx2.h, avx512.h, neon.h and portable.h, and then
 * this. Everything that is computed, in inference, in the front end and in
 * training, is written in what those bring:
 *
 *   VF_LANES           floats in a vector
 *   VF_MAX_TILE        vectors of a tile of inference, as registers allow
 *   VF_MAX_ROWS        rows of it that are read at a time
 *   VF_TILE_ROWS       rows of a tile of training, likewise
 *   VF_WIDENS_INT8     whether a float is made of bfloat16 faster than of int8
 *   vf, vi             vectors of float and of int32_t
 *   vf_load vf_store vf_set vf_add vf_sub vf_mul vf_div
 *   vf_fma(a, b, c)    a * b + c, and vf_fnma: c - a * b; rounded once where
 *                      there is an instruction for it
 *   vf_load_part vf_store_part    only the first `count` lanes; vf_first makes
 *                      the others zero
 *   vf_any_nan(v)      whether a lane is NaN
 *   vf_atleast(l, v)   max(l, v), and vf_atmost(l, v): NaN in v stays NaN
 *   vf_if_above(l, m, v)    v where m is above l or NaN, else 0
 *   vf_pow2(v)         2 to the power of the integer in the low bits of v
 *   vf_split(v, &m)    v = m times 2 to the power of the result, m from 2/3 to
 *                      4/3, for v that is normal and above zero
 *   vf_magnitude(v)    |v|; vf_sign(v, s): v >= 0 with the sign of s
 *   vf_sum(v)          the sum of the lanes
 *   vf_gather(&v, first, index)    brings the lanes to the front that are
 *                      above zero or NaN, and writes their places, which are
 *                      counted from `first`; returns how many there are.
 *                      VF_GATHERS: whether there is this; else vf_compact
 *   vf_transpose(from, stride, to)    VF_LANES rows of as many floats
 *   vf_bfloat16_low, vf_bfloat16_high, vf_int8    floats of narrow weights
 *   vi_set, vi_to_vf
 *   VQ_WIDE(bits)      whether integers of so many bits are listed in 16 bits,
 *                      and 128 is added to weights, so that they are unsigned;
 *                      else in 8
 *   vq_store(bits, v, list, k)    lists integers from 0 to 255, NaN as any
 *   vq, vq_load, vi_dot_rows    four operands, and four rows times them
 *   VF_HALVES          defined if float16 is multiplied, in vectors vh of two
 *                      VF_LANES: vh_zero, vh_load; vh_mul_lane and vh_fma_lane,
 * with one lane of b; vh_low, vh_high: floats of the halves; vh_round,
 *                      vh_round_one: to memory; vf_most(v), NaN if a lane is
 *   VF_PREFETCH(p)     asks for memory that is used later, if that pays: for
 *                      processors that cannot begin to do so by themselves
 *   VF_PIN(v)          keeps a vector in a register, if the compiler would not
 */
#if !defined(VF_PIN)
#define VF_PIN(v) (void)(v)
#endif

/* The next vector of something of which `left` floats are left. */
DUSPAR_INLINE vf vf_load_rest(const float* p, size_t left) {
  return left >= VF_LANES ? vf_load(p) : vf_load_part(p, left);
}

DUSPAR_INLINE void vf_store_rest(float* p, vf v, size_t left) {
  if (left >= VF_LANES) {
    vf_store(p, v);
  } else {
    vf_store_part(p, v, left);
  }
}

#if VF_GATHERS
/* Writes the lanes that are above zero or NaN, and their places, as whole
 * vectors, and returns how many there are. */
DUSPAR_INLINE size_t vf_compact(vf v, uint32_t first, uint32_t* index,
                                float* value) {
  const size_t count = vf_gather(&v, first, index);
  vf_store(value, v);
  return count;
}
#endif

DUSPAR_INLINE vf vf_if_positive(vf m, vf v) {
  return vf_if_above(vf_set(0.0f), m, v);
}

DUSPAR_INLINE vf vf_rectify(vf v) { return vf_atleast(vf_set(0.0f), v); }

/* exp(v) - 1 = p * s + (s - 1) for |v| < 88: p is exp of the rest of v, less
 * 1, and s a power of two. The rest is below log(2) / 2, where the polynomial
 * is off by 3e-9. */
DUSPAR_INLINE void vf_split_exp(vf v, vf* p, vf* s) {
  const vf shift = vf_set(12582912.0f); /* 1.5 * 2^23: rounds to integers */
  const vf n = vf_fma(v, vf_set(1.44269504f), shift);
  const vf k = vf_sub(n, shift);
  /* This log(2) is off by 2e-9 times k, which shows in no gate. */
  const vf r = vf_fma(k, vf_set(-0.693147182f), v);
  /* By pairs: fewer of these wait for each other. */
  const vf r2 = vf_mul(r, r);
  const vf low = vf_fma(r, vf_set(0x1.555492p-3f), vf_set(0x1.fffffcp-2f));
  const vf mid = vf_fma(r, vf_set(0x1.123a20p-7f), vf_set(0x1.5558f2p-5f));
  const vf high = vf_fma(r2, vf_set(0x1.6a23d0p-10f), mid);
  *p = vf_fma(r2, vf_fma(r2, high, low), r);
  *s = vf_pow2(n);
}

/* What gate and candidate are made of: A = exp(a), B - 1 with the sign of b,
 * and B + 1 with B = exp(2 |b|). Then
 *
 *   sigmoid(a) = A / (A + 1)    tanh(b) = sign(b) (B - 1) / (B + 1).
 *
 * B is at least 1 and B + 1 comes of B - 1, so that what B is off by shows
 * little. At the bounds the functions have reached their limits in float32,
 * and the product (A + 1) (B + 1) has not reached its. */
DUSPAR_INLINE void vf_gate_parts(vf a, vf b, vf* exp_a, vf* less, vf* more) {
  vf p, s;
  vf_split_exp(vf_atmost(vf_set(43.0f), vf_atleast(vf_set(-43.0f), a)), &p, &s);
  *exp_a = vf_fma(s, p, s);
  vf_split_exp(vf_atmost(vf_set(40.0f), vf_magnitude(vf_add(b, b))), &p, &s);
  const vf magnitude = vf_fma(s, p, vf_sub(s, vf_set(1.0f)));
  *more = vf_add(magnitude, vf_set(2.0f));
  *less = vf_sign(magnitude, b);
}

/* Zero for what is tiny: a state that dies away would come to numbers below the
 * normal ones, with which processors are slow. */
DUSPAR_INLINE vf vf_flush(vf v) {
  return vf_if_above(vf_set(0x1p-100f), vf_magnitude(v), v);
}

/* The state after a step, (1 - z) state + z tanh(b) with z = sigmoid(a), in
 * one division. */
DUSPAR_INLINE vf vf_move_state(vf a, vf b, vf state) {
  vf exp_a, less, more;
  vf_gate_parts(a, b, &exp_a, &less, &more);
  const vf above = vf_fma(exp_a, less, vf_mul(more, state));
  return vf_flush(vf_div(above, vf_fma(exp_a, more, more)));
}

/* The same in two halves, for training, which keeps z and c. */
DUSPAR_INLINE void vf_gates(vf a, vf b, vf* z, vf* c) {
  vf exp_a, less, more;
  vf_gate_parts(a, b, &exp_a, &less, &more);
  const vf product = vf_mul(exp_a, more);
  const vf inverse = vf_div(vf_set(1.0f), vf_add(product, more));
  *z = vf_mul(product, inverse);
  *c = vf_mul(vf_fma(exp_a, less, less), inverse);
}

DUSPAR_INLINE vf vf_blend(vf z, vf c, vf state) {
  return vf_fma(z, vf_sub(c, state), state);
}
