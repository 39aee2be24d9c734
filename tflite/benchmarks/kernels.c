/* Times of one step of stacks of layers, for every kernel, type of weights and
 * occupancy, beside a dense GRU of as many parameters; and how fast memory is
 * read. Prints one line of JSON for each figure; `benchmarks/kernels.py` makes
 * tables of them.
 *
 *   bench_kernels [rounds [stack [kernel]]]
 *
 * Without a kernel it is all that the processor can run but the reference.
 *
 * With 0 rounds nothing is timed: the steps run within one function, once for
 * each figure, so that valgrind or QEMU can count their instructions.
 *
 * What is compared takes turns, and a figure is the median over the rounds.
 * The entries that are zero change from step to step at random.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "gru.h"
#include "layer/layer.h"

enum { FRAMES = 64, MAX_LAYERS = 4, OCCUPANCIES = 7, MAX_ROUNDS = 1000 };

static const double occupancies[OCCUPANCIES] = {0.05, 0.1,  0.28, 0.38,
                                                0.5,  0.75, 1};

typedef struct stack {
  const char* name;
  int layers;
  int features[MAX_LAYERS], units[MAX_LAYERS];
  int gru_features[MAX_LAYERS], gru_units[MAX_LAYERS];
  int every[MAX_LAYERS]; /* the steps from one of the layer to its next */
} stack;

/* The paper's models, and single layers; GRUs have as many parameters. */
static const stack stacks[] = {
    {"KWS", 2, {64, 128}, {128, 128}, {64, 96}, {96, 96}, {1, 1}},
    {"SLU", 2, {64, 128}, {128, 128}, {64, 96}, {96, 96}, {1, 4}},
    {"SE",
     4,
     {116, 116, 116, 116},
     {116, 116, 116, 116},
     {96, 96, 96, 96},
     {96, 96, 96, 96},
     {1, 1, 1, 1}},
    {"64-128", 1, {64}, {128}, {64}, {76}, {1}},
    {"128-128", 1, {128}, {128}, {128}, {96}, {1}},
    {"116-116", 1, {116}, {116}, {116}, {88}, {1}},
    {"32-32", 1, {32}, {32}, {32}, {24}, {1}},
    {"64-64", 1, {64}, {64}, {64}, {49}, {1}},
    {"256-256", 1, {256}, {256}, {256}, {194}, {1}},
    {"512-512", 1, {512}, {512}, {512}, {388}, {1}},
    {"1024-1024", 1, {1024}, {1024}, {1024}, {776}, {1}},
};
enum { STACKS = sizeof stacks / sizeof stacks[0] };

typedef struct format {
  const char *weights, *operands;
  int type, bits;
} format;

