/* Template: the second half of `training_slice.h`, the whole passes. */
#ifndef DUSPAR_TRAINING_BACKWARD_TEMPLATE_H_
#define DUSPAR_TRAINING_BACKWARD_TEMPLATE_H_

#include "training/slice_template.h"

static void forward_slice(const duspar_pass* pass, const duspar_slice* slice) {
  const size_t rows = slice->rows, size = duspar_states_size(pass, rows);
  arena memory = {slice->scratch, 0};
  const scratch s = lay_out(pass, rows, false, &memory);
  float *gates = s.gates, *end = s.states;
  put_states(pass, slice, pass->f0, pass->g0, s.states);
  for (size_t start = 0; start < pass->steps; start += pass->chunk) {
    const size_t left = pass->steps - start;
    const size_t count = left < pass->chunk ? left : pass->chunk;
    if (start > 0) memcpy(s.states, end, size * sizeof *end);
    if (slice->reserve != NULL) {
      memcpy(slice->reserve + start / pass->chunk * size, s.states,
             size * sizeof *end);
    }
    if (slice->gates != NULL) gates = slice->gates + start * 2 * size;
    forward_chunk(pass, slice, &s.forward, start, count, s.states, gates,
                  pass->y);
    end = s.states + count * size;
  }
  take_states(pass, slice, end, pass->f, pass->g);
}

/* Gradients of one step of a cell, as seen from the outside. */
typedef struct cell_gradient {
  size_t width; /* padded outputs */
  float* sums;  /* (rows, gate and candidate) before their functions */
  float* state;
} cell_gradient;

/* From the gradient `d` of the state after a step to those of the sums and of
 * the state before it. Returns the gradient of the gate's sum. */
INLINE vector through_gates(const cell_gradient* to, const kept* at, size_t row,
                            size_t j, vector d) {
  const size_t place = row * to->width + j;
  const vector one = SPLAT(1.0f);
  const vector gate = load(at->gate + place);
  const vector candidate = load(at->candidate + place);
  const vector state = load(at->state + place);
  const vector keep = one - gate;
  const vector d_gate = d * (candidate - state) * (gate * keep);
  const vector d_candidate = d * gate * (one - candidate * candidate);
  float* sums = to->sums + 2 * row * to->width + j;
  store(sums, d_gate);
  store(sums + to->width, d_candidate);
  store(to->state + place, d * keep);
  return d_gate;
}

/* g' = feedback(relu(y), g): from the gradient of g' to that of g. */
NOINLINE void backward_feedback(const cell_gradient* to, const kept* at,
                                size_t rows, float* gate_bias) {
  for (size_t i = 0; i < to->width; i += LANES) {
    vector sum = load(gate_bias + i);
    for (size_t r = 0; r < rows; ++r) {
      sum += through_gates(to, at, r, i, load(to->state + r * to->width + i));
    }
    store(gate_bias + i, sum);
  }
}

/* y = f' + offset, f' = feedforward(e, f): from the gradients of y, of relu(y)
 * and of f' to that of f. */
NOINLINE void backward_feedforward(const duspar_pass* pass,
                                   const cell_gradient* to, const kept* at,
                                   size_t rows, const float* y, const float* dy,
                                   const float* d_positive,
                                   const duspar_slice_gradients* sums) {
  const size_t units = pass->units;
  for (size_t j = 0; j < to->width; j += LANES) {
    vector gate_bias = load(sums->gate_bias[0] + j);
    vector offset_sum = load(sums->offset[0] + j);
    for (size_t r = 0; r < rows; ++r) {
      const size_t place = r * to->width + j;
      vector d = SPLAT(0.0f);
      if (dy != NULL) {
        d = load_part(dy + r * pass->steps * units + j, units - j);
      }
      if (pass->dual) {
        d += where(IS_POSITIVE_OR_NAN(load(y + place)),
                   load(d_positive + place));
      }
      offset_sum += d;
      gate_bias += through_gates(to, at, r, j, d + load(to->state + place));
    }
    store(sums->gate_bias[0] + j, gate_bias);
    store(sums->offset[0] + j, offset_sum);
  }
}

/* relu(y) at one step, from the state after it. */
NOINLINE void put_output(const duspar_pass* pass, size_t rows,
                         const float* after, const operand* to) {
  for (size_t j = 0; j < to->stride; j += LANES) {
    const vector offset = load(pass->cells[0].offset + j);
    for (size_t at = j; at < rows * to->stride; at += to->stride) {
      store(to->rows + at, rectified(load(after + at) + offset));
    }
  }
}

