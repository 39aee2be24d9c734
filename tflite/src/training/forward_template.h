/* Template: the forward pass over one slice of the batch, with the vectors of
 * simd/functions_template.h, which was included before; see pass.h. Defines
 * train_pack and train_forward_slice.
 */
#include "training/pass.h"
#include "training/scratch_template.h"

/* ---- Packing ------------------------------------------------------------ */

/* Panels are a vector of gate columns and the same of the candidate; rows are
 * a whole row of the gate, then of the candidate. */
static void train_pack(const duspar_packed_cell* cell, const float* gate,
                       const float* candidate, bool backward) {
  const size_t inputs = cell->inputs, outputs = cell->outputs;
  const size_t width = duspar_round_up(outputs, VF_LANES);
  for (size_t j = 0; j < width; j += VF_LANES) {
    const size_t left = outputs - j;
    for (size_t k = 0; k < inputs; ++k) {
      const vf g = vf_load_rest(gate + k * outputs + j, left);
      const vf c = vf_load_rest(candidate + k * outputs + j, left);
      float* panel = cell->panels + 2 * (j * inputs + k * VF_LANES);
      vf_store(panel, g);
      vf_store(panel + VF_LANES, c);
      if (!backward) continue;
      float* row = cell->rows + 2 * k * width + j;
      vf_store(row, g);
      vf_store(row + width, c);
    }
  }
}

/* ---- One time step, forward --------------------------------------------- */

/* What is known of one step of a cell. */
typedef struct train_kept {
  float *state, *gate, *candidate; /* the state before the step */
} train_kept;

/* Of the states and gates of both cells, those of one. */
static train_kept train_kept_of(const duspar_pass* pass, size_t rows,
                                float* states, float* gates, int cell) {
  const size_t first = rows * pass->padded_units;
  const size_t size = cell == 0 ? first : rows * pass->padded_features;
  float* start = cell == 0 ? gates : gates + 2 * first;
  return (train_kept){cell == 0 ? states : states + first, start, start + size};
}

typedef struct train_cell_step {
  const duspar_packed_cell* cell;
  size_t width; /* padded outputs */
  const train_operand* from;
  train_kept at;
  float* after; /* the state after the step */
  float* y;     /* receives state + offset, if not NULL */
  size_t y_stride;
  const train_operand* positive; /* receives relu(y), if not NULL */
  uint64_t* nonzeros;            /* of the operand, are added, if not NULL */
} train_cell_step;

typedef float train_tile_sums[VF_TILE_ROWS][2][VF_LANES];

/* Sums of a tile of the product, with all numbers of the operand. `rows` is a
 * constant once this is inlined. */
DUSPAR_INLINE void train_dense_tile(const int rows, const train_cell_step* s,
                                    size_t first, const float* panel,
                                    train_tile_sums sums) {
  const size_t stride = s->from->stride;
  const float* a = s->from->rows + first * stride;
  vf tile[VF_TILE_ROWS][2];
  DUSPAR_UNROLL for (int r = 0; r < rows; ++r) {
    tile[r][0] = tile[r][1] = vf_set(0.0f);
  }
  for (size_t k = 0; k < s->cell->inputs; ++k, panel += 2 * VF_LANES) {
    const vf left = vf_load(panel), right = vf_load(panel + VF_LANES);
    DUSPAR_UNROLL for (int r = 0; r < rows; ++r) {
      const vf x = vf_set(a[(size_t)r * stride + k]);
      tile[r][0] = vf_fma(x, left, tile[r][0]);
      tile[r][1] = vf_fma(x, right, tile[r][1]);
    }
  }
  DUSPAR_UNROLL for (int r = 0; r < rows; ++r) {
    vf_store(sums[r][0], tile[r][0]);
    vf_store(sums[r][1], tile[r][1]);
  }
}

/* Functions of their own: in one, registers would not do for all of them. */
DUSPAR_NOINLINE void train_dense_sums(size_t rows, const train_cell_step* s,
                                      size_t first, const float* panel,
                                      train_tile_sums sums) {
  if (rows == VF_TILE_ROWS) {
    train_dense_tile(VF_TILE_ROWS, s, first, panel, sums);
  } else if (rows == 4) {
    train_dense_tile(4, s, first, panel, sums);
  } else if (rows == 2) {
    train_dense_tile(2, s, first, panel, sums);
  } else {
    train_dense_tile(1, s, first, panel, sums);
  }
}

DUSPAR_INLINE void train_sparse_tile(const int panels, size_t rows,
                                     const train_cell_step* s, size_t first,
                                     const float* panel,
                                     train_tile_sums* sums) {
  for (size_t r = 0; r < rows; ++r) {
    vf tile[2][2];
    train_combine(panels, panels == 2 ? 2 : TRAIN_TOGETHER, &s->from->lists,
                  first + r, panel, 2 * VF_LANES * s->cell->inputs, tile);
    DUSPAR_UNROLL for (int p = 0; p < panels; ++p) {
      vf_store(sums[p][r][0], tile[p][0]);
      vf_store(sums[p][r][1], tile[p][1]);
    }
  }
}

