/* What the processor, and the system on it, can do. */
#ifndef DUSPAR_BASE_CPU_H_
#define DUSPAR_BASE_CPU_H_

#include <stdbool.h>

typedef enum duspar_cpu_feature {
  DUSPAR_CPU_AVX2,   /* the system must also save its registers, as below */
  DUSPAR_CPU_FMA,    /* fused multiply-add of 256 bits */
  DUSPAR_CPU_AVX512, /* its parts F, BW, DQ and VL */
  DUSPAR_CPU_AVX512_VNNI, /* its products of bytes */
  DUSPAR_CPU_AVX_VNNI,    /* the same of 256 bits, without AVX-512 */
  DUSPAR_CPU_NEON,
  DUSPAR_CPU_DOTPROD, /* ARM's dot product of bytes */
  DUSPAR_CPU_FP16,    /* ARM's arithmetic of float16 */
  DUSPAR_CPU_FEATURES,
} duspar_cpu_feature;

/* Whether it can be used. */
bool duspar_cpu_has(duspar_cpu_feature feature);

#endif /* DUSPAR_BASE_CPU_H_ */
