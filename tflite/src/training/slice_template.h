/* Template: the passes over one slice of the batch. See `training.h`.
 *
 * The file that includes this one sets LANES and TILE_ROWS.
 */
#ifndef DUSPAR_TRAINING_SLICE_TEMPLATE_H_
#define DUSPAR_TRAINING_SLICE_TEMPLATE_H_

#include "training/pass.h"
#include "training/products_template.h"

static size_t padded(size_t width) {
  return (width + LANES - 1) / LANES * LANES;
}

/* ---- Packing ------------------------------------------------------------ */

/* Panels are a vector of gate columns and the same of the candidate; rows are
 * a whole row of the gate, then of the candidate. */
static void pack(const duspar_packed_cell* cell, const float* gate,
                 const float* candidate, bool backward) {
  const size_t inputs = cell->inputs, outputs = cell->outputs;
  const size_t width = padded(outputs);
  for (size_t j = 0; j < width; j += LANES) {
    const size_t left = outputs - j;
    for (size_t k = 0; k < inputs; ++k) {
      const vector g = load_part(gate + k * outputs + j, left);
      const vector c = load_part(candidate + k * outputs + j, left);
      float* panel = cell->panels + 2 * (j * inputs + k * LANES);
      store(panel, g);
      store(panel + LANES, c);
      if (!backward) continue;
      float* row = cell->rows + 2 * k * width + j;
      store(row, g);
      store(row + width, c);
    }
  }
}

/* ---- One time step, forward --------------------------------------------- */

/* What is known of one step of a cell. */
typedef struct kept {
  float *state, *gate, *candidate; /* the state before the step */
} kept;

/* Of the states and gates of both cells, those of one. */
static kept kept_of(const duspar_pass* pass, size_t rows, float* states,
                    float* gates, int cell) {
  const size_t first = rows * pass->padded_units;
  const size_t size = cell == 0 ? first : rows * pass->padded_features;
  float* start = cell == 0 ? gates : gates + 2 * first;
  return (kept){cell == 0 ? states : states + first, start, start + size};
}

/* The state after a step. */
INLINE vector moved(vector state, vector gate, vector candidate) {
  return state + gate * (candidate - state);
}

/* An operand of a cell: rectified numbers, and those that are not zero. */
typedef struct operand {
  size_t stride;
  float* rows; /* (rows, stride) */
  nonzeros lists;
} operand;

typedef struct cell_step {
  const duspar_packed_cell* cell;
  size_t width; /* padded outputs */
  const operand* from;
  kept at;
  float* after; /* the state after the step */
  float* y;     /* receives state + offset, if not NULL */
  size_t y_stride;
  const operand* positive; /* receives relu(state + offset), if not NULL */
} cell_step;

typedef float tile_sums[TILE_ROWS][2][LANES];

/* Sums of a tile of the product, with all numbers of the operand. */
INLINE void dense_tile(const int rows, const cell_step* s, size_t first,
                       const float* panel, tile_sums sums) {
  const operand* from = s->from;
  vector tile[TILE_ROWS][2];
  multiply(rows, from->rows + first * from->stride, from->stride,
           s->cell->inputs, panel, tile);
  UNROLL for (int r = 0; r < rows; ++r) {
    store(sums[r][0], tile[r][0]);
    store(sums[r][1], tile[r][1]);
  }
}

/* Functions of their own: in one, registers would not do for all of them. */
NOINLINE void dense_sums(size_t rows, const cell_step* s, size_t first,
                         const float* panel, tile_sums sums){
    WITH_ROWS(rows, dense_tile, s, first, panel, sums)}

INLINE void sparse_tile(const int panels, size_t rows, const cell_step* s,
                        size_t first, const float* panel, tile_sums* sums) {
  for (size_t r = 0; r < rows; ++r) {
    vector tile[2][2];
    combine(panels, panels == 2 ? 2 : TOGETHER, &s->from->lists, first + r,
            panel, 2 * LANES * s->cell->inputs, tile);
    UNROLL for (int p = 0; p < panels; ++p) {
      store(sums[p][r][0], tile[p][0]);
      store(sums[p][r][1], tile[p][1]);
    }
  }
}

/* The same without zeros, for one panel or two. */
NOINLINE void sparse_sums(size_t panels, size_t rows, const cell_step* s,
                          size_t first, const float* panel, tile_sums* sums) {
  if (panels == 2) {
    sparse_tile(2, rows, s, first, panel, sums);
  } else {
    sparse_tile(1, rows, s, first, panel, sums);
  }
}

