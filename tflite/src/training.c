/* Training: checks the arguments, divides the batch and adds up gradients.
 *
 * The division depends on the batch alone and sums are made in its order, so
 * that results are the same with any number of threads.
 */
#include "training.h"

#include <string.h>

#include "error.h"
#include "memory.h"
#include "threads.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

enum { ROWS = 16, MAX_SLICES = 16, BLOCK_ROWS = 64, SMALL_CHUNK = 16 };

/* Fastest first. */
static const duspar_trainer* const* const trainers[] = {
    &duspar_trainer_avx512,
    &duspar_trainer_avx2,
    &duspar_trainer_neon,
    &duspar_trainer_portable,
};

static const duspar_trainer* usable_trainer(size_t index) {
  for (size_t i = 0; i < sizeof trainers / sizeof trainers[0]; ++i) {
    const duspar_trainer* trainer = *trainers[i];
    if (trainer != NULL && trainer->usable() && index-- == 0) return trainer;
  }
  return NULL;
}

const char* duspar_train_kernel(size_t index) {
  const duspar_trainer* trainer = usable_trainer(index);
  return trainer == NULL ? NULL : trainer->name;
}

static const duspar_trainer* find_trainer(const char* name) {
  const duspar_trainer* trainer;
  for (size_t i = 0; (trainer = usable_trainer(i)) != NULL; ++i) {
    if (name == NULL || strcmp(name, trainer->name) == 0) return trainer;
  }
  duspar_fail(DUSPAR_INVALID,
              "`kernel` must be one that this processor can run, such as "
              "'%s'. Received: '%s'.",
              usable_trainer(0)->name, name);
  return NULL;
}

/* ---- What a pass is made of --------------------------------------------- */

typedef struct session {
  const duspar_trainer* trainer;
  duspar_pass pass;
  size_t threads;
  size_t slice_count;
  duspar_slice slices[MAX_SLICES];
  size_t reserve_size; /* floats */
} session;

static duspar_status check_sizes(const duspar_training* t) {
  if (t->kind != DUSPAR_KIND_SPAR && t->kind != DUSPAR_KIND_DUSPAR) {
    return duspar_fail(DUSPAR_INVALID,
                       "`kind` must be a duspar_kind. Received: %d.",
                       (int)t->kind);
  }
  const struct {
    const char* name;
    int64_t value, least;
  } numbers[] = {
      {"batch", t->batch, 1},       {"steps", t->steps, 1},
      {"features", t->features, 1}, {"units", t->units, 1},
      {"chunk", t->chunk, 0},       {"threads", t->threads, 0},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
    /* Products of four such numbers have room in a double's range. */
    if (numbers[i].value < numbers[i].least || numbers[i].value > 1 << 30) {
      return duspar_fail(
          DUSPAR_INVALID, "`%s` must be between %d and 2^30. Received: %lld.",
          numbers[i].name, (int)numbers[i].least, (long long)numbers[i].value);
    }
  }
  /* Everything that is allocated is a small multiple of these. */
  const double wide = (double)t->features + (double)t->units + 64;
  const double most = (double)SIZE_MAX / 4096;
  if ((double)t->batch * (double)(t->steps + 1) * wide > most ||
      ((double)t->features + 64) * ((double)t->units + 64) > most) {
    return duspar_fail(DUSPAR_INVALID,
                       "`batch`, `steps`, `features` and `units` must not be "
                       "so large together: memory has no such addresses.");
  }
  return DUSPAR_OK;
}

static size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/* Floats that a slice keeps: all records, or the states before each chunk,
 * which are a third of a record. */
static size_t slice_reserve(const duspar_pass* pass, size_t rows) {
  const size_t record = duspar_record_size(pass, rows);
  if (!pass->recomputes) return round_up(record * (pass->steps + 1), 16);
  const size_t chunks = round_up(pass->steps, pass->chunk) / pass->chunk;
  return round_up(record / 3 * chunks, 16);
}

/* Sets everything that depends on sizes alone. `keeps` says whether there is
 * a reserve. */
