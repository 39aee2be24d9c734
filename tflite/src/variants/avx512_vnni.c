/* The variant avx512_vnni: what it computes is in variant_template.h, with the
 * instructions of simd/avx512.h. */
#if defined(__AVX512VNNI__)
#define VARIANT duspar_variant_avx512_vnni
#define VARIANT_NAME "avx512_vnni"
#define VARIANT_USABLE \
  (duspar_cpu_has(DUSPAR_CPU_AVX512) && duspar_cpu_has(DUSPAR_CPU_AVX512_VNNI))
#include "base/cpu.h"
#include "simd/avx512.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#endif
