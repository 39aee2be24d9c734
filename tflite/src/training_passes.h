/* Template: the second half of `training_slice.h`, the whole passes. */
#ifndef DUSPAR_TRAINING_PASSES_H_
#define DUSPAR_TRAINING_PASSES_H_

#include "training_slice.h"

static void forward_slice(const duspar_pass* pass, const duspar_slice* slice) {
  const size_t rows = slice->rows;
  arena memory = {slice->scratch, 0};
  const scratch s = lay_out(pass, rows, false, &memory);
  float* records = pass->recomputes ? s.records : slice->reserve;
  float* end = records;
  put_states(pass, slice, pass->f0, pass->g0, records,
             kept_of(pass, rows, records, 1).state);
  for (size_t start = 0; start < pass->steps; start += pass->chunk) {
    const size_t left = pass->steps - start;
    const size_t count = left < pass->chunk ? left : pass->chunk;
    if (start > 0) move_states(pass, rows, end, records);
    if (pass->recomputes && slice->reserve != NULL) {
      keep_states(pass, slice, start / pass->chunk, records, false);
    }
    forward_chunk(pass, slice, &s.forward, start, count, records, pass->y);
    end = records + count * duspar_record_size(pass, rows);
  }
  take_states(pass, slice, end, kept_of(pass, rows, end, 1).state, pass->f,
              pass->g);
}