static duspar_status plan(const duspar_training* t, bool keeps, session* s) {
  if (t == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`training` must not be NULL.");
  }
  const duspar_status status = check_sizes(t);
  if (status != DUSPAR_OK) return status;
  *s = (session){.trainer = find_trainer(t->kernel)};
  if (s->trainer == NULL) return DUSPAR_INVALID;
  s->threads = t->threads > 1 ? (size_t)t->threads : 1;
  duspar_pass* pass = &s->pass;
  const size_t lanes = s->trainer->lanes, steps = (size_t)t->steps;
  pass->dual = t->kind == DUSPAR_KIND_DUSPAR;
  pass->batch = (size_t)t->batch;
  pass->steps = steps;
  pass->features = (size_t)t->features;
  pass->units = (size_t)t->units;
  pass->padded_features = round_up(pass->features, lanes);
  pass->padded_units = round_up(pass->units, lanes);
  pass->recomputes = !keeps || (t->chunk > 0 && (size_t)t->chunk < steps);
  pass->chunk = steps;
  if (pass->recomputes) {
    pass->chunk = t->chunk > 0 ? (size_t)t->chunk : SMALL_CHUNK;
    if (pass->chunk > steps) pass->chunk = steps;
  }
  s->slice_count = round_up(pass->batch, ROWS) / ROWS;
  if (s->slice_count > MAX_SLICES) s->slice_count = MAX_SLICES;
  const size_t most = round_up(pass->batch, s->slice_count) / s->slice_count;
  pass->block = most < BLOCK_ROWS ? BLOCK_ROWS / most : 1;
  if (pass->block > pass->chunk) pass->block = pass->chunk;
  for (size_t i = 0; i < s->slice_count; ++i) {
    duspar_slice* slice = &s->slices[i];
    slice->first = pass->batch * i / s->slice_count;
    slice->rows = pass->batch * (i + 1) / s->slice_count - slice->first;
    s->reserve_size += keeps ? slice_reserve(pass, slice->rows) : 0;
  }
  return DUSPAR_OK;
}

/* Takes `count` floats on the border of a cache line from `*next`, or only
 * counts them if there is no memory yet. */
static float* take(float* memory, size_t* used, size_t count) {
  float* start = memory == NULL ? NULL : memory + *used;
  *used += round_up(count, 16);
  return start;
}

/* Deals out the memory of a pass; returns how many floats that are, of which
 * the first `*zeros` must be zero before the start. */
static size_t lay_out(session* s, bool backward, float* memory, size_t* zeros) {
  duspar_pass* pass = &s->pass;
  const size_t widths[2] = {pass->padded_units, pass->padded_features};
  const size_t inputs[2] = {pass->features, pass->units};
  const int cells = pass->dual ? 2 : 1;
  size_t used = 0;
  for (int i = 0; i < 2; ++i) {
    duspar_packed_cell* cell = &pass->cells[i];
    cell->inputs = inputs[i];
    cell->outputs = inputs[1 - i];
    cell->gate_bias = take(memory, &used, widths[i]);
    cell->offset = take(memory, &used, widths[i]);
  }
  for (size_t k = 0; backward && k < s->slice_count; ++k) {
    duspar_slice_gradients* to = &s->slices[k].gradients;
    for (int i = 0; i < 2; ++i) {
      const size_t size = i < cells ? widths[1 - i] * 2 * widths[i] : 0;
      to->kernels[i] = take(memory, &used, size);
      to->gate_bias[i] = take(memory, &used, widths[i]);
      to->offset[i] = take(memory, &used, widths[i]);
    }
  }
  *zeros = used;
  for (int i = 0; i < cells; ++i) {
    duspar_packed_cell* cell = &pass->cells[i];
    cell->forward = take(memory, &used, 2 * widths[i] * inputs[i]);
    if (!backward) continue;
    cell->backward = take(memory, &used, 2 * widths[1 - i] * inputs[1 - i]);
    cell->rows = take(memory, &used, 2 * widths[i] * inputs[i]);
  }
  for (size_t k = 0; k < s->slice_count; ++k) {
    duspar_slice* slice = &s->slices[k];
    slice->scratch =
        take(memory, &used, s->trainer->scratch(pass, slice->rows, backward));
  }
  return used;
}

