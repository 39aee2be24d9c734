/* The exponential, of which all gates are made: with the vectors of a
 * `vector_*.h` or those of `vectors.h`, which was included before. */
#ifndef DUSPAR_SIMD_EXPONENTIAL_H_
#define DUSPAR_SIMD_EXPONENTIAL_H_

#include "base/compiler.h"

/* exp(v) - 1 = p * s + (s - 1) for |v| < 88: p is exp of the rest of v, less
 * 1, and s a power of two. The rest is below log(2) / 2, where the polynomial
 * is off by 3e-9. */
INLINE void split_exp(vf v, vf* p, vf* s) {
  const vf shift = vf_set(12582912.0f); /* 1.5 * 2^23: rounds to integers */
  const vf n = vf_fma(v, vf_set(1.44269504f), shift);
  const vf k = vf_sub(n, shift);
  /* This log(2) is off by 2e-9 times k, which shows in no gate. */
  const vf r = vf_fma(k, vf_set(-0.693147182f), v);
  vf q = vf_fma(r, vf_set(0x1.6a23d0p-10f), vf_set(0x1.123a20p-7f));
  q = vf_fma(q, r, vf_set(0x1.5558f2p-5f));
  q = vf_fma(q, r, vf_set(0x1.555492p-3f));
  q = vf_fma(q, r, vf_set(0x1.fffffcp-2f));
  *p = vf_fma(vf_mul(r, r), q, r);
  *s = vf_pow2(n);
}

#endif /* DUSPAR_SIMD_EXPONENTIAL_H_ */
