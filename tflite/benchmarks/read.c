/* Reads memory as fast as vectors can. */
#include "gru.h"

typedef float vector __attribute__((vector_size(64)));

float duspar_bench_read(const float* data, size_t count) {
  const vector* v = (const void*)data;
  vector sums[8] = {{0}};
  for (size_t i = 0; i + 8 <= count / 16; i += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += v[i + (size_t)k];
  }
  float total = 0;
  for (int k = 0; k < 8; ++k) {
    for (int lane = 0; lane < 16; ++lane) total += sums[k][lane];
  }
  return total;
}
