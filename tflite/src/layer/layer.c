#include "layer/layer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "layer/operators.h"

/* Fewer MACs are done before a thread has started: about 0.1 ms. */
enum { MACS_PER_THREAD = 1 << 22 };

/* Where a run keeps its vectors, in bytes from the start of the scratch. */
typedef struct scratch_plan {
  size_t f;
  size_t g;
  size_t step;
  size_t bytes;
} scratch_plan;

/* Of the arrays below, entry 0 is the feedforward cell's, which SpaR has
 * alone, and entry 1 the feedback cell's. */
struct duspar_layer {
  const duspar_variant* variant;
  const duspar_op* op;
  duspar_shape shapes[DUSPAR_MAX_CELLS];
  const void* packed[DUSPAR_MAX_CELLS];
  const float* biases[DUSPAR_MAX_CELLS];
  scratch_plan scratch;
  void* memory; /* behind the pointers above */
  size_t bytes; /* of it */
};

static bool plan_scratch(duspar_layer* layer) {
  scratch_plan* plan = &layer->scratch;
  size_t end = 0, most = 0;
  plan->f = end;
  if (!duspar_add_lines(layer->shapes[0].outputs, sizeof(float), &end)) {
    return false;
  }
  plan->g = end;
  if (!duspar_add_lines(layer->shapes[0].inputs, sizeof(float), &end)) {
    return false;
  }
  plan->step = end;
  for (int i = 0; i < layer->op->operand_count; ++i) {
    size_t bytes;
    if (!layer->variant->scratch_bytes(&layer->shapes[i], &bytes)) return false;
    if (bytes > most) most = bytes;
  }
  if (!duspar_add_lines(most, 1, &end)) return false;
  plan->bytes = end;
  return true;
}

/* Copies all weights into one block of memory. */
static duspar_status pack_weights(duspar_layer* layer,
                                  const duspar_parameters* p) {
  const duspar_cell* cells[] = {&p->feedforward, &p->feedback};
  const float* biases[] = {p->feedforward_bias, p->feedback_bias};
  const int count = layer->op->operand_count;
  size_t packed[DUSPAR_MAX_CELLS], bias[DUSPAR_MAX_CELLS], total = 0;
  bool fits = true;
  for (int i = 0; i < count && fits; ++i) {
    size_t bytes;
    packed[i] = total;
    fits = layer->variant->packed_bytes(&layer->shapes[i], &bytes) &&
           duspar_add_lines(bytes, 1, &total);
    bias[i] = total;
    const size_t biased = biases[i] != NULL ? layer->shapes[i].outputs : 0;
    fits = fits && duspar_add_lines(biased, sizeof(float), &total);
  }
  if (!fits) {
    return duspar_fail(DUSPAR_INVALID,
                       "%zu features and %zu units are more than memory can "
                       "hold.",
                       layer->shapes[0].inputs, layer->shapes[0].outputs);
  }
  char* memory = duspar_allocate(total);
  if (memory == NULL) return duspar_fail_memory(total);
  layer->memory = memory;
  layer->bytes = total;
  for (int i = 0; i < count; ++i) {
    const duspar_shape* shape = &layer->shapes[i];
    const size_t end = i + 1 < count ? packed[i + 1] : total;
    layer->variant->pack(shape, cells[i], memory + packed[i]);
    layer->packed[i] = memory + packed[i];
    if (biases[i] == NULL) continue; /* SpaR has none */
    memset(memory + bias[i], 0, end - bias[i]);
    memcpy(memory + bias[i], biases[i], shape->outputs * sizeof(float));
    layer->biases[i] = (const void*)(memory + bias[i]);
  }
  return DUSPAR_OK;
}

duspar_layer* duspar_layer_create(const duspar_parameters* p,
                                  const char* kernel) {
  if (duspar_parameters_check(p) != DUSPAR_OK) return NULL;
  const duspar_variant* found = duspar_variant_find(kernel);
  if (found == NULL) return NULL;
  duspar_layer* layer = calloc(1, sizeof *layer);
  if (layer == NULL) {
    duspar_fail_memory(sizeof *layer);
    return NULL;
  }
  const size_t features = (size_t)p->features, units = (size_t)p->units;
  const duspar_weight_type type = (duspar_weight_type)p->weight_type;
  layer->variant = found;
  layer->op = duspar_op_of(p->kind);
  layer->shapes[0] = (duspar_shape){features, units, type, p->operand_bits};
  layer->shapes[1] = (duspar_shape){units, features, type, p->operand_bits};
  duspar_status status = DUSPAR_OK;
  if (!plan_scratch(layer)) {
    status =
        duspar_fail(DUSPAR_INVALID, "`features` and `units` are too large.");
  }
  if (status == DUSPAR_OK) status = pack_weights(layer, p);
  if (status == DUSPAR_OK) return layer;
  duspar_layer_destroy(layer);
  return NULL;
}

void duspar_layer_destroy(duspar_layer* layer) {
  if (layer == NULL) return;
  duspar_release(layer->memory);
  free(layer);
}

const char* duspar_layer_kernel(const duspar_layer* layer) {
  return layer->variant->name;
}

size_t duspar_layer_bytes(const duspar_layer* layer) { return layer->bytes; }

size_t duspar_layer_scratch(const duspar_layer* layer) {
  return layer->scratch.bytes;
}

void duspar_counts_add(duspar_counts* counts, const duspar_counts* more) {
  counts->invocations += more->invocations;
  counts->steps += more->steps;
  counts->nonzeros[0] += more->nonzeros[0];
  counts->nonzeros[1] += more->nonzeros[1];
}

/* States of one sequence. */
typedef struct states {
  const float *f0, *g0; /* before it */
  float *f, *g;         /* behind it; may be the same */
} states;

