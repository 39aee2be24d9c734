/* The variant avx2: what it computes is in variant_template.h, with the
 * instructions of simd/avx2.h. */
#if defined(__AVX2__) && defined(__FMA__)
#define VARIANT duspar_variant_avx2
#define VARIANT_NAME "avx2"
#define VARIANT_USABLE \
  (duspar_cpu_has(DUSPAR_CPU_AVX2) && duspar_cpu_has(DUSPAR_CPU_FMA))
#define VARIANT_TRAINS
#include "simd/avx2.h"

#include "base/cpu.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#endif
