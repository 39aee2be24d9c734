/* Which variants there are, and which of them this processor runs. */
#include "variants/variants.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Fastest first; behind `neon`, which always runs, what has to be asked for by
 * its name. */
static const duspar_variant* const variants[] = {
#if defined(DUSPAR_HAS_AVX512_VNNI)
    &duspar_variant_avx512_vnni,
#endif
#if defined(DUSPAR_HAS_AVX512)
    &duspar_variant_avx512,
#endif
#if defined(DUSPAR_HAS_AVX2_VNNI)
    &duspar_variant_avx2_vnni,
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
#if defined(DUSPAR_HAS_NEON_FP16)
    &duspar_variant_neon_fp16, /* sums are not as near as those of others */
#endif
#if defined(DUSPAR_HAS_PORTABLE)
    &duspar_variant_portable,
#endif
    &duspar_variant_reference,
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* The environment may name the variant that is taken first: NULL if it does
 * not. */
static const char* wanted(void) {
  const char* name = getenv("DUSPAR_KERNEL");
  return name != NULL && name[0] != '\0' ? name : NULL;
}

/* The index of a variant by its name, VARIANTS if there is none. */
static size_t index_of(const char* name) {
  size_t i = 0;
  while (i < VARIANTS && strcmp(name, variants[i]->name) != 0) ++i;
  return i;
}

const duspar_variant* duspar_variant_at(size_t index) {
  const size_t first = wanted() != NULL ? index_of(wanted()) : 0;
  if (index >= VARIANTS) return NULL;
  if (first >= VARIANTS || index > first) return variants[index];
  return variants[index == 0 ? first : index - 1];
}

size_t duspar_kernel_count(void) { return VARIANTS; }

const char* duspar_kernel_name(size_t index) {
  return index < VARIANTS ? duspar_variant_at(index)->name : NULL;
}

int32_t duspar_kernel_usable(size_t index) {
  return index < VARIANTS && duspar_variant_at(index)->usable();
}

const duspar_variant* duspar_variant_find(const char* name) {
  const char* source = name == NULL ? "DUSPAR_KERNEL" : "kernel";
  if (name == NULL) name = wanted();
  for (size_t i = 0; name == NULL && i < VARIANTS; ++i) {
    if (variants[i]->usable()) return variants[i];
  }
  const size_t i = index_of(name);
  if (i < VARIANTS && variants[i]->usable()) return variants[i];
  if (i < VARIANTS) {
    duspar_fail(DUSPAR_INVALID,
                "`%s` must be one that runs on this processor (it has: %s). "
                "Received: '%s'.",
                source, duspar_cpu_features(), name);
  } else {
    duspar_fail(DUSPAR_INVALID,
                "`%s` must be a kernel of this library, such as '%s'. "
                "Received: '%s'.",
                source, variants[0]->name, name);
  }
  return NULL;
}

duspar_format duspar_shape_format(const duspar_shape* shape) {
  return shape->operand_bits != 0 ? DUSPAR_FORMAT_INTEGER
                                  : (duspar_format)shape->weight_type;
}
