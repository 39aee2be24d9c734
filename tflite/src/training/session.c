/* Training: checks the arguments, divides the batch and deals out memory.
 *
 * The division depends on the batch alone and sums are made in its order, so
 * that results are the same with any number of threads.
 */
#include "training/session.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "training/workspace.h"
#include "variants/variants.h"

enum { ROWS = 16, SHORT_CHUNK = 8, TICKET_FLOATS = 16 };

/* Of the variants that train and that this processor can run, one. */
static const duspar_variant* usable_variant(size_t index) {
  const duspar_variant* variant;
  for (size_t i = 0; (variant = duspar_variant_at(i)) != NULL; ++i) {
    if (variant->trainer == NULL || !variant->usable()) continue;
    if (index-- == 0) return variant;
  }
  return NULL;
}

const char* duspar_train_kernel(size_t index) {
  const duspar_variant* variant = usable_variant(index);
  return variant == NULL ? NULL : variant->name;
}

static const duspar_trainer* find_trainer(const char* name) {
  const duspar_variant* variant;
  for (size_t i = 0; (variant = usable_variant(i)) != NULL; ++i) {
    if (name == NULL || strcmp(name, variant->name) == 0) {
      return variant->trainer;
    }
  }
  variant = usable_variant(0);
  duspar_fail(DUSPAR_INVALID,
              "`kernel` must be one that trains on this processor, such as "
              "'%s'. Received: '%s'.",
              variant != NULL ? variant->name : "none", name ? name : "NULL");
  return NULL;
}