/* e = x - (g + offset): from the gradient of relu(e) to those of x and g. */
NOINLINE void backward_input(const duspar_pass* pass, size_t rows,
                             const float* e, const float* d_positive, float* dx,
                             float* dg, float* offset_sums) {
  const size_t np = pass->padded_features, n = pass->features;
  for (size_t i = 0; i < np; i += LANES) {
    vector sum = load(offset_sums + i);
    for (size_t r = 0; r < rows; ++r) {
      const size_t place = r * np + i;
      const vector d =
          where(IS_POSITIVE_OR_NAN(load(e + place)), load(d_positive + place));
      if (dx != NULL) store_part(dx + r * pass->steps * n + i, d, n - i);
      if (!pass->dual) continue;
      store(dg + place, load(dg + place) - d);
      sum -= d;
    }
    store(offset_sums + i, sum);
  }
}

/* From the gradients `d_sums` of the sums of a cell's products to those of its
 * kernels, which are added to, and of its operand, if `d_operand` is not NULL.
 * Where the operand is zero, its gradient may be anything. */
static void backward_products(const duspar_packed_cell* cell, size_t rows,
                              const operand* from, const nonzeros* columns,
                              const float* d_sums, float* d_kernels,
                              float* d_operand) {
  const gradient_of to = {
      .width = 2 * padded(cell->outputs),
      .matrix = cell->rows,
      .d_sums = d_sums,
      .d_matrix = d_kernels,
      .d_operand = d_operand,
      .stride = from->stride,
  };
  list_columns(rows, from->stride, from->rows, columns);
  listed_gradients(cell->inputs, columns, &to);
}

/* Goes back over `count` steps from `start` on, whose records are filled. */
static void backward_chunk(const duspar_pass* pass, const duspar_slice* slice,
                           const scratch* s, size_t start, size_t count,
                           float* gates) {
  const size_t rows = slice->rows, steps = pass->steps;
  const size_t n = pass->features, m = pass->units;
  const size_t size = duspar_states_size(pass, rows);
  const duspar_packed_cell* cells = pass->cells;
  const operand *e = &s->forward.e, *y = &s->forward.y;
  const backward_scratch* b = &s->backward;
  const duspar_slice_gradients* sums = &slice->gradients;
  float *df = b->d_states, *dg = df + rows * pass->padded_units;
  for (size_t t = count; t-- > 0;) {
    float *states = s->states + t * size, *at = gates + t * 2 * size;
    const kept f = kept_of(pass, rows, states, at, 0);
    const kept g = kept_of(pass, rows, states, at, 1);
    const size_t first = slice->first * steps + start + t;
    if (pass->dual) {
      const cell_gradient feedback = {pass->padded_features, b->db, dg};
      backward_feedback(&feedback, &g, rows, sums->gate_bias[1]);
      put_output(pass, rows, f.state + size, y);
      backward_products(&cells[1], rows, y, &b->columns, b->db,
                        sums->kernels[1], b->to_f);
    }
    const cell_gradient feedforward = {pass->padded_units, b->da, df};
    backward_feedforward(pass, &feedforward, &f, rows, y->rows,
                         pass->dy == NULL ? NULL : pass->dy + first * m,
                         b->to_f, sums);
    put_input(pass, rows, pass->x + first * n, g.state, e, false);
    const bool needed = pass->dual || pass->dx != NULL;
    backward_products(&cells[0], rows, e, &b->columns, b->da, sums->kernels[0],
                      needed ? b->to_e : NULL);
    if (!needed) continue;
    backward_input(pass, rows, e->rows, b->to_e,
                   pass->dx == NULL ? NULL : pass->dx + first * n, dg,
                   sums->offset[1]);
  }
}

static void backward_slice(const duspar_pass* pass, const duspar_slice* slice) {
  const size_t rows = slice->rows, chunk = pass->chunk;
  const size_t size = duspar_states_size(pass, rows);
  arena memory = {slice->scratch, 0};
  const scratch s = lay_out(pass, rows, true, &memory);
  put_states(pass, slice, pass->df, pass->dg, s.backward.d_states);
  for (size_t i = (pass->steps + chunk - 1) / chunk; i-- > 0;) {
    const size_t start = i * chunk, left = pass->steps - start;
    const size_t count = left < chunk ? left : chunk;
    float* gates = s.gates;
    memcpy(s.states, slice->reserve + i * size, size * sizeof *gates);
    if (slice->gates != NULL) {
      gates = slice->gates + start * 2 * size;
      replay_chunk(pass, rows, count, s.states, gates);
    } else {
      forward_chunk(pass, slice, &s.forward, start, count, s.states, gates,
                    NULL);
    }
    backward_chunk(pass, slice, &s, start, count, gates);
  }
  take_states(pass, slice, s.backward.d_states, pass->df0, pass->dg0);
}

#define TRAINER(name) \
  {name, LANES, usable, scratch_size, pack, forward_slice, backward_slice}

#endif /* DUSPAR_TRAINING_BACKWARD_TEMPLATE_H_ */
