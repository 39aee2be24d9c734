/* Template: the backward pass over one slice of the batch, with what the
 * forward pass is made of. Defines `train_trainer`.
 */
#include "training/forward_template.h"

/* Gradients of one step of a cell, as seen from the outside. */
typedef struct train_cell_gradient {
  size_t width; /* padded outputs */
  float* sums;  /* (rows, gate and candidate) before their functions */
  float* state;
} train_cell_gradient;

/* From the gradient `d` of the state after a step to those of the sums and of
 * the state before it. Returns the gradient of the gate's sum. */
DUSPAR_INLINE vf train_through_gates(const train_cell_gradient* to,
                                     const train_kept* at, size_t row, size_t j,
                                     vf d) {
  const size_t place = row * to->width + j;
  const vf one = vf_set(1.0f);
  const vf gate = vf_load(at->gate + place);
  const vf candidate = vf_load(at->candidate + place);
  const vf state = vf_load(at->state + place);
  const vf keep = vf_sub(one, gate);
  const vf d_gate =
      vf_mul(vf_mul(d, vf_sub(candidate, state)), vf_mul(gate, keep));
  const vf d_candidate =
      vf_mul(vf_mul(d, gate), vf_fnma(candidate, candidate, one));
  float* sums = to->sums + 2 * row * to->width + j;
  vf_store(sums, d_gate);
  vf_store(sums + to->width, d_candidate);
  vf_store(to->state + place, vf_mul(d, keep));
  return d_gate;
}

/* What a meter adds to the gradient of an entry that is `before` it is
 * rectified: charge * derivative of the sigmoid, of an exponential that is at
 * most 1. */
DUSPAR_INLINE vf train_charge(vf before, vf inverse_width, vf charge) {
  const vf x = vf_mul(vf_magnitude(before), inverse_width);
  vf p, s;
  vf_split_exp(vf_sub(vf_set(0.0f), vf_atmost(vf_set(80.0f), x)), &p, &s);
  const vf power = vf_fma(s, p, s), sum = vf_add(power, vf_set(1.0f));
  return vf_div(vf_mul(charge, power), vf_mul(sum, sum));
}

/* g' = feedback(relu(y), g): from the gradient of g' to that of g. */
DUSPAR_NOINLINE void train_backward_feedback(const train_cell_gradient* to,
                                             const train_kept* at, size_t rows,
                                             float* gate_bias) {
  for (size_t i = 0; i < to->width; i += VF_LANES) {
    vf sum = vf_load(gate_bias + i);
    for (size_t r = 0; r < rows; ++r) {
      sum = vf_add(sum,
                   train_through_gates(to, at, r, i,
                                       vf_load(to->state + r * to->width + i)));
    }
    vf_store(gate_bias + i, sum);
  }
}

/* y = f' + offset, f' = feedforward(e, f): from the gradients of y, of relu(y)
 * and of f' to that of f. */
DUSPAR_NOINLINE void train_backward_feedforward(
    const duspar_pass* pass, const train_cell_gradient* to,
    const train_kept* at, size_t rows, const float* y, const float* after,
    const float* dy, const float* d_positive,
    const duspar_slice_gradients* sums) {
  const size_t units = pass->units;
  const float* charges = pass->dual ? pass->charges[1] : NULL;
  const vf inverse_width = vf_set(pass->inverse_width);
  for (size_t j = 0; j < to->width; j += VF_LANES) {
    vf gate_bias = vf_load(sums->gate_bias[0] + j);
    vf offset_sum = vf_load(sums->offset[0] + j);
    for (size_t r = 0; r < rows; ++r) {
      const size_t place = r * to->width + j;
      vf d = vf_set(0.0f);
      if (dy != NULL) {
        d = vf_load_rest(dy + r * pass->steps * units + j, units - j);
      }
      if (pass->dual) {
        d = vf_add(
            d, vf_if_positive(vf_load(y + place), vf_load(d_positive + place)));
      }
      if (charges != NULL) {
        const vf before =
            vf_add(vf_load(after + place), vf_load(pass->cells[0].offset + j));
        d = vf_add(d,
                   train_charge(before, inverse_width, vf_load(charges + j)));
      }
      offset_sum = vf_add(offset_sum, d);
      gate_bias = vf_add(
          gate_bias, train_through_gates(
                         to, at, r, j, vf_add(d, vf_load(to->state + place))));
    }
    vf_store(sums->gate_bias[0] + j, gate_bias);
    vf_store(sums->offset[0] + j, offset_sum);
  }
}

/* relu(y) at one step, from the state after it. */
DUSPAR_NOINLINE void train_put_output(const duspar_pass* pass, size_t rows,
                                      const float* after,
                                      const train_operand* to) {
  for (size_t j = 0; j < to->stride; j += VF_LANES) {
    const vf offset = vf_load(pass->cells[0].offset + j);
    for (size_t at = j; at < rows * to->stride; at += to->stride) {
      vf_store(to->rows + at, vf_rectify(vf_add(vf_load(after + at), offset)));
    }
  }
}

