/* The variant avx2_vnni: what it computes is in variant_template.h, with the
 * instructions of simd/avx2.h. */
#if defined(__AVXVNNI__)
#define VARIANT duspar_variant_avx2_vnni
#define VARIANT_NAME "avx2_vnni"
#define VARIANT_USABLE \
  (duspar_cpu_has(DUSPAR_CPU_FMA) && duspar_cpu_has(DUSPAR_CPU_AVX_VNNI))
#include "base/cpu.h"
#include "simd/avx2.h"
/* The vectors come first. */
#include "variants/variant_template.h"
#endif