static duspar_status check_sizes(const duspar_training* t) {
  if (duspar_op_of(t->kind) == NULL) {
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
  if (t->meter != NULL &&
      !(t->meter->width > 0 && t->meter->width < INFINITY)) {
    return duspar_fail(DUSPAR_INVALID,
                       "`width` of a meter must be above 0. Received: %g.",
                       (double)t->meter->width);
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

/* Floats that a slice keeps: the states before each chunk. */
static size_t slice_reserve(const duspar_pass* pass, size_t rows) {
  const size_t chunks = duspar_round_up(pass->steps, pass->chunk) / pass->chunk;
  return duspar_round_up(duspar_states_size(pass, rows) * chunks, 16);
}

duspar_status duspar_session_plan(const duspar_training* t, duspar_session* s) {
  if (t == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`training` must not be NULL.");
  }
  const duspar_status status = check_sizes(t);
  if (status != DUSPAR_OK) return status;
  *s = (duspar_session){.trainer = find_trainer(t->kernel),
                        .op = duspar_op_of(t->kind)};
  if (s->trainer == NULL) return DUSPAR_INVALID;
  s->threads = t->threads > 1 ? (size_t)t->threads : 1;
  duspar_pass* pass = &s->pass;
  const size_t lanes = s->trainer->lanes;
  pass->dual = s->op->operand_count == 2;
  pass->batch = (size_t)t->batch;
  pass->steps = (size_t)t->steps;
  pass->features = (size_t)t->features;
  pass->units = (size_t)t->units;
  pass->padded_features = duspar_round_up(pass->features, lanes);
  pass->padded_units = duspar_round_up(pass->units, lanes);
  pass->chunk = t->chunk > 0 ? (size_t)t->chunk : SHORT_CHUNK;
  if (pass->chunk > pass->steps) pass->chunk = pass->steps;
  if (t->meter != NULL) pass->inverse_width = 1 / t->meter->width;
  s->slice_count = duspar_round_up(pass->batch, ROWS) / ROWS;
  if (s->slice_count > DUSPAR_MAX_SLICES) s->slice_count = DUSPAR_MAX_SLICES;
  s->reserve_size = TICKET_FLOATS;
  for (size_t i = 0; i < s->slice_count; ++i) {
    duspar_slice* slice = &s->slices[i];
    slice->first = pass->batch * i / s->slice_count;
    slice->rows = pass->batch * (i + 1) / s->slice_count - slice->first;
    s->reserve_size += slice_reserve(pass, slice->rows);
    if (t->chunk > 0) continue;
    s->gates_size += pass->steps * duspar_gates_size(pass, slice->rows);
  }
  return DUSPAR_OK;
}

/* Deals out the memory of a pass; returns how many floats that are, of which
 * the first `*zeros` must be zero before the start. */
static size_t lay_out(duspar_session* s, bool backward, float* base,
                      size_t* zeros) {
  duspar_pass* pass = &s->pass;
  const size_t widths[2] = {pass->padded_units, pass->padded_features};
  const size_t inputs[2] = {pass->features, pass->units};
  const int cells = pass->dual ? 2 : 1;
  duspar_arena memory = {base, 0};
  for (int i = 0; i < 2; ++i) {
    duspar_packed_cell* cell = &pass->cells[i];
    cell->inputs = inputs[i];
    cell->outputs = inputs[1 - i];
    cell->gate_bias = duspar_arena_take(&memory, widths[i]);
    cell->offset = duspar_arena_take(&memory, widths[i]);
  }
  for (int i = 0; backward && pass->inverse_width > 0 && i < cells; ++i) {
    pass->charges[i] = duspar_arena_take(&memory, widths[1 - i]);
  }
  for (size_t k = 0; backward && k < s->slice_count; ++k) {
    duspar_slice_gradients* to = &s->slices[k].gradients;
    for (int i = 0; i < 2; ++i) {
      const size_t size = i < cells ? 2 * widths[i] * inputs[i] : 0;
      to->kernels[i] = duspar_arena_take(&memory, size);
      to->gate_bias[i] = duspar_arena_take(&memory, widths[i]);
      to->offset[i] = duspar_arena_take(&memory, widths[i]);
    }
  }
  *zeros = memory.used;
  for (int i = 0; i < cells; ++i) {
    duspar_packed_cell* cell = &pass->cells[i];
    const size_t size = 2 * widths[i] * inputs[i];
    cell->panels = duspar_arena_take(&memory, size);
    cell->rows = duspar_arena_take(&memory, backward ? size : 0);
  }
  for (size_t k = 0; k < s->slice_count; ++k) {
    duspar_slice* slice = &s->slices[k];
    slice->scratch = duspar_arena_take(
        &memory, s->trainer->scratch(pass, slice->rows, backward));
  }
  return memory.used;
}

static void put_weights(duspar_session* s, const float* const* weights,
                        bool backward) {
  const duspar_packed_cell* cells = s->pass.cells;
  const float* kernels[DUSPAR_MAX_CELLS][2];
  for (int i = 0; i < s->op->weight_count; ++i) {
    const duspar_op_weight* weight = &s->op->weights[i];
    const duspar_packed_cell* cell = &cells[weight->cell];
    if (duspar_op_is_kernel(weight)) {
      kernels[weight->cell][weight->role == DUSPAR_CANDIDATE_KERNEL] =
          weights[i];
      continue;
    }
    memcpy(weight->role == DUSPAR_OFFSET ? cell->offset : cell->gate_bias,
           weights[i], cell->outputs * sizeof(float));
  }
  for (int i = 0; i < s->op->operand_count; ++i) {
    s->trainer->pack(&cells[i], kernels[i][0], kernels[i][1], backward);
  }
}

/* Finds a place for the gates of all steps, or the place where the forward
 * pass has put them. There may be none. */
static void find_gates(duspar_session* s, bool backward, const float* reserve) {
  const size_t bytes = s->gates_size * sizeof(float);
  float* gates = NULL;
  if (bytes == 0) return;
  if (backward) {
    memcpy(&s->ticket, reserve, sizeof s->ticket);
    gates = duspar_workspace_claim(s->ticket, bytes);
  } else {
    gates = duspar_workspace_take(bytes, &s->ticket);
  }
  if (gates == NULL) s->ticket = 0;
  for (size_t i = 0; gates != NULL && i < s->slice_count; ++i) {
    s->slices[i].gates = gates;
    gates += s->pass.steps * duspar_gates_size(&s->pass, s->slices[i].rows);
  }
}

duspar_status duspar_session_start(duspar_session* s, bool backward,
                                   const float* const* weights,
                                   const float* reserve) {
  size_t zeros, bytes;
  const size_t count = lay_out(s, backward, NULL, &zeros);
  if (!duspar_multiply(count, sizeof *s->memory, &bytes)) {
    return duspar_fail_memory(SIZE_MAX);
  }
  s->memory = duspar_workspace_take(bytes, &s->memory_ticket);
  if (s->memory == NULL && (s->memory = duspar_allocate(bytes)) == NULL) {
    return duspar_fail_memory(bytes);
  }
  lay_out(s, backward, s->memory, &zeros);
  memset(s->memory, 0, zeros * sizeof *s->memory);
  put_weights(s, weights, backward);
  if (reserve == NULL) return DUSPAR_OK;
  find_gates(s, backward, reserve);
  size_t used = TICKET_FLOATS;
  for (size_t i = 0; i < s->slice_count; ++i) {
    duspar_slice* slice = &s->slices[i];
    slice->reserve = (float*)reserve + used;
    used += slice_reserve(&s->pass, slice->rows);
  }
  return DUSPAR_OK;
}

void duspar_session_end(duspar_session* s) {
  if (s->memory_ticket == 0) duspar_release(s->memory);
  duspar_workspace_release(s->memory_ticket);
}
