/* Training with AVX-512. */
#include "training.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#include "cpu.h"

#define LANES 16
#define TILE_ROWS 8
#define MAX(a, b) ((vector)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define MIN(a, b) ((vector)_mm512_min_ps((__m512)(a), (__m512)(b)))
#include "training_slice.h"

static bool usable(void) { return duspar_cpu_has_avx512(); }

static const duspar_trainer trainer = TRAINER("avx512");
const duspar_trainer* const duspar_trainer_avx512 = &trainer;
#else
const duspar_trainer* const duspar_trainer_avx512 = NULL;
#endif
