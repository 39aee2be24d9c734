/* Dense GRUs as fast as we can write them, float32 (`gru.c`) and int8
 * (`gru_int8.c`): what sparse layers have to beat. */
#ifndef DUSPAR_BENCHMARKS_GRU_H_
#define DUSPAR_BENCHMARKS_GRU_H_

#include <stddef.h>

typedef struct gru {
  size_t inputs;
  size_t units;
  void* weights;  /* `weight_bytes` of the kernel */
  float* vectors; /* biases and scales: GRU_VECTORS of `units`, padded */
  void* scratch;  /* `scratch_bytes` of the kernel */
} gru;

/* As in Keras with `reset_after`: `kernel` (inputs, 3 units), `recurrent`
 * (units, 3 units), `bias` (2, 3 units), gates in the order update, reset,
 * candidate. The state has room for GRU_PADDING more entries. */
typedef struct gru_kernel {
  const char* name;
  size_t (*weight_bytes)(size_t inputs, size_t units);
  size_t (*scratch_bytes)(size_t inputs, size_t units);
  void (*pack)(gru* g, const float* kernel, const float* recurrent,
               const float* bias);
  void (*step)(const gru* g, const float* x, float* state);
} gru_kernel;

enum { GRU_PADDING = 16, GRU_VECTORS = 10 };

/* The one of the vectors of a layer's kernel, such as "avx512_vnni", with
 * weights of float32 or int8; or NULL. */
const gru_kernel* gru_find(const char* vectors, int int8);

/* Makes room and packs weights, or aborts; frees it. */
gru gru_create(const gru_kernel* k, size_t inputs, size_t units,
               const float* kernel, const float* recurrent, const float* bias);
void gru_destroy(gru* g);

/* Reads `count` floats, a multiple of 128, and returns their sum. */
float duspar_bench_read(const float* data, size_t count);

#endif /* DUSPAR_BENCHMARKS_GRU_H_ */
