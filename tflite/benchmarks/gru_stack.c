/* Finds dense GRUs and runs stacks of them. Also a library of its own, which
 * `benchmarks/` calls from Python. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gru.h"
#include "gru_list.h" /* made by CMake: GRU_LIST */

/* The names of those that were compiled. */
#define DECLARE(id) extern const gru_kernel id;
#define ADDRESS(id) &id,
GRU_LIST(DECLARE)
static const gru_kernel* const kernels[] = {GRU_LIST(ADDRESS) NULL};

const gru_kernel* gru_find(const char* vectors, int int8) {
  char name[64];
  const char* type = int8 ? "_int8" : "_float32";
  if (strlen(vectors) + strlen(type) >= sizeof name) return NULL;
  strcpy(name, vectors);
  /* Products of bytes and of floats come with different instructions. */
  if (!int8 && strcmp(vectors, "avx512_vnni") == 0) strcpy(name, "avx512");
  if (!int8 && strcmp(vectors, "avx2_vnni") == 0) strcpy(name, "avx2");
  if (!int8 && strcmp(vectors, "neon_dotprod") == 0) strcpy(name, "neon");
  strcat(name, type);
  for (size_t i = 0; kernels[i] != NULL; ++i) {
    if (strcmp(kernels[i]->name, name) == 0) return kernels[i];
  }
  return NULL;
}

/* On the border of a cache line, filled with zeros. */
static void* room(size_t bytes) {
  bytes = (bytes + 127) / 64 * 64;
  void* memory = aligned_alloc(64, bytes);
  if (memory == NULL) abort();
  return memset(memory, 0, bytes);
}

gru gru_create(const gru_kernel* k, size_t inputs, size_t units,
               const float* kernel, const float* recurrent, const float* bias) {
  gru g = {inputs, units, room(k->weight_bytes(inputs, units)),
           room(GRU_VECTORS * (units + GRU_PADDING) * sizeof(float)),
           room(k->scratch_bytes(inputs, units))};
  k->pack(&g, kernel, recurrent, bias);
  return g;
}

void gru_destroy(gru* g) {
  free(g->weights);
  free(g->vectors);
  free(g->scratch);
}

enum { MAX_LAYERS = 8 };

typedef struct gru_stack {
  const gru_kernel* kernel;
  int layers;
  gru gru[MAX_LAYERS];
  float* state[MAX_LAYERS];
  float* sum[MAX_LAYERS]; /* of the outputs that a pool takes the mean of */
  int pool[MAX_LAYERS];   /* time steps to one of the next layer */
  int seen[MAX_LAYERS];
} gru_stack;

/* Makes a stack. Layer i has units[i] and a pool of pool[i] behind it;
 * `weights` has its kernel, recurrent kernel and bias, as Keras has them.
 * NULL if there is no such kernel. */
gru_stack* gru_stack_create(const char* vectors, int int8, int layers,
                            int features, const int* units, const int* pool,
                            const float* const* weights) {
  const gru_kernel* kernel = gru_find(vectors, int8);
  if (kernel == NULL || layers > MAX_LAYERS) return NULL;
  gru_stack* s = room(sizeof *s);
  s->kernel = kernel;
  s->layers = layers;
  for (int i = 0; i < layers; ++i) {
    const size_t n = (size_t)(i > 0 ? units[i - 1] : features);
    const size_t m = (size_t)units[i], bytes = (m + GRU_PADDING) * 4;
    s->gru[i] = gru_create(kernel, n, m, weights[3 * i], weights[3 * i + 1],
                           weights[3 * i + 2]);
    s->state[i] = room(bytes);
    s->sum[i] = room(bytes);
    s->pool[i] = pool[i];
  }
  return s;
}

void gru_stack_destroy(gru_stack* s) {
  for (int i = 0; i < s->layers; ++i) {
    gru_destroy(&s->gru[i]);
    free(s->state[i]);
    free(s->sum[i]);
  }
  free(s);
}

/* The next layer's input, or NULL while a group is not full. */
static const float* pooled(gru_stack* s, int i) {
  const size_t units = s->gru[i].units;
  if (s->pool[i] == 1) return s->state[i];
  if (s->seen[i] == 0) memset(s->sum[i], 0, units * sizeof(float));
  const float share = 1.0f / (float)s->pool[i];
  for (size_t j = 0; j < units; ++j) s->sum[i][j] += share * s->state[i][j];
  s->seen[i] = (s->seen[i] + 1) % s->pool[i];
  return s->seen[i] == 0 ? s->sum[i] : NULL;
}

/* Runs `steps` time steps on `frames`, and returns the nanoseconds that they
 * took. The state of the last layer goes to `output`. */
double gru_stack_run(gru_stack* s, const float* frames, int steps,
                     float* output) {
  struct timespec start, end;
  const size_t features = s->gru[0].inputs;
  timespec_get(&start, TIME_UTC);
  for (int t = 0; t < steps; ++t) {
    const float* x = frames + (size_t)t * features;
    for (int i = 0; i < s->layers && x != NULL; ++i) {
      s->kernel->step(&s->gru[i], x, s->state[i]);
      if (i + 1 < s->layers) x = pooled(s, i);
    }
  }
  timespec_get(&end, TIME_UTC);
  const int last = s->layers - 1;
  memcpy(output, s->state[last], s->gru[last].units * sizeof(float));
  return (double)(end.tv_sec - start.tv_sec) * 1e9 +
         (double)(end.tv_nsec - start.tv_nsec);
}
