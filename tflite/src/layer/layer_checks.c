/* What a layer's parameters must be like. */
#include <limits.h>
#include <math.h>

#include "base/error.h"
#include "layer/layer.h"
#include "layer/operators.h"

/* Checks what comes with operands that are integers. */
static duspar_status check_operand(const duspar_cell* cell, int bits,
                                   int inputs, const char* cell_name,
                                   const char* inputs_name) {
  /* The largest sum: all operands and all weights, -128, as large as can be. */
  const int most = (int)(INT32_MAX / (128 * ((1ll << bits) - 1)));
  if (!(cell->operand_scale > 0 && isfinite(cell->operand_scale) &&
        isfinite(1.0f / cell->operand_scale))) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s.operand_scale` must be a finite number above 0, "
                       "and its inverse finite, not %g.",
                       cell_name, (double)cell->operand_scale);
  }
  if (inputs > most) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` must be at most %d with operands of %d bits, or "
                       "sums could overflow, not %d.",
                       inputs_name, most, bits, inputs);
  }
  return DUSPAR_OK;
}

static duspar_status check_cell(const duspar_parameters* p, int i) {
  const duspar_cell* cell = i == 0 ? &p->feedforward : &p->feedback;
  const char* name = i == 0 ? "feedforward" : "feedback";
  if (cell->gate_kernel == NULL || cell->candidate_kernel == NULL ||
      cell->gate_bias == NULL) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` must have kernels and a gate bias, not NULL.",
                       name);
  }
  if (p->weight_type == DUSPAR_INT8 &&
      (cell->gate_scale == NULL || cell->candidate_scale == NULL)) {
    return duspar_fail(DUSPAR_INVALID,
                       "`%s` must have scales: its weights are int8.", name);
  }
  if (p->operand_bits == 0) return DUSPAR_OK;
  return check_operand(cell, p->operand_bits, i == 0 ? p->features : p->units,
                       name, i == 0 ? "features" : "units");
}

duspar_status duspar_parameters_check(const duspar_parameters* p) {
  if (p == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`parameters` must not be NULL.");
  }
  const duspar_op* op = duspar_op_of(p->kind);
  if (op == NULL) {
    return duspar_fail(DUSPAR_INVALID, "`kind` must be 0 or 1, not %d.",
                       (int)p->kind);
  }
  if (p->weight_type < 0 || p->weight_type > DUSPAR_INT8) {
    return duspar_fail(DUSPAR_INVALID,
                       "`weight_type` must be 0, 1 or 2, not %d.",
                       (int)p->weight_type);
  }
  if (p->features < 1 || p->units < 1) {
    return duspar_fail(DUSPAR_INVALID,
                       "`features` and `units` must be at least 1, not %d "
                       "and %d.",
                       (int)p->features, (int)p->units);
  }
  const int bits = p->operand_bits;
  if (bits != 0 &&
      ((bits != 7 && bits != 8) || p->weight_type != DUSPAR_INT8)) {
    return duspar_fail(DUSPAR_INVALID,
                       "`operand_bits` must be 0, or 7 or 8 with int8 weights, "
                       "not %d.",
                       bits);
  }
  duspar_status status = DUSPAR_OK;
  for (int i = 0; i < op->operand_count && status == DUSPAR_OK; ++i) {
    status = check_cell(p, i);
  }
  if (status == DUSPAR_OK && op->operand_count > 1 &&
      (p->feedforward_bias == NULL || p->feedback_bias == NULL)) {
    return duspar_fail(DUSPAR_INVALID,
                       "`feedforward_bias` and `feedback_bias` of %s must not "
                       "be NULL.",
                       op->name);
  }
  return status;
}
