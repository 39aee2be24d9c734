/* Training passes: they run the slices of a batch and add up gradients. */
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "training/pass.h"
#include "training/session.h"
#include "training/workspace.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

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
  duspar_session* s = context;
  const unsigned before = flush_denormals();
  s->trainer->forward(&s->pass, &s->slices[index]);
  restore_denormals(before);
}

static void run_backward(void* context, size_t index) {
  duspar_session* s = context;
  const unsigned before = flush_denormals();
  s->trainer->backward(&s->pass, &s->slices[index]);
  restore_denormals(before);
}

/* ---- Sums over the slices ----------------------------------------------- */

static void add(size_t count, const float* from, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] += from[i];
}

/* Adds the slices' gradients to the first one's, in order. */
static void add_slices(const duspar_session* s) {
  const duspar_pass* pass = &s->pass;
  const size_t widths[2] = {pass->padded_units, pass->padded_features};
  const duspar_slice_gradients* to = &s->slices[0].gradients;
  for (size_t k = 1; k < s->slice_count; ++k) {
    const duspar_slice_gradients* from = &s->slices[k].gradients;
    for (int i = 0; i < (pass->dual ? 2 : 1); ++i) {
      const size_t size = 2 * widths[i] * pass->cells[i].inputs;
      add(size, from->kernels[i], to->kernels[i]);
      add(widths[i], from->gate_bias[i], to->gate_bias[i]);
      add(widths[i], from->offset[i], to->offset[i]);
    }
  }
}

/* Copies the kernel that begins at `from` out of padded rows that hold gate
 * and candidate side by side. */
static void unpack(const duspar_packed_cell* cell, size_t padded,
                   const float* from, float* kernel) {
  for (size_t i = 0; i < cell->inputs; ++i, from += 2 * padded) {
    memcpy(kernel + i * cell->outputs, from, cell->outputs * sizeof *from);
  }
}

static void take_gradients(const duspar_session* s, float* const* gradients) {
  const size_t widths[2] = {s->pass.padded_units, s->pass.padded_features};
  const duspar_slice_gradients* from = &s->slices[0].gradients;
  for (int i = 0; i < s->op->weight_count; ++i) {
    const int c = s->op->weights[i].cell;
    const duspar_packed_cell* cell = &s->pass.cells[c];
    const size_t bytes = cell->outputs * sizeof(float);
    switch (s->op->weights[i].role) {
      case DUSPAR_GATE_KERNEL:
        unpack(cell, widths[c], from->kernels[c], gradients[i]);
        break;
      case DUSPAR_CANDIDATE_KERNEL:
        unpack(cell, widths[c], from->kernels[c] + widths[c], gradients[i]);
        break;
      case DUSPAR_GATE_BIAS:
        memcpy(gradients[i], from->gate_bias[c], bytes);
        break;
      case DUSPAR_OFFSET:
        memcpy(gradients[i], from->offset[c], bytes);
        break;
    }
  }
}

/* ---- Meter -------------------------------------------------------------- */

static double entries(const duspar_session* s, int operand) {
  const duspar_pass* pass = &s->pass;
  return (double)pass->batch * (double)pass->steps *
         (double)pass->cells[operand].inputs;
}

static void take_occupancies(const duspar_session* s, float* occupancies) {
  for (int i = 0; i < s->op->operand_count; ++i) {
    uint64_t total = 0;
    for (size_t k = 0; k < s->slice_count; ++k) total += s->nonzeros[k][i];
    occupancies[i] = (float)((double)total / entries(s, i));
  }
}

/* The derivative of the sigmoid is at most a quarter; that comes later. */
static void put_charges(const duspar_session* s, const float* gradients) {
  const duspar_pass* pass = &s->pass;
  for (int i = 0; i < s->op->operand_count; ++i) {
    const float charge =
        (float)(gradients[i] * pass->inverse_width / entries(s, i));
    for (size_t j = 0; j < pass->cells[i].inputs; ++j) {
      pass->charges[i][j] = charge;
    }
  }
}

/* ---- Interface ---------------------------------------------------------- */

static duspar_status check_pointers(const duspar_session* s, const char* name,
                                    const void* const* pointers) {
  const int count = s->op->weight_count;
  for (int i = 0; i < count; ++i) {
    if (pointers == NULL || pointers[i] == NULL) {
      return duspar_fail(DUSPAR_INVALID,
                         "`%s` must be %d pointers. Received NULL at %d.", name,
                         count, i);
    }
  }
  return DUSPAR_OK;
}

/* Plans a pass and checks what both passes have. */
static duspar_status begin(const duspar_training* training,
                           const float* const* weights, const float* x,
                           duspar_session* s) {
  duspar_status status = duspar_session_plan(training, s);
  if (status != DUSPAR_OK) return status;
  status = check_pointers(s, "weights", (const void* const*)weights);
  if (status != DUSPAR_OK) return status;
  s->pass.x = x;
  if (x != NULL) return DUSPAR_OK;
  return duspar_fail(DUSPAR_INVALID, "`x` must not be NULL.");
}

duspar_status duspar_train_reserve(const duspar_training* training,
                                   int64_t* floats) {
  duspar_session s;
  const duspar_status status = duspar_session_plan(training, &s);
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
  duspar_session s;
  duspar_status status = begin(training, weights, x, &s);
  if (status != DUSPAR_OK) return status;
  duspar_pass* pass = &s.pass;
  pass->f0 = f0;
  pass->g0 = g0;
  pass->y = y;
  pass->f = f;
  pass->g = g;
  status = duspar_session_start(&s, false, weights, reserve);
  if (status != DUSPAR_OK) return status;
  float* occupancies = training->meter ? training->meter->occupancies : NULL;
  for (size_t i = 0; occupancies != NULL && i < s.slice_count; ++i) {
    s.slices[i].nonzeros = s.nonzeros[i];
  }
  duspar_parallel(s.slice_count, s.threads, run_forward, &s);
  if (occupancies != NULL) take_occupancies(&s, occupancies);
  if (reserve != NULL) memcpy(reserve, &s.ticket, sizeof s.ticket);
  duspar_workspace_leave(s.ticket);
  duspar_session_end(&s);
  return DUSPAR_OK;
}

duspar_status duspar_train_backward(const duspar_training* training,
                                    const float* const* weights, const float* x,
                                    const float* reserve, const float* dy,
                                    const float* df, const float* dg, float* dx,
                                    float* df0, float* dg0,
                                    float* const* gradients) {
  duspar_session s;
  duspar_status status = begin(training, weights, x, &s);
  if (status != DUSPAR_OK) return status;
  status = check_pointers(&s, "gradients", (const void* const*)gradients);
  if (status != DUSPAR_OK) return status;
  if (reserve == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`reserve` must not be NULL.");
  }
  duspar_pass* pass = &s.pass;
  pass->dy = dy;
  pass->df = df;
  pass->dg = dg;
  pass->dx = dx;
  pass->df0 = df0;
  pass->dg0 = dg0;
  status = duspar_session_start(&s, true, weights, reserve);
  if (status != DUSPAR_OK) return status;
  if (training->meter != NULL && training->meter->gradients != NULL) {
    put_charges(&s, training->meter->gradients);
  }
  duspar_parallel(s.slice_count, s.threads, run_backward, &s);
  add_slices(&s);
  take_gradients(&s, gradients);
  duspar_workspace_release(s.ticket);
  duspar_session_end(&s);
  return DUSPAR_OK;
}