/* The same without zeros, for one panel or two. */
DUSPAR_NOINLINE void train_sparse_sums(size_t panels, size_t rows,
                                       const train_cell_step* s, size_t first,
                                       const float* panel,
                                       train_tile_sums* sums) {
  if (panels == 2) {
    train_sparse_tile(2, rows, s, first, panel, sums);
  } else {
    train_sparse_tile(1, rows, s, first, panel, sums);
  }
}

/* From the sums of a tile to states and outputs. */
DUSPAR_NOINLINE void train_finish_tile(size_t rows, const train_cell_step* s,
                                       size_t first, size_t j,
                                       const train_tile_sums sums) {
  const duspar_packed_cell* cell = s->cell;
  const vf bias = vf_load(cell->gate_bias + j);
  const vf offset = vf_load(cell->offset + j);
  for (size_t r = 0; r < rows; ++r) {
    const size_t row = first + r, at = row * s->width + j;
    vf gate, candidate;
    vf_gates(vf_add(vf_load(sums[r][0]), bias), vf_load(sums[r][1]), &gate,
             &candidate);
    const vf before = vf_load(s->at.state + at);
    const vf after = vf_blend(gate, candidate, before);
    vf_store(s->at.gate + at, gate);
    vf_store(s->at.candidate + at, candidate);
    vf_store(s->after + at, after);
    const vf y = vf_add(after, offset);
    if (s->y != NULL) {
      vf_store_rest(s->y + row * s->y_stride + j, y, cell->outputs - j);
    }
    if (s->positive == NULL) continue;
    vf_store(s->positive->rows + at, vf_rectify(y));
    train_append(&s->positive->lists, row, j, vf_rectify(y));
  }
}

DUSPAR_NOINLINE void train_step_cell(const train_cell_step* s, size_t rows) {
  const size_t inputs = s->cell->inputs;
  const size_t listed = train_end_lists(&s->from->lists, rows);
  const bool skips = train_is_sparse(listed, rows * inputs);
  if (s->nonzeros != NULL) *s->nonzeros += listed;
  if (s->positive != NULL) train_clear_lists(&s->positive->lists, rows);
  size_t panels;
  for (size_t j = 0; j < s->width; j += panels * VF_LANES) {
    const float* panel = s->cell->panels + j * 2 * inputs;
    panels = skips && s->width - j > VF_LANES ? 2 : 1;
    for (size_t first = 0, count; first < rows; first += count) {
      train_tile_sums sums[2];
      count = train_next_rows(rows - first);
      if (skips) {
        train_sparse_sums(panels, count, s, first, panel, sums);
      } else {
        train_dense_sums(count, s, first, panel, sums[0]);
      }
      for (size_t p = 0; p < panels; ++p) {
        train_finish_tile(count, s, first, j + p * VF_LANES, sums[p]);
      }
    }
  }
}

/* ---- Forward over a chunk of steps -------------------------------------- */

/* e = x - (g + offset), or x alone, of one row and step, from entry `i` on. */
DUSPAR_INLINE vf train_input(const duspar_pass* pass, const float* x,
                             const float* g, size_t i) {
  const vf e = vf_load_rest(x + i, pass->features - i);
  if (!pass->dual) return e;
  return vf_sub(e, vf_add(vf_load(g + i), vf_load(pass->cells[1].offset + i)));
}

/* The same of all rows; rectified. */
DUSPAR_NOINLINE void train_put_input(const duspar_pass* pass, size_t rows,
                                     const float* x, const float* g,
                                     const train_operand* to, bool lists) {
  const size_t n = pass->features, np = pass->padded_features;
  if (lists) train_clear_lists(&to->lists, rows);
  for (size_t r = 0; r < rows; ++r, x += pass->steps * n) {
    for (size_t i = 0; i < np; i += VF_LANES) {
      const vf e = vf_rectify(train_input(pass, x, g + r * np, i));
      vf_store(to->rows + r * np + i, e);
      if (lists) train_append(&to->lists, r, i, e);
    }
  }
}

/* Runs `count` steps from the first of the states; sets the gates of each step
 * and the states after it. */
