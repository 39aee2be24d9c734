/* Which variants there are, and which of them this processor runs. */
#include "variants/variants.h"

#include <string.h>

#include "base/error.h"

/* Fastest first. */
static const duspar_variant* const variants[] = {
#if defined(DUSPAR_HAS_AVX512_VNNI)
    &duspar_variant_avx512_vnni,
#endif
#if defined(DUSPAR_HAS_AVX512)
    &duspar_variant_avx512,
#endif
#if defined(DUSPAR_HAS_AVX2)
    &duspar_variant_avx2,
#endif
#if defined(DUSPAR_HAS_NEON_DOTPROD)
    &duspar_variant_neon_dotprod,
#endif
#if defined(DUSPAR_HAS_NEON)
    &duspar_variant_neon,
#endif
#if defined(DUSPAR_HAS_PORTABLE)
    &duspar_variant_portable,
#endif
    &duspar_variant_reference,
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

const duspar_variant* duspar_variant_at(size_t index) {
  return index < VARIANTS ? variants[index] : NULL;
}

size_t duspar_kernel_count(void) { return VARIANTS; }

const char* duspar_kernel_name(size_t index) {
  return index < VARIANTS ? variants[index]->name : NULL;
}

int32_t duspar_kernel_usable(size_t index) {
  return index < VARIANTS && variants[index]->usable();
}

const duspar_variant* duspar_variant_find(const char* name) {
  for (size_t i = 0; i < VARIANTS; ++i) {
    if (name == NULL ? variants[i]->usable()
                     : strcmp(name, variants[i]->name) == 0) {
      if (variants[i]->usable()) return variants[i];
      duspar_fail(DUSPAR_INVALID,
                  "Kernel '%s' does not run on this processor (it has: %s).",
                  name, duspar_cpu_features());
      return NULL;
    }
  }
  duspar_fail(DUSPAR_INVALID, "No kernel is called '%s'. The fastest is '%s'.",
              name, variants[0]->name);
  return NULL;
}

duspar_format duspar_shape_format(const duspar_shape* shape) {
  return shape->operand_bits != 0 ? DUSPAR_FORMAT_INTEGER
                                  : (duspar_format)shape->weight_type;
}

size_t duspar_weight_bytes(duspar_weight_type type) {
  return type == DUSPAR_FLOAT32 ? 4 : type == DUSPAR_BFLOAT16 ? 2 : 1;
}