/* Gradients of one step of a cell, as seen from the outside. */
typedef struct cell_gradient {
  size_t width; /* padded outputs */
  size_t room;  /* rows of a panel */
  size_t row;   /* of the panels, for the slice's first row */
  float* sums;  /* (rows, gate and candidate) before their functions */
  float* panels;
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
  float* panel = to->panels + 2 * j * to->room + 2 * (to->row + row) * LANES;
  store(panel, d_gate);
  store(panel + LANES, d_candidate);
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
 * and of f' to that of f. Also computes relu(y) again. */
NOINLINE void backward_feedforward(const duspar_pass* pass,
                                   const cell_gradient* to, const kept* at,
                                   size_t rows, const float* after,
                                   const float* dy, const float* d_positive,
                                   float* y_panels,
                                   const duspar_slice_gradients* sums) {
  const size_t units = pass->units;
  for (size_t j = 0; j < to->width; j += LANES) {
    const vector offset = load(pass->cells[0].offset + j);
    vector gate_bias = load(sums->gate_bias[0] + j);
    vector offset_sum = load(sums->offset[0] + j);
    for (size_t r = 0; r < rows; ++r) {
      const size_t place = r * to->width + j;
      vector d = SPLAT(0.0f);
      if (dy != NULL) {
        d = load_part(dy + r * pass->steps * units + j, units - j);
      }
      if (pass->dual) {
        const vector y = load(after + place) + offset;
        d += where(IS_POSITIVE_OR_NAN(y), load(d_positive + place));
        store(y_panels + j * to->room + (to->row + r) * LANES, rectified(y));
      }
      offset_sum += d;
      gate_bias += through_gates(to, at, r, j, d + load(to->state + place));
    }
    store(sums->gate_bias[0] + j, gate_bias);
    store(sums->offset[0] + j, offset_sum);
  }
}

/* e = x - (g + offset): from the gradient of relu(e) to those of x and g. Also
 * computes relu(e) again. */
NOINLINE void backward_input(const duspar_pass* pass, size_t rows,
                             const float* x, const float* g,
                             const float* d_positive, size_t room, size_t row,
                             float* e_panels, float* dx, float* dg,
                             float* offset_sums) {
  const size_t np = pass->padded_features, n = pass->features;
  for (size_t i = 0; i < np; i += LANES) {
    const vector offset = load(pass->cells[1].offset + i);
    vector sum = load(offset_sums + i);
    for (size_t r = 0; r < rows; ++r) {
      const size_t place = r * np + i, given = r * pass->steps * n + i;
      vector e = load_part(x + given, n - i);
      if (pass->dual) e -= load(g + place) + offset;
      store(e_panels + i * room + (row + r) * LANES, rectified(e));
      if (d_positive == NULL) continue;
      const vector d = where(IS_POSITIVE_OR_NAN(e), load(d_positive + place));
      if (dx != NULL) store_part(dx + given, d, n - i);
      if (pass->dual) {
        store(dg + place, load(dg + place) - d);
        sum -= d;
      }
    }
    store(offset_sums + i, sum);
  }
}

/* Adds the weight gradients of the `inner` rows in the panels. */
static void add_kernels(const duspar_pass* pass, const backward_scratch* b,
                        size_t inner, size_t room,
                        const duspar_slice_gradients* sums) {
  const size_t np = pass->padded_features, mp = pass->padded_units;
  accumulate_outer(np, mp / LANES, inner, room, b->e_panels, b->da_panels,
                   sums->kernels[0]);
  if (!pass->dual) return;
  accumulate_outer(mp, np / LANES, inner, room, b->y_panels, b->db_panels,
                   sums->kernels[1]);
}

/* Goes back over `count` steps from `start` on, whose records are filled. */
static void backward_chunk(const duspar_pass* pass, const duspar_slice* slice,
                           const backward_scratch* b, size_t start,
                           size_t count, float* records) {
  const size_t rows = slice->rows, steps = pass->steps;
  const size_t n = pass->features, m = pass->units;
  const size_t np = pass->padded_features, mp = pass->padded_units;
  const size_t record = duspar_record_size(pass, rows);
  const size_t room = pass->block * rows;
  size_t filled = 0;
  for (size_t t = count; t-- > 0;) {
    const kept f = kept_of(pass, rows, records + t * record, 0);
    const kept g = kept_of(pass, rows, records + t * record, 1);
    const size_t first = slice->first * steps + start + t;
    if (pass->dual) {
      const cell_gradient feedback = {np,    room,         filled,
                                      b->db, b->db_panels, b->dg};
      backward_feedback(&feedback, &g, rows, slice->gradients.gate_bias[1]);
      product(rows, mp, b->db, 2 * np, np, n, pass->cells[1].backward, b->to_f);
    }
    const cell_gradient feedforward = {mp,    room,         filled,
                                       b->da, b->da_panels, b->df};
    backward_feedforward(pass, &feedforward, &f, rows,
                         records + (t + 1) * record,
                         pass->dy == NULL ? NULL : pass->dy + first * m,
                         b->to_f, b->y_panels, &slice->gradients);
    const bool needed = pass->dual || pass->dx != NULL;
    if (needed) {
      product(rows, np, b->da, 2 * mp, mp, m, pass->cells[0].backward, b->to_e);
    }
    backward_input(pass, rows, pass->x + first * n, g.state,
                   needed ? b->to_e : NULL, room, filled, b->e_panels,
                   pass->dx == NULL ? NULL : pass->dx + first * n, b->dg,
                   slice->gradients.offset[1]);
    filled += rows;
    if (filled == room || t == 0) {
      add_kernels(pass, b, filled, room, &slice->gradients);
      filled = 0;
    }
  }
}

static void backward_slice(const duspar_pass* pass, const duspar_slice* slice) {
  const size_t rows = slice->rows, chunk = pass->chunk;
  arena memory = {slice->scratch, 0};
  const scratch s = lay_out(pass, rows, true, &memory);
  put_states(pass, slice, pass->df, pass->dg, s.backward.df, s.backward.dg);
  for (size_t i = (pass->steps + chunk - 1) / chunk; i-- > 0;) {
    const size_t start = i * chunk, left = pass->steps - start;
    const size_t count = left < chunk ? left : chunk;
    float* records = slice->reserve;
    if (pass->recomputes) {
      records = s.records;
      keep_states(pass, slice, i, records, true);
      forward_chunk(pass, slice, &s.forward, start, count, records, NULL);
    }
    backward_chunk(pass, slice, &s.backward, start, count, records);
  }
  take_states(pass, slice, s.backward.df, s.backward.dg, pass->df0, pass->dg0);
}

#define TRAINER(name) \
  {name, LANES, usable, scratch_size, pack, forward_slice, backward_slice}

#endif /* DUSPAR_TRAINING_PASSES_H_ */