static void put_weights(session* s, const float* const* weights,
                        bool backward) {
  const duspar_pass* pass = &s->pass;
  const duspar_packed_cell* cells = pass->cells;
  const size_t units = pass->units * sizeof(float);
  const size_t features = pass->features * sizeof(float);
  s->trainer->pack(&cells[0], weights[0], weights[1], backward);
  if (!pass->dual) {
    memcpy(cells[0].gate_bias, weights[2], units);
    return;
  }
  s->trainer->pack(&cells[1], weights[2], weights[3], backward);
  memcpy(cells[0].gate_bias, weights[4], units);
  memcpy(cells[1].gate_bias, weights[5], features);
  memcpy(cells[0].offset, weights[6], units);
  memcpy(cells[1].offset, weights[7], features);
}

/* Allocates and fills the memory of a pass. */
static duspar_status prepare(session* s, bool backward,
                             const float* const* weights, const float* reserve,
                             float** memory) {
  size_t zeros, bytes;
  const size_t count = lay_out(s, backward, NULL, &zeros);
  if (!duspar_multiply(count, sizeof **memory, &bytes) ||
      (*memory = duspar_allocate(bytes)) == NULL) {
    return duspar_fail_memory(count * sizeof **memory);
  }
  lay_out(s, backward, *memory, &zeros);
  memset(*memory, 0, zeros * sizeof **memory);
  put_weights(s, weights, backward);
  size_t used = 0;
  for (size_t i = 0; reserve != NULL && i < s->slice_count; ++i) {
    duspar_slice* slice = &s->slices[i];
    slice->reserve = (float*)reserve + used;
    used += slice_reserve(&s->pass, slice->rows);
  }
  return DUSPAR_OK;
}

/* ---- Running the slices ------------------------------------------------- */

/* Gradients fade with time, and processors are slow with what is left of
 * them: numbers below 2^-126 count as zero here. Returns what to restore. */
static unsigned flush_denormals(void) {
#if defined(__SSE__)
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040u);
  return before;
#else
  return 0;
#endif
}

static void restore_denormals(unsigned before) {
#if defined(__SSE__)
  _mm_setcsr(before);
#else
  (void)before;
#endif
}

static void run_forward(void* context, size_t index) {
  session* s = context;
  const unsigned before = flush_denormals();
  s->trainer->forward(&s->pass, &s->slices[index]);
  restore_denormals(before);
}

static void run_backward(void* context, size_t index) {
  session* s = context;
  const unsigned before = flush_denormals();
  s->trainer->backward(&s->pass, &s->slices[index]);
  restore_denormals(before);
}

/* ---- Sums over the slices ----------------------------------------------- */

static void add(size_t count, const float* from, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] += from[i];
}

/* Adds the slices' gradients to the first one's, in order. */
static void add_slices(const session* s) {
  const duspar_pass* pass = &s->pass;
  const size_t widths[2] = {pass->padded_units, pass->padded_features};
  const duspar_slice_gradients* to = &s->slices[0].gradients;
  for (size_t k = 1; k < s->slice_count; ++k) {
    const duspar_slice_gradients* from = &s->slices[k].gradients;
    for (int i = 0; i < (pass->dual ? 2 : 1); ++i) {
      add(2 * widths[0] * widths[1], from->kernels[i], to->kernels[i]);
      add(widths[i], from->gate_bias[i], to->gate_bias[i]);
      add(widths[i], from->offset[i], to->offset[i]);
    }
  }
}

/* From panels of gate and candidate to two kernels. */
static void unpack(size_t inputs, size_t outputs, size_t lanes,
                   const float* panels, float* gate, float* candidate) {
  const size_t wide = round_up(outputs, lanes);
  for (size_t i = 0; i < inputs; ++i, panels += 2 * wide) {
    for (size_t j = 0; j < outputs; ++j) {
      const float* at = panels + j / lanes * 2 * lanes + j % lanes;
      *gate++ = at[0];
      *candidate++ = at[lanes];
    }
  }
}

