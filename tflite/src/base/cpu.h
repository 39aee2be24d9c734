/* What the processor, and the system on it, can do. */
#ifndef DUSPAR_BASE_CPU_H_
#define DUSPAR_BASE_CPU_H_

#include <stdbool.h>

/* Whether AVX2 can be used: the system must also save its registers. */
bool duspar_cpu_has_avx2(void);

/* Whether fused multiply-add of 256 bits can be used. */
bool duspar_cpu_has_fma(void);

/* Whether AVX-512 can be used, its parts F, BW, DQ and VL. */
bool duspar_cpu_has_avx512(void);

/* Whether AVX-512 has products of bytes. */
bool duspar_cpu_has_avx512_vnni(void);

/* Whether ARM's dot product of bytes can be used. */
bool duspar_cpu_has_dotprod(void);

#endif /* DUSPAR_BASE_CPU_H_ */