static void train_forward_chunk(const duspar_pass* pass,
                                const duspar_slice* slice,
                                const train_forward_scratch* scratch,
                                size_t start, size_t count, float* states,
                                float* gates, float* y) {
  const size_t rows = slice->rows, steps = pass->steps;
  const size_t size = duspar_states_size(pass, rows);
  for (size_t t = 0; t < count; ++t, states += size, gates += 2 * size) {
    const size_t at = slice->first * steps + start + t;
    const train_kept f = train_kept_of(pass, rows, states, gates, 0);
    const train_kept g = train_kept_of(pass, rows, states, gates, 1);
    train_put_input(pass, rows, pass->x + at * pass->features, g.state,
                    &scratch->e, true);
    const train_cell_step feedforward = {
        .cell = &pass->cells[0],
        .width = pass->padded_units,
        .from = &scratch->e,
        .at = f,
        .after = f.state + size,
        .y = y == NULL ? NULL : y + at * pass->units,
        .y_stride = steps * pass->units,
        .positive = pass->dual ? &scratch->y : NULL,
        .nonzeros = slice->nonzeros,
    };
    train_step_cell(&feedforward, rows);
    if (!pass->dual) continue;
    const train_cell_step feedback = {
        .cell = &pass->cells[1],
        .width = pass->padded_features,
        .from = &scratch->y,
        .at = g,
        .after = g.state + size,
        .nonzeros = slice->nonzeros == NULL ? NULL : slice->nonzeros + 1,
    };
    train_step_cell(&feedback, rows);
  }
}

/* The states of a chunk from its first ones and its gates. */
DUSPAR_NOINLINE void train_replay_chunk(const duspar_pass* pass, size_t rows,
                                        size_t count, float* states,
                                        float* gates) {
  const size_t size = duspar_states_size(pass, rows);
  const size_t f = rows * pass->padded_units;
  for (size_t t = 0; t < count; ++t, states += size, gates += 2 * size) {
    for (int cell = 0; cell < (pass->dual ? 2 : 1); ++cell) {
      const train_kept at = train_kept_of(pass, rows, states, gates, cell);
      for (size_t i = 0; i < (cell == 0 ? f : size - f); i += VF_LANES) {
        vf_store(at.state + size + i,
                 vf_blend(vf_load(at.gate + i), vf_load(at.candidate + i),
                          vf_load(at.state + i)));
      }
    }
  }
}

/* Copies rows of `width` numbers; where the target is the padded one, its
 * padding becomes zero. */
static void train_copy_rows(size_t rows, size_t width, const float* from,
                            size_t from_stride, float* to, size_t to_stride) {
  for (size_t r = 0; r < rows; ++r) {
    float* row = to + r * to_stride;
    memcpy(row, from + r * from_stride, width * sizeof *row);
    if (to_stride > from_stride) {
      memset(row + width, 0, (to_stride - width) * sizeof *row);
    }
  }
}

/* Sets the states of a slice, or what lies like them, from (batch, width)
 * arrays; NULL stands for zeros. */
static void train_put_states(const duspar_pass* pass, const duspar_slice* slice,
                             const float* f, const float* g, float* to) {
  const float* from[2] = {f, g};
  const size_t width[2] = {pass->units, pass->features};
  const size_t wide[2] = {pass->padded_units, pass->padded_features};
  for (int i = 0; i < (pass->dual ? 2 : 1); ++i) {
    if (from[i] == NULL) {
      memset(to, 0, slice->rows * wide[i] * sizeof *to);
    } else {
      train_copy_rows(slice->rows, width[i], from[i] + slice->first * width[i],
                      width[i], to, wide[i]);
    }
    to += slice->rows * wide[i];
  }
}

/* The other way, to (batch, width) arrays; NULL is left alone. */
static void train_take_states(const duspar_pass* pass,
                              const duspar_slice* slice, const float* from,
                              float* f, float* g) {
  const size_t units = pass->units, features = pass->features;
  if (f != NULL) {
    train_copy_rows(slice->rows, units, from, pass->padded_units,
                    f + slice->first * units, units);
  }
  if (g != NULL && pass->dual) {
    train_copy_rows(
        slice->rows, features, from + slice->rows * pass->padded_units,
        pass->padded_features, g + slice->first * features, features);
  }
}

/* ---- The whole pass ------------------------------------------------------ */

static void train_forward_slice(const duspar_pass* pass,
                                const duspar_slice* slice) {
  const size_t rows = slice->rows, size = duspar_states_size(pass, rows);
  duspar_arena memory = {slice->scratch, 0};
  const train_scratch s = train_lay_out(pass, rows, false, &memory);
  float *gates = s.gates, *end = s.states;
  train_put_states(pass, slice, pass->f0, pass->g0, s.states);
  for (size_t start = 0; start < pass->steps; start += pass->chunk) {
    const size_t left = pass->steps - start;
    const size_t count = left < pass->chunk ? left : pass->chunk;
    if (start > 0) memcpy(s.states, end, size * sizeof *end);
    if (slice->reserve != NULL) {
      memcpy(slice->reserve + start / pass->chunk * size, s.states,
             size * sizeof *end);
    }
    if (slice->gates != NULL) gates = slice->gates + start * 2 * size;
    train_forward_chunk(pass, slice, &s.forward, start, count, s.states, gates,
                        pass->y);
    end = s.states + count * size;
  }
  train_take_states(pass, slice, end, pass->f, pass->g);
}