static void take_gradients(const session* s, float* const* gradients) {
  const duspar_pass* pass = &s->pass;
  const duspar_slice_gradients* from = &s->slices[0].gradients;
  const size_t n = pass->features, m = pass->units;
  const size_t lanes = s->trainer->lanes;
  unpack(n, m, lanes, from->kernels[0], gradients[0], gradients[1]);
  if (!pass->dual) {
    memcpy(gradients[2], from->gate_bias[0], m * sizeof(float));
    return;
  }
  unpack(m, n, lanes, from->kernels[1], gradients[2], gradients[3]);
  memcpy(gradients[4], from->gate_bias[0], m * sizeof(float));
  memcpy(gradients[5], from->gate_bias[1], n * sizeof(float));
  memcpy(gradients[6], from->offset[0], m * sizeof(float));
  memcpy(gradients[7], from->offset[1], n * sizeof(float));
}

/* ---- Interface ---------------------------------------------------------- */

static duspar_status check_pointers(const session* s, const char* name,
                                    const void* const* pointers) {
  const int count = s->pass.dual ? 8 : 3;
  for (int i = 0; i < count; ++i) {
    if (pointers == NULL || pointers[i] == NULL) {
      return duspar_fail(DUSPAR_INVALID,
                         "`%s` must be %d pointers. Received NULL at %d.", name,
                         count, i);
    }
  }
  return DUSPAR_OK;
}

duspar_status duspar_train_reserve(const duspar_training* training,
                                   int64_t* floats) {
  session s;
  const duspar_status status = plan(training, true, &s);
  if (status != DUSPAR_OK) return status;
  if (floats == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`floats` must not be NULL.");
  }
  *floats = (int64_t)s.reserve_size;
  return DUSPAR_OK;
}

duspar_status duspar_train_forward(const duspar_training* training,
                                   const float* const* weights, const float* x,
                                   const float* f0, const float* g0, float* y,
                                   float* f, float* g, float* reserve) {
  session s;
  duspar_status status = plan(training, reserve != NULL, &s);
  if (status != DUSPAR_OK) return status;
  status = check_pointers(&s, "weights", (const void* const*)weights);
  if (status != DUSPAR_OK) return status;
  if (x == NULL) return duspar_fail(DUSPAR_INVALID, "`x` must not be NULL.");
  duspar_pass* pass = &s.pass;
  pass->x = x;
  pass->f0 = f0;
  pass->g0 = g0;
  pass->y = y;
  pass->f = f;
  pass->g = g;
  float* memory;
  duspar_expect_use(reserve, s.reserve_size * sizeof *reserve);
  status = prepare(&s, false, weights, reserve, &memory);
  if (status != DUSPAR_OK) return status;
  duspar_parallel(s.slice_count, s.threads, run_forward, &s);
  duspar_release(memory);
  return DUSPAR_OK;
}

duspar_status duspar_train_backward(const duspar_training* training,
                                    const float* const* weights, const float* x,
                                    const float* reserve, const float* dy,
                                    const float* df, const float* dg, float* dx,
                                    float* df0, float* dg0,
                                    float* const* gradients) {
  session s;
  duspar_status status = plan(training, true, &s);
  if (status != DUSPAR_OK) return status;
  status = check_pointers(&s, "weights", (const void* const*)weights);
  if (status != DUSPAR_OK) return status;
  status = check_pointers(&s, "gradients", (const void* const*)gradients);
  if (status != DUSPAR_OK) return status;
  if (x == NULL || reserve == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`%s` must not be NULL.",
                       x == NULL ? "x" : "reserve");
  }
  duspar_pass* pass = &s.pass;
  pass->x = x;
  pass->dy = dy;
  pass->df = df;
  pass->dg = dg;
  pass->dx = dx;
  pass->df0 = df0;
  pass->dg0 = dg0;
  float* memory;
  status = prepare(&s, true, weights, reserve, &memory);
  if (status != DUSPAR_OK) return status;
  duspar_parallel(s.slice_count, s.threads, run_backward, &s);
  add_slices(&s);
  take_gradients(&s, gradients);
  duspar_release(memory);
  return DUSPAR_OK;
}
