/* Training with AVX2 and fused multiply-add. */
#include "training.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#include "cpu.h"

#define LANES 8
#define TILE_ROWS 6
#define SPARSE_BELOW 75
#define MAX(a, b) ((vector)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MIN(a, b) ((vector)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define IN_REGISTER(x) __asm__("" : "+x"(x))
#include "training_slice.h"

static bool usable(void) {
  return duspar_cpu_has_avx2() && duspar_cpu_has_fma();
}

static const duspar_trainer trainer = TRAINER("avx2");
const duspar_trainer* const duspar_trainer_avx2 = &trainer;
#else
const duspar_trainer* const duspar_trainer_avx2 = NULL;
#endif