static const format formats[] = {
    {"float32", "float32", DUSPAR_FLOAT32, 0},
    {"bfloat16", "float32", DUSPAR_BFLOAT16, 0},
    {"int8", "float32", DUSPAR_INT8, 0},
    {"int8", "uint7", DUSPAR_INT8, 7},
    {"int8", "uint8", DUSPAR_INT8, 8},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static uint32_t seed = 1;

static float uniform(void) { /* -1 to 1 */
  seed = seed * 1664525u + 1013904223u;
  return (float)(seed >> 8) / (1 << 23) - 1;
}

/* About a normal number of at most 3, without its sign. */
static float size_of_normal(void) {
  return fabsf(uniform() + uniform() + uniform());
}

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void* allocate(size_t count, size_t size) {
  void* memory = duspar_allocate(count * size);
  if (memory == NULL) abort();
  memset(memory, 0, count * size);
  return memory;
}

/* What is timed: layers with an input, a state and scratch memory each. */
typedef struct runner {
  int layers;
  const int* every;
  duspar_layer* layer[MAX_LAYERS];
  float *x[MAX_LAYERS], *y[MAX_LAYERS], *f[MAX_LAYERS], *g[MAX_LAYERS];
  void* scratch[MAX_LAYERS];
  duspar_counts counts[MAX_LAYERS];
  const gru_kernel* kernel; /* instead of the layers */
  gru gru[MAX_LAYERS];
  size_t features[MAX_LAYERS], units[MAX_LAYERS], weight_bytes;
  int frame;
  double times[MAX_ROUNDS];
} runner;

static void step(runner* r) {
  for (int i = 0; i < r->layers && r->frame % r->every[i] == 0; ++i) {
    const float* x = r->x[i] + (size_t)r->frame * r->features[i];
    if (r->kernel != NULL) {
      r->kernel->step(&r->gru[i], x, r->f[i]);
      continue;
    }
    const duspar_sequence s = {1,       1,       x,       r->f[i],
                               r->g[i], r->y[i], r->f[i], r->g[i]};
    duspar_layer_execute(r->layer[i], &s, r->scratch[i], 1, &r->counts[i]);
  }
  r->frame = (r->frame + 1) % FRAMES;
}

/* Not static and not inline: callgrind knows it by its name. */
__attribute__((noinline)) void duspar_bench_counted(runner* r);
void duspar_bench_counted(runner* r) {
  for (int k = 0; k < FRAMES; ++k) step(r);
}

/* Counting by addresses ends here. */
__attribute__((noinline)) void duspar_bench_end(void);
void duspar_bench_end(void) { __asm__ volatile(""); }

static void fill_weights(void* to, size_t count, int type, double size) {
  for (size_t i = 0; i < count; ++i) {
    const float value = (float)size * uniform();
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if (type == DUSPAR_FLOAT32) ((float*)to)[i] = value;
    if (type == DUSPAR_BFLOAT16) ((uint16_t*)to)[i] = (uint16_t)(word >> 16);
    if (type == DUSPAR_INT8) ((int8_t*)to)[i] = (int8_t)(127 * uniform());
  }
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Parameters of random weights. Gates of f are open, so that y changes its
 * signs from step to step; its bias sets how many are above zero. */
static duspar_parameters make_parameters(int n, int m, const format* f,
                                         float bias, float largest) {
  static const size_t items[] = {4, 2, 1};
  const size_t count = (size_t)n * (size_t)m, item = items[f->type];
  const size_t wide = (size_t)(n > m ? n : m);
  char* kernels = allocate(4 * count, item);
  float* vectors = allocate(5 * wide, sizeof(float));
  float *open = vectors, *zero = vectors + wide, *scale = vectors + 2 * wide;
  float *scale_back = vectors + 3 * wide, *shift = vectors + 4 * wide;
  const double size = 0.4 / sqrt(n), size_back = 2 / sqrt(m);
  const float most = (float)((1 << f->bits) - 1); /* e is up to 5 */
  for (size_t j = 0; j < wide; ++j) {
    open[j] = 4;
    scale[j] = (float)(size / 127);
    scale_back[j] = (float)(size_back / 127);
    shift[j] = bias;
  }
  fill_weights(kernels, 2 * count, f->type, size);
  fill_weights(kernels + 2 * count * item, 2 * count, f->type, size_back);
  return (duspar_parameters){
      .kind = DUSPAR_KIND_DUSPAR,
      .weight_type = f->type,
      .features = n,
      .units = m,
      .operand_bits = f->bits,
      .feedforward = {kernels, kernels + count * item, open, scale, scale,
                      5 / most},
      .feedback = {kernels + 2 * count * item, kernels + 3 * count * item, zero,
                   scale_back, scale_back, largest / most},
      .feedforward_bias = shift,
      .feedback_bias = zero,
  };
}

static void free_parameters(const duspar_parameters* p) {
  duspar_release((void*)p->feedforward.gate_kernel);
  duspar_release((void*)p->feedforward.gate_bias);
}

static void open_layer(runner* r, int i, int n, int m, const format* f,
                       const char* kernel, float bias, float largest) {
  const uint32_t before = seed;
  const duspar_parameters p = make_parameters(n, m, f, bias, largest);
  seed = before; /* the same weights for every bias */
  r->layer[i] = duspar_layer_create(&p, kernel);
  free_parameters(&p);
  if (r->layer[i] == NULL) {
    fprintf(stderr, "%s\n", duspar_last_error());
    exit(1);
  }
  r->scratch[i] = allocate(duspar_layer_scratch(r->layer[i]), 1);
}

static void close_layer(runner* r, int i) {
  duspar_layer_destroy(r->layer[i]);
  duspar_release(r->scratch[i]);
}

/* Entries of x are above or below what g can be, and their sizes like those of
 * trained models, where one of eight is above half of the largest; y's bias,
 * and its largest entry, are found by a run without one. */
static void make_layer(runner* r, int i, int n, int m, const format* f,
                       const char* kernel, double occupancy) {
  r->features[i] = (size_t)n;
  r->units[i] = (size_t)m;
  r->x[i] = allocate(FRAMES * r->features[i], sizeof(float));
  r->y[i] = allocate(r->units[i], sizeof(float));
  r->f[i] = allocate(r->units[i], sizeof(float));
  r->g[i] = allocate(r->features[i], sizeof(float));
  for (size_t k = 0; k < FRAMES * r->features[i]; ++k) {
    const float size = 1 + size_of_normal();
    r->x[i][k] = (uniform() + 1) / 2 < occupancy ? size : -size;
  }
  float bias = 2, largest = 3;
  if (occupancy < 1) {
    double* seen = allocate(FRAMES * r->units[i], sizeof(double));
    open_layer(r, i, n, m, f, kernel, 0, 1);
    for (size_t t = 0; t < FRAMES; ++t) {
      const duspar_sequence s = {1,       1,       r->x[i] + t * r->features[i],
                                 r->f[i], r->g[i], r->y[i],
                                 r->f[i], r->g[i]};
      duspar_counts counts = {0};
      duspar_layer_execute(r->layer[i], &s, r->scratch[i], 1, &counts);
      for (size_t j = 0; j < r->units[i]; ++j) {
        seen[t * r->units[i] + j] = r->y[i][j];
      }
    }
    close_layer(r, i);
    const size_t all = FRAMES * r->units[i];
    qsort(seen, all, sizeof *seen, compare);
    bias = -(float)seen[(size_t)((1 - occupancy) * (double)all)];
    largest = (float)seen[all - 1] + bias;
    duspar_release(seen);
  }
  open_layer(r, i, n, m, f, kernel, bias, largest);
  r->weight_bytes += 4 * (size_t)n * (size_t)m *
                     duspar_weight_bytes((duspar_weight_type)f->type) /
                     (size_t)r->every[i];
}

static void make_gru(runner* r, int i, int n, int m, const gru_kernel* kernel) {
  const size_t inputs = (size_t)n, units = (size_t)m;
  const size_t count = 3 * units * (inputs + units + 2);
  float* weights = allocate(count, sizeof(float));
  for (size_t k = 0; k < count; ++k) weights[k] = 0.1f * uniform();
  r->kernel = kernel;
  r->features[i] = (size_t)n;
  r->x[i] = allocate(FRAMES * r->features[i], sizeof(float));
  for (size_t k = 0; k < FRAMES * r->features[i]; ++k) r->x[i][k] = uniform();
  r->f[i] = allocate((size_t)m + 16, sizeof(float));
  float* recurrent = weights + 3 * inputs * units;
  r->gru[i] = gru_create(kernel, inputs, units, weights, recurrent,
                         recurrent + 3 * units * units);
  duspar_release(weights);
  r->weight_bytes += kernel->weight_bytes(inputs, units) / (size_t)r->every[i];
}

static void free_runner(runner* r) {
  for (int i = 0; i < r->layers; ++i) {
    duspar_release(r->x[i]);
    duspar_release(r->f[i]);
    if (r->kernel != NULL) {
      gru_destroy(&r->gru[i]);
      continue;
    }
    duspar_release(r->y[i]);
    duspar_release(r->g[i]);
    close_layer(r, i);
  }
}

/* Effective over dense products. */
static double measured_occupancy(const runner* r) {
  double done = 0, all = 0;
  for (int i = 0; i < r->layers; ++i) {
    const double n = (double)r->features[i], m = (double)r->units[i];
    done += m * (double)r->counts[i].nonzeros[0] +
            n * (double)r->counts[i].nonzeros[1];
    all += 2 * n * m * (double)r->counts[i].steps;
  }
  return all > 0 ? done / all : 1;
}

static void bench(const stack* s, const format* f, const char* kernel,
                  int rounds) {
  static runner runners[OCCUPANCIES + 1];
  /* Beside float32, and beside int8 times integers. */
  const gru_kernel* dense = f->type == DUSPAR_FLOAT32 || f->bits == 8
                                ? gru_find(kernel, f->type == DUSPAR_INT8)
                                : NULL;
  const int count = OCCUPANCIES + (dense != NULL);
  memset(runners, 0, sizeof runners);
  for (int o = 0; o < count; ++o) {
    runner* r = &runners[o];
    r->layers = s->layers;
    r->every = s->every;
    for (int i = 0; i < s->layers; ++i) {
      if (o == OCCUPANCIES) {
        make_gru(r, i, s->gru_features[i], s->gru_units[i], dense);
      } else {
        make_layer(r, i, s->features[i], s->units[i], f, kernel,
                   occupancies[o]);
      }
    }
  }
  /* About a tenth of a millisecond at a time, shorter than the system lets
   * others wait. */
  const int repeat = 1 + (int)(16000000 / (runners[0].weight_bytes + 100000));
  for (int round = 0; round < rounds; ++round) {
    for (int o = 0; o < count; ++o) {
      /* The caches were another's; few zeros in common, so many steps. */
      for (int k = 0; k < FRAMES; ++k) step(&runners[o]);
      const double start = now();
      for (int k = 0; k < repeat; ++k) step(&runners[o]);
      runners[o].times[round] = (now() - start) / repeat;
    }
  }
  for (int o = 0; o < count; ++o) {
    runner* r = &runners[o];
    if (rounds == 0) {
      duspar_bench_counted(r);
      duspar_bench_end();
    }
    qsort(r->times, (size_t)rounds, sizeof(double), compare);
    printf(
        "{\"stack\": \"%s\", \"model\": \"%s\", \"kernel\": \"%s\", "
        "\"weights\": \"%s\", \"operands\": \"%s\", \"asked\": %g, "
        "\"occupancy\": %.4f, \"ns\": %.1f, \"least_ns\": %.1f, "
        "\"bytes\": %zu}\n",
        s->name, o == OCCUPANCIES ? "GRU" : "DuSpaR", kernel, f->weights,
        f->operands, o == OCCUPANCIES ? 1.0 : occupancies[o],
        measured_occupancy(r), r->times[rounds / 2], r->times[0],
        r->weight_bytes);
    free_runner(r);
  }
  fflush(stdout);
}

/* Bytes a second that are read again and again from `bytes` of memory. */
static void bandwidth(size_t bytes, int rounds) {
  float* data = allocate(bytes, 1);
  double times[MAX_ROUNDS];
  const size_t count = bytes / sizeof(float);
  const int repeat = 1 + (int)(20000000 / bytes);
  for (size_t i = 0; i < count; ++i) data[i] = uniform();
  volatile float total = 0;
  for (int round = 0; round < rounds; ++round) {
    const double start = now();
    for (int k = 0; k < repeat; ++k) total += duspar_bench_read(data, count);
    times[round] = (now() - start) / repeat;
  }
  qsort(times, (size_t)rounds, sizeof(double), compare);
  printf("{\"read\": %zu, \"gb_per_second\": %.1f, \"most\": %.1f}\n", bytes,
         (double)bytes / times[rounds / 2], (double)bytes / times[0]);
  duspar_release(data);
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 101;
  const char* only_stack = argc > 2 && argv[2][0] ? argv[2] : NULL;
  const char* only_kernel = argc > 3 ? argv[3] : NULL;
  if (rounds < 0 || rounds > MAX_ROUNDS) rounds = 101;
  for (size_t kb = 16; rounds > 0 && only_stack == NULL && kb <= 1 << 18;
       kb *= 2) {
    bandwidth(kb << 10, rounds);
  }
  for (int s = 0; s < STACKS; ++s) {
    if (only_stack != NULL && strcmp(only_stack, stacks[s].name) != 0) continue;
    for (size_t k = 0; k < duspar_kernel_count(); ++k) {
      const char* kernel = duspar_kernel_name(k);
      if (!duspar_kernel_usable(k)) continue;
      if (strcmp(only_kernel ? only_kernel : kernel, kernel) != 0) continue;
      if (only_kernel == NULL && strcmp("reference", kernel) == 0) continue;
      for (int f = 0; f < FORMATS; ++f) {
        bench(&stacks[s], &formats[f], kernel, rounds);
      }
    }
  }
  return 0;
}
