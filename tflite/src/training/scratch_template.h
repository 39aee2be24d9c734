/* Template: the memory in which a slice of the batch is computed. Defines
 * train_scratch_size and train_lay_out.
 */
#include "training/pass.h"
#include "training/products_template.h"

/* An operand of a cell: rectified numbers, and those that are not zero. */
typedef struct train_operand {
  size_t stride;
  float* rows; /* (rows, stride) */
  train_lists lists;
} train_operand;

typedef struct train_forward_scratch {
  train_operand e, y; /* of one step */
} train_forward_scratch;

typedef struct train_backward_scratch {
  float *da, *db;      /* (rows, gate and candidate) of one step */
  float *to_f, *to_e;  /* gradients of the rectified operands */
  float* d_states;     /* gradients of f and g */
  train_lists columns; /* lists of the columns of an operand */
} train_backward_scratch;

static uint32_t* train_take_words(duspar_arena* memory, size_t count) {
  return (uint32_t*)(void*)duspar_arena_take(memory, count);
}

/* `count` lists of up to `most` entries. */
static train_lists train_take_lists(duspar_arena* memory, size_t count,
                                    size_t most) {
  const size_t room = train_list_room(most);
  return (train_lists){
      .room = room,
      .counts = train_take_words(memory, count),
      .places = train_take_words(memory, count * room),
      .values = duspar_arena_take(memory, count * room),
  };
}

static train_operand train_take_operand(duspar_arena* memory, size_t rows,
                                        size_t width) {
  return (train_operand){
      .stride = width,
      .rows = duspar_arena_take(memory, rows * width),
      .lists = train_take_lists(memory, rows, width),
  };
}

typedef struct train_scratch {
  train_forward_scratch forward;
  float* states; /* of a chunk, before and after each step */
  float* gates;  /* of a chunk, if they are not kept elsewhere */
  train_backward_scratch backward;
} train_scratch;

/* Deals out the scratch memory of a slice. */
static train_scratch train_lay_out(const duspar_pass* pass, size_t rows,
                                   bool backward, duspar_arena* memory) {
  const size_t np = pass->padded_features, mp = pass->padded_units;
  const size_t n = rows * np, m = rows * mp;
  train_scratch s = {0};
  s.forward.e = train_take_operand(memory, rows, np);
  s.forward.y = train_take_operand(memory, rows, mp);
  s.states = duspar_arena_take(
      memory, (pass->chunk + 1) * duspar_states_size(pass, rows));
  s.gates =
      duspar_arena_take(memory, pass->chunk * duspar_gates_size(pass, rows));
  if (!backward) return s;
  s.backward.da = duspar_arena_take(memory, 2 * m);
  s.backward.db = duspar_arena_take(memory, 2 * n);
  s.backward.to_f = duspar_arena_take(memory, m);
  s.backward.to_e = duspar_arena_take(memory, n);
  s.backward.d_states =
      duspar_arena_take(memory, duspar_states_size(pass, rows));
  s.backward.columns = train_take_lists(memory, np > mp ? np : mp, rows);
  return s;
}

static size_t train_scratch_size(const duspar_pass* pass, size_t rows,
                                 bool backward) {
  duspar_arena counted = {0};
  train_lay_out(pass, rows, backward, &counted);
  return counted.used;
}
