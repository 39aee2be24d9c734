/* A dense GRU: see `gru.c`. */
#ifndef DUSPAR_BENCHMARKS_GRU_H_
#define DUSPAR_BENCHMARKS_GRU_H_

#include <stddef.h>

typedef struct gru {
  size_t inputs;
  size_t units;
  const float* weights; /* all zero would do: the time is the same */
  const float* bias;
  float* next;
} gru;

typedef struct gru_kernel {
  void (*step)(const gru* g, const float* x, float* state);
  size_t (*room)(size_t inputs, size_t units);
} gru_kernel;

/* Reads `count` floats, a multiple of 128, and returns their sum. */
float duspar_bench_read(const float* data, size_t count);

#endif /* DUSPAR_BENCHMARKS_GRU_H_ */
