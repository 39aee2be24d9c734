/* The gates of a cell with the vectors of a `vector_*.h`, which was included
 * before. */
#ifndef DUSPAR_SIMD_GATES_H_
#define DUSPAR_SIMD_GATES_H_

#include "simd/exponential.h"

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

#endif /* DUSPAR_SIMD_GATES_H_ */
