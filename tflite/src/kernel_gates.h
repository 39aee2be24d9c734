/* The gates of a cell with the vectors of a `vector_*.h`, which was included
 * before. */
#ifndef DUSPAR_KERNEL_GATES_H_
#define DUSPAR_KERNEL_GATES_H_

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* exp(v) - 1 = p * s + (s - 1) for |v| < 88: p is exp of the rest of v, less
 * 1, and s a power of two. The rest is below log(2) / 2, where the polynomial
 * is off by 3e-9. */
INLINE void split_exp(vf v, vf* p, vf* s) {
  const vf shift = vf_set(12582912.0f); /* 1.5 * 2^23: rounds to integers */
  const vf n = vf_fma(v, vf_set(1.44269504f), shift);
  const vf k = vf_sub(n, shift);
  const vf r = vf_fma(k, vf_set(-0.693147182f), v);
  vf q = vf_fma(r, vf_set(0x1.6a23d0p-10f), vf_set(0x1.123a20p-7f));
  q = vf_fma(q, r, vf_set(0x1.5558f2p-5f));
  q = vf_fma(q, r, vf_set(0x1.555492p-3f));
  q = vf_fma(q, r, vf_set(0x1.fffffcp-2f));
  *p = vf_fma(vf_mul(r, r), q, r);
  *s = vf_pow2(n);
}

/* (1 - z) state + z tanh(b) with z = sigmoid(a), in one division: with
 * A = exp(a) and B = exp(2 |b|) it is
 *
 *   ((B + 1) state + A (B - 1) sign(b)) / ((A + 1) (B + 1)).
 *
 * B is at least 1 and B + 1 comes of B - 1, so that what B is off by shows
 * little. At the bounds the functions have reached their limits in float32,
 * and the product has not reached its. */
INLINE vf move_state(vf a, vf b, vf state) {
  const vf twice = vf_magnitude(vf_add(b, b));
  vf p, s;
  split_exp(vf_atmost(vf_set(43.0f), vf_atleast(vf_set(-43.0f), a)), &p, &s);
  const vf exp_a = vf_fma(s, p, s);
  split_exp(vf_atmost(vf_set(40.0f), twice), &p, &s);
  const vf less = vf_fma(s, p, vf_sub(s, vf_set(1.0f)));
  const vf more = vf_add(less, vf_set(2.0f));
  const vf above = vf_fma(exp_a, vf_sign(less, b), vf_mul(more, state));
  return vf_div(above, vf_fma(exp_a, more, more));
}

#endif /* DUSPAR_KERNEL_GATES_H_ */