/* Runs one sequence; `y` may be NULL. */
static void run_sequence(const duspar_layer* layer, size_t steps,
                         const float* x, states s, float* y, void* room,
                         duspar_counts* counts) {
  const duspar_shape* shapes = layer->shapes;
  const size_t features = shapes[0].inputs, units = shapes[0].outputs;
  const bool dual = layer->op->operand_count > 1;
  duspar_step* step = layer->variant->step[duspar_shape_format(&shapes[0])];
  for (size_t t = 0; t < steps; ++t, x += features) {
    float* out = y != NULL ? y + t * units : NULL;
    const duspar_step_operand error = {x, dual ? s.g0 : NULL, layer->biases[1],
                                       NULL};
    counts->nonzeros[0] +=
        step(&shapes[0], layer->packed[0], &error, s.f0, s.f, room);
    s.f0 = s.f;
    if (!dual) {
      if (out != NULL) memcpy(out, s.f, units * sizeof(float));
      continue;
    }
    const duspar_step_operand output = {NULL, s.f, layer->biases[0], out};
    counts->nonzeros[1] +=
        step(&shapes[1], layer->packed[1], &output, s.g0, s.g, room);
    s.g0 = s.g;
  }
  counts->steps += steps;
}

/* A state that was not moved. */
static void copy_state(const float* from, float* to, size_t size) {
  if (to != from) memcpy(to, from, size * sizeof(float));
}

/* Runs the sequences from `first` up to `end`. States that nobody wants go to
 * the scratch. */
static void run_sequences(const duspar_layer* layer, const duspar_sequence* s,
                          size_t first, size_t end, char* scratch,
                          duspar_counts* counts) {
  const size_t features = layer->shapes[0].inputs;
  const size_t units = layer->shapes[0].outputs;
  const bool dual = layer->op->operand_count > 1;
  for (size_t b = first; b < end; ++b) {
    const float* x = s->steps ? s->x + b * s->steps * features : NULL;
    float* y = s->steps && s->y ? s->y + b * s->steps * units : NULL;
    const states of = {
        s->f0 + b * units,
        dual ? s->g0 + b * features : NULL,
        s->f ? s->f + b * units : (void*)(scratch + layer->scratch.f),
        s->g ? s->g + b * features : (void*)(scratch + layer->scratch.g),
    };
    run_sequence(layer, s->steps, x, of, y, scratch + layer->scratch.step,
                 counts);
    if (s->steps > 0) continue;
    copy_state(of.f0, of.f, units);
    if (dual) copy_state(of.g0, of.g, features);
  }
}

size_t duspar_layer_threads(const duspar_layer* layer, size_t batch,
                            size_t steps, size_t threads) {
  const double macs = (double)batch * (double)steps * 4 *
                      (double)layer->shapes[0].inputs *
                      (double)layer->shapes[0].outputs;
  const double most = macs / MACS_PER_THREAD;
  if (threads > DUSPAR_MAX_THREADS) threads = DUSPAR_MAX_THREADS;
  if (threads > batch) threads = batch;
  if ((double)threads > most) threads = (size_t)most;
  return threads > 1 ? threads : 1;
}

/* What the threads of a run share. */
typedef struct parallel_run {
  const duspar_layer* layer;
  const duspar_sequence* sequence;
  char* scratch;
  size_t threads;
  duspar_counts counts[DUSPAR_MAX_THREADS];
} parallel_run;

static void run_part(void* context, size_t part) {
  parallel_run* run = context;
  const size_t batch = run->sequence->batch;
  duspar_counts counts = {0}; /* threads had better not share a cache line */
  run_sequences(run->layer, run->sequence, part * batch / run->threads,
                (part + 1) * batch / run->threads,
                run->scratch + part * run->layer->scratch.bytes, &counts);
  run->counts[part] = counts;
}

void duspar_layer_execute(const duspar_layer* layer, const duspar_sequence* s,
                          void* scratch, size_t threads,
                          duspar_counts* counts) {
  counts->invocations += 1;
  if (threads <= 1) {
    run_sequences(layer, s, 0, s->batch, scratch, counts);
    return;
  }
  parallel_run run = {layer, s, scratch, threads, {{0}}};
  duspar_parallel(threads, threads, run_part, &run);
  for (size_t part = 0; part < threads; ++part) {
    duspar_counts_add(counts, &run.counts[part]);
  }
}

duspar_status duspar_layer_run(const duspar_layer* layer, int64_t batch,
                               int64_t steps, const float* x, const float* f0,
                               const float* g0, float* y, float* f, float* g,
                               duspar_counts* counts) {
  if (layer == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`layer` must not be NULL.");
  }
  if (batch < 0 || steps < 0) {
    return duspar_fail(DUSPAR_INVALID,
                       "`batch` and `steps` must not be negative: %lld, %lld.",
                       (long long)batch, (long long)steps);
  }
  const bool dual = layer->op->operand_count > 1;
  if (batch > 0 &&
      ((steps > 0 && x == NULL) || f0 == NULL || (dual && g0 == NULL))) {
    return duspar_fail(DUSPAR_INVALID,
                       "`x` and the initial states must not be NULL.");
  }
  void* scratch = duspar_allocate(layer->scratch.bytes);
  if (scratch == NULL) return duspar_fail_memory(layer->scratch.bytes);
  const duspar_sequence sequence = {
      (size_t)batch, (size_t)steps, x, f0, g0, y, f, g};
  duspar_counts counted = {0};
  duspar_layer_execute(layer, &sequence, scratch, 1, &counted);
  duspar_release(scratch);
  if (counts != NULL) duspar_counts_add(counts, &counted);
  return DUSPAR_OK;
}
