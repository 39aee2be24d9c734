/* The sparse operators: their states, weights and operands.
 *
 * The table itself is written in Python, in keras_duspar/operators.py, from
 * which operators_table.h is generated. Widths are letters: N is the number of
 * features, M that of units.
 */
#ifndef DUSPAR_LAYER_OPERATORS_H_
#define DUSPAR_LAYER_OPERATORS_H_

#include <stddef.h>

#include "duspar.h"

enum {
  DUSPAR_MAX_CELLS = 2,
  DUSPAR_MAX_STATES = 2,
  DUSPAR_MAX_WEIGHTS = 8,
  DUSPAR_MAX_KERNELS = 4,
};

/* What a weight is to its cell. */
typedef enum duspar_role {
  DUSPAR_GATE_KERNEL,
  DUSPAR_CANDIDATE_KERNEL,
  DUSPAR_GATE_BIAS,
  DUSPAR_OFFSET, /* feedforward_bias and feedback_bias */
} duspar_role;

typedef struct duspar_op_weight {
  const char* name;
  duspar_role role;
  int cell;            /* 0: feedforward, 1: feedback */
  const char shape[3]; /* one letter per axis */
} duspar_op_weight;

typedef struct duspar_op {
  const char* name; /* in a .tflite file */
  duspar_kind kind;
  int state_count;
  struct {
    const char* name;
    char width;
  } states[DUSPAR_MAX_STATES];
  int weight_count;
  duspar_op_weight weights[DUSPAR_MAX_WEIGHTS];
  int operand_count; /* one per cell */
  struct {
    const char* name;
    char size;
    char outputs;
  } operands[DUSPAR_MAX_CELLS];
} duspar_op;

/* Returns the operator of this kind, or NULL: `kind` may be any number. */
const duspar_op* duspar_op_of(int32_t kind);

/* Returns the operator of this name, or NULL. The name may be NULL. */
const duspar_op* duspar_op_named(const char* name);

/* Returns the number that a letter stands for. */
static inline size_t duspar_op_width(char letter, size_t features,
                                     size_t units) {
  return letter == 'N' ? features : units;
}

static inline int duspar_op_is_kernel(const duspar_op_weight* weight) {
  return weight->role == DUSPAR_GATE_KERNEL ||
         weight->role == DUSPAR_CANDIDATE_KERNEL;
}

#endif /* DUSPAR_LAYER_OPERATORS_H_ */