/* From the sums of a tile to states and outputs. */
NOINLINE void finish_tile(size_t rows, const cell_step* s, size_t first,
                          size_t j, const tile_sums sums) {
  const duspar_packed_cell* cell = s->cell;
  const vector bias = load(cell->gate_bias + j);
  const vector offset = load(cell->offset + j);
  for (size_t r = 0; r < rows; ++r) {
    const size_t row = first + r, at = row * s->width + j;
    vector gate, candidate;
    gates(load(sums[r][0]) + bias, load(sums[r][1]), &gate, &candidate);
    const vector before = load(s->at.state + at);
    const vector after = moved(before, gate, candidate);
    store(s->at.gate + at, gate);
    store(s->at.candidate + at, candidate);
    store(s->after + at, after);
    const vector y = after + offset;
    if (s->y != NULL) {
      store_part(s->y + row * s->y_stride + j, y, cell->outputs - j);
    }
    if (s->positive == NULL) continue;
    store(s->positive->rows + at, rectified(y));
    append(&s->positive->lists, row, j, rectified(y));
  }
}

NOINLINE void step_cell(const cell_step* s, size_t rows) {
  const size_t inputs = s->cell->inputs;
  const size_t listed = end_lists(&s->from->lists, rows);
  const bool skips = is_sparse(listed, rows * inputs);
  if (s->positive != NULL) clear_lists(&s->positive->lists, rows);
  size_t panels;
  for (size_t j = 0; j < s->width; j += panels * LANES) {
    const float* panel = s->cell->panels + j * 2 * inputs;
    panels = skips && s->width - j > LANES ? 2 : 1;
    for (size_t first = 0, count; first < rows; first += count) {
      tile_sums sums[2];
      count = next_rows(rows - first);
      if (skips) {
        sparse_sums(panels, count, s, first, panel, sums);
      } else {
        dense_sums(count, s, first, panel, sums[0]);
      }
      for (size_t p = 0; p < panels; ++p) {
        finish_tile(count, s, first, j + p * LANES, sums[p]);
      }
    }
  }
}

/* ---- Forward over a chunk of steps -------------------------------------- */

/* e = x - (g + offset), or x alone, at one step; rectified. */
NOINLINE void put_input(const duspar_pass* pass, size_t rows, const float* x,
                        const float* g, const operand* to, bool lists) {
  const size_t n = pass->features, np = pass->padded_features;
  if (lists) clear_lists(&to->lists, rows);
  for (size_t r = 0; r < rows; ++r, x += pass->steps * n) {
    for (size_t i = 0; i < np; i += LANES) {
      vector e = load_part(x + i, n - i);
      if (pass->dual) {
        e -= load(g + r * np + i) + load(pass->cells[1].offset + i);
      }
      store(to->rows + r * np + i, rectified(e));
      if (lists) append(&to->lists, r, i, rectified(e));
    }
  }
}

typedef struct forward_scratch {
  operand e, y; /* of one step */
} forward_scratch;

/* Runs `count` steps from the first of the states; sets the gates of each step
 * and the states after it. */
static void forward_chunk(const duspar_pass* pass, const duspar_slice* slice,
                          const forward_scratch* scratch, size_t start,
                          size_t count, float* states, float* gates, float* y) {
  const size_t rows = slice->rows, steps = pass->steps;
  const size_t size = duspar_states_size(pass, rows);
  for (size_t t = 0; t < count; ++t, states += size, gates += 2 * size) {
    const size_t at = slice->first * steps + start + t;
    const kept f = kept_of(pass, rows, states, gates, 0);
    const kept g = kept_of(pass, rows, states, gates, 1);
    put_input(pass, rows, pass->x + at * pass->features, g.state, &scratch->e,
              true);
    const cell_step feedforward = {
        .cell = &pass->cells[0],
        .width = pass->padded_units,
        .from = &scratch->e,
        .at = f,
        .after = f.state + size,
        .y = y == NULL ? NULL : y + at * pass->units,
        .y_stride = steps * pass->units,
        .positive = pass->dual ? &scratch->y : NULL,
    };
    step_cell(&feedforward, rows);
    if (!pass->dual) continue;
    const cell_step feedback = {
        .cell = &pass->cells[1],
        .width = pass->padded_features,
        .from = &scratch->y,
        .at = g,
        .after = g.state + size,
    };
    step_cell(&feedback, rows);
  }
}

/* The states of a chunk from its first ones and its gates. */
NOINLINE void replay_chunk(const duspar_pass* pass, size_t rows, size_t count,
                           float* states, float* gates) {
  const size_t size = duspar_states_size(pass, rows);
  const size_t f = rows * pass->padded_units;
  for (size_t t = 0; t < count; ++t, states += size, gates += 2 * size) {
    for (int cell = 0; cell < (pass->dual ? 2 : 1); ++cell) {
      const kept at = kept_of(pass, rows, states, gates, cell);
      for (size_t i = 0; i < (cell == 0 ? f : size - f); i += LANES) {
        store(at.state + size + i, moved(load(at.state + i), load(at.gate + i),
                                         load(at.candidate + i)));
      }
    }
  }
}

