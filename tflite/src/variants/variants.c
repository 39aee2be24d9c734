/* Which kernels there are, and which of them this processor runs. */
#include "variants/variants.h"

#include <string.h>

#include "base/error.h"

/* Fastest first. */
static const duspar_kernel* const kernels[] = {
#if defined(DUSPAR_HAS_AVX512_VNNI)
    &duspar_kernel_avx512_vnni,
#endif
#if defined(DUSPAR_HAS_AVX512)
    &duspar_kernel_avx512,
#endif
#if defined(DUSPAR_HAS_AVX2)
    &duspar_kernel_avx2,
#endif
#if defined(DUSPAR_HAS_NEON_DOTPROD)
    &duspar_kernel_neon_dotprod,
#endif
#if defined(DUSPAR_HAS_NEON)
    &duspar_kernel_neon,
#endif
#if defined(DUSPAR_HAS_PORTABLE)
    &duspar_kernel_portable,
#endif
    &duspar_kernel_reference,
};

enum { KERNELS = sizeof kernels / sizeof kernels[0] };

size_t duspar_kernel_count(void) { return KERNELS; }

const char* duspar_kernel_name(size_t index) {
  return index < KERNELS ? kernels[index]->name : NULL;
}

int32_t duspar_kernel_usable(size_t index) {
  return index < KERNELS && kernels[index]->usable();
}

const duspar_kernel* duspar_kernel_find(const char* name) {
  for (size_t i = 0; i < KERNELS; ++i) {
    if (name == NULL ? kernels[i]->usable()
                     : strcmp(name, kernels[i]->name) == 0) {
      if (kernels[i]->usable()) return kernels[i];
      duspar_fail(DUSPAR_INVALID,
                  "Kernel '%s' does not run on this processor (it has: %s).",
                  name, duspar_cpu_features());
      return NULL;
    }
  }
  duspar_fail(DUSPAR_INVALID, "No kernel is called '%s'. The fastest is '%s'.",
              name, kernels[0]->name);
  return NULL;
}

duspar_format duspar_shape_format(const duspar_shape* shape) {
  return shape->operand_bits != 0 ? DUSPAR_FORMAT_INTEGER
                                  : (duspar_format)shape->weight_type;
}

size_t duspar_weight_bytes(duspar_weight_type type) {
  return type == DUSPAR_FLOAT32 ? 4 : type == DUSPAR_BFLOAT16 ? 2 : 1;
}