/* e = x - (g + offset): from the gradient of relu(e) to those of x and g. */
DUSPAR_NOINLINE void train_backward_input(const duspar_pass* pass, size_t rows,
                                          const float* x, const float* g,
                                          const float* e,
                                          const float* d_positive, float* dx,
                                          float* dg, float* offset_sums) {
  const size_t np = pass->padded_features, n = pass->features;
  const float* charges = pass->charges[0];
  const vf inverse_width = vf_set(pass->inverse_width);
  for (size_t i = 0; i < np; i += VF_LANES) {
    vf sum = vf_load(offset_sums + i);
    for (size_t r = 0; r < rows; ++r) {
      const size_t place = r * np + i;
      vf d = vf_if_positive(vf_load(e + place), vf_load(d_positive + place));
      if (charges != NULL) {
        const vf before =
            train_input(pass, x + r * pass->steps * n, g + r * np, i);
        d = vf_add(d,
                   train_charge(before, inverse_width, vf_load(charges + i)));
      }
      if (dx != NULL) vf_store_rest(dx + r * pass->steps * n + i, d, n - i);
      if (!pass->dual) continue;
      vf_store(dg + place, vf_sub(vf_load(dg + place), d));
      sum = vf_sub(sum, d);
    }
    vf_store(offset_sums + i, sum);
  }
}

/* From the gradients `d_sums` of the sums of a cell's products to those of its
 * kernels, which are added to, and of its operand, if `d_operand` is not NULL.
 * Where the operand is zero, its gradient may be anything. */
static void train_backward_products(const duspar_packed_cell* cell, size_t rows,
                                    const train_operand* from,
                                    const train_lists* columns,
                                    const float* d_sums, float* d_kernels,
                                    float* d_operand) {
  const train_gradient_of to = {
      .width = 2 * duspar_round_up(cell->outputs, VF_LANES),
      .matrix = cell->rows,
      .d_sums = d_sums,
      .d_matrix = d_kernels,
      .d_operand = d_operand,
      .stride = from->stride,
  };
  train_list_columns(rows, from->stride, from->rows, columns);
  train_listed_gradients(cell->inputs, columns, &to);
}

/* Goes back over `count` steps from `start` on, whose records are filled. */
static void train_backward_chunk(const duspar_pass* pass,
                                 const duspar_slice* slice,
                                 const train_scratch* s, size_t start,
                                 size_t count, float* gates) {
  const size_t rows = slice->rows, steps = pass->steps;
  const size_t n = pass->features, m = pass->units;
  const size_t size = duspar_states_size(pass, rows);
  const duspar_packed_cell* cells = pass->cells;
  const train_operand *e = &s->forward.e, *y = &s->forward.y;
  const train_backward_scratch* b = &s->backward;
  const duspar_slice_gradients* sums = &slice->gradients;
  float *df = b->d_states, *dg = df + rows * pass->padded_units;
  for (size_t t = count; t-- > 0;) {
    float *states = s->states + t * size, *at = gates + t * 2 * size;
    const train_kept f = train_kept_of(pass, rows, states, at, 0);
    const train_kept g = train_kept_of(pass, rows, states, at, 1);
    const size_t first = slice->first * steps + start + t;
    if (pass->dual) {
      const train_cell_gradient feedback = {pass->padded_features, b->db, dg};
      train_backward_feedback(&feedback, &g, rows, sums->gate_bias[1]);
      train_put_output(pass, rows, f.state + size, y);
      train_backward_products(&cells[1], rows, y, &b->columns, b->db,
                              sums->kernels[1], b->to_f);
    }
    const train_cell_gradient feedforward = {pass->padded_units, b->da, df};
    train_backward_feedforward(
        pass, &feedforward, &f, rows, y->rows, f.state + size,
        pass->dy == NULL ? NULL : pass->dy + first * m, b->to_f, sums);
    const float* x = pass->x + first * n;
    train_put_input(pass, rows, x, g.state, e, false);
    const bool needed = pass->dual || pass->dx != NULL;
    train_backward_products(&cells[0], rows, e, &b->columns, b->da,
                            sums->kernels[0], needed ? b->to_e : NULL);
    if (!needed) continue;
    train_backward_input(pass, rows, x, g.state, e->rows, b->to_e,
                         pass->dx == NULL ? NULL : pass->dx + first * n, dg,
                         sums->offset[1]);
  }
}

static void train_backward_slice(const duspar_pass* pass,
                                 const duspar_slice* slice) {
  const size_t rows = slice->rows, chunk = pass->chunk;
  const size_t size = duspar_states_size(pass, rows);
  duspar_arena memory = {slice->scratch, 0};
  const train_scratch s = train_lay_out(pass, rows, true, &memory);
  train_put_states(pass, slice, pass->df, pass->dg, s.backward.d_states);
  for (size_t i = (pass->steps + chunk - 1) / chunk; i-- > 0;) {
    const size_t start = i * chunk, left = pass->steps - start;
    const size_t count = left < chunk ? left : chunk;
    float* gates = s.gates;
    memcpy(s.states, slice->reserve + i * size, size * sizeof *gates);
    if (slice->gates != NULL) {
      gates = slice->gates + start * 2 * size;
      train_replay_chunk(pass, rows, count, s.states, gates);
    } else {
      train_forward_chunk(pass, slice, &s.forward, start, count, s.states,
                          gates, NULL);
    }
    train_backward_chunk(pass, slice, &s, start, count, gates);
  }
  train_take_states(pass, slice, s.backward.d_states, pass->df0, pass->dg0);
}

static const duspar_trainer train_trainer = {
    .lanes = VF_LANES,
    .scratch = train_scratch_size,
    .pack = train_pack,
    .forward = train_forward_slice,
    .backward = train_backward_slice,
};
