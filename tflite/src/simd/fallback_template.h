/* Template: what is done by way of memory where there are no instructions for
 * it. Takes vf, VF_LANES, vf_load and vf_store.
 */
static inline vf vf_load_part(const float* p, size_t count) {
  float whole[VF_LANES] = {0};
  memcpy(whole, p, count * sizeof(float));
  return vf_load(whole);
}

static inline void vf_store_part(float* p, vf v, size_t count) {
  float whole[VF_LANES];
  vf_store(whole, v);
  memcpy(p, whole, count * sizeof(float));
}

static inline vf vf_first(vf v, size_t count) {
  float whole[VF_LANES];
  vf_store(whole, v);
  return vf_load_part(whole, count);
}

static inline void vf_transpose(const float* from, size_t stride, float* to) {
  for (size_t i = 0; i < VF_LANES; ++i) {
    for (size_t k = 0; k < VF_LANES; ++k) {
      to[i * VF_LANES + k] = from[k * stride + i];
    }
  }
}