/* Copies rows of `width` numbers; where the target is the padded one, its
 * padding becomes zero. */
static void copy_rows(size_t rows, size_t width, const float* from,
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
static void put_states(const duspar_pass* pass, const duspar_slice* slice,
                       const float* f, const float* g, float* to) {
  const float* from[2] = {f, g};
  const size_t width[2] = {pass->units, pass->features};
  const size_t wide[2] = {pass->padded_units, pass->padded_features};
  for (int i = 0; i < (pass->dual ? 2 : 1); ++i) {
    if (from[i] == NULL) {
      memset(to, 0, slice->rows * wide[i] * sizeof *to);
    } else {
      copy_rows(slice->rows, width[i], from[i] + slice->first * width[i],
                width[i], to, wide[i]);
    }
    to += slice->rows * wide[i];
  }
}

/* The other way, to (batch, width) arrays; NULL is left alone. */
static void take_states(const duspar_pass* pass, const duspar_slice* slice,
                        const float* from, float* f, float* g) {
  const size_t units = pass->units, features = pass->features;
  if (f != NULL) {
    copy_rows(slice->rows, units, from, pass->padded_units,
              f + slice->first * units, units);
  }
  if (g != NULL && pass->dual) {
    copy_rows(slice->rows, features, from + slice->rows * pass->padded_units,
              pass->padded_features, g + slice->first * features, features);
  }
}

/* ---- Scratch memory ------------------------------------------------------ */

typedef struct backward_scratch {
  float *da, *db;     /* (rows, gate and candidate) of one step */
  float *to_f, *to_e; /* gradients of the rectified operands */
  float* d_states;    /* gradients of f and g */
  nonzeros columns;   /* lists of the columns of an operand */
} backward_scratch;

/* Memory that is dealt out from its start; without a base it only counts. */
typedef struct arena {
  float* base;
  size_t used;
} arena;

/* Takes `count` floats, in whole cache lines. */
static float* take(arena* memory, size_t count) {
  float* start = memory->base == NULL ? NULL : memory->base + memory->used;
  memory->used += (count + 15) / 16 * 16;
  return start;
}

static uint32_t* take_words(arena* memory, size_t count) {
  return (uint32_t*)(void*)take(memory, count);
}

/* `count` lists of up to `most` entries. */
static nonzeros take_lists(arena* memory, size_t count, size_t most) {
  const size_t room = list_room(most);
  return (nonzeros){
      .room = room,
      .counts = take_words(memory, count),
      .places = take_words(memory, count * room),
      .values = take(memory, count * room),
  };
}

static operand take_operand(arena* memory, size_t rows, size_t width) {
  return (operand){
      .stride = width,
      .rows = take(memory, rows * width),
      .lists = take_lists(memory, rows, width),
  };
}

typedef struct scratch {
  forward_scratch forward;
  float* states; /* of a chunk, before and after each step */
  float* gates;  /* of a chunk, if they are not kept elsewhere */
  backward_scratch backward;
} scratch;

/* Deals out the scratch memory of a slice. */
static scratch lay_out(const duspar_pass* pass, size_t rows, bool backward,
                       arena* memory) {
  const size_t np = pass->padded_features, mp = pass->padded_units;
  const size_t n = rows * np, m = rows * mp;
  scratch s = {0};
  s.forward.e = take_operand(memory, rows, np);
  s.forward.y = take_operand(memory, rows, mp);
  s.states = take(memory, (pass->chunk + 1) * duspar_states_size(pass, rows));
  s.gates = take(memory, pass->chunk * duspar_gates_size(pass, rows));
  if (!backward) return s;
  s.backward.da = take(memory, 2 * m);
  s.backward.db = take(memory, 2 * n);
  s.backward.to_f = take(memory, m);
  s.backward.to_e = take(memory, n);
  s.backward.d_states = take(memory, duspar_states_size(pass, rows));
  s.backward.columns = take_lists(memory, np > mp ? np : mp, rows);
  return s;
}

static size_t scratch_size(const duspar_pass* pass, size_t rows,
                           bool backward) {
  arena counted = {0};
  lay_out(pass, rows, backward, &counted);
  return counted.used;
}

#include "training/backward_template.h"

#endif /* DUSPAR_TRAINING_SLICE_TEMPLATE_H_ */
