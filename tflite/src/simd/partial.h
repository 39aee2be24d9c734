/* The first lanes of vectors whose instructions know whole ones only. LANES,
 * `vf_load` and `vf_store` were defined before. */
#ifndef DUSPAR_SIMD_PARTIAL_H_
#define DUSPAR_SIMD_PARTIAL_H_

#include <stddef.h>
#include <string.h>

static inline vf vf_load_part(const float* p, size_t count) {
  float whole[LANES] = {0};
  memcpy(whole, p, count * sizeof(float));
  return vf_load(whole);
}

static inline void vf_store_part(float* p, vf v, size_t count) {
  float whole[LANES];
  vf_store(whole, v);
  memcpy(p, whole, count * sizeof(float));
}

static inline vf vf_first(vf v, size_t count) {
  float whole[LANES];
  vf_store(whole, v);
  return vf_load_part(whole, count);
}

#endif /* DUSPAR_SIMD_PARTIAL_H_ */
