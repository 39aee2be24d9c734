#include "delegate/signature.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "delegate/tensors.h"
#include "variants/variants.h"

typedef enum kind { VALUE, BIAS, KERNEL, SCALE } kind;

/* One input. Its shape is a word of the letters B, T, N and M, and digits. */
typedef struct slot {
  char name[64];
  char shape[4];
  kind kind;
  const duspar_op_weight* weight; /* which it is, or whose scale; or NULL */
} slot;

static int kernel_count(const duspar_op* op) {
  int count = 0;
  for (int i = 0; i < op->weight_count; ++i) {
    count += duspar_op_is_kernel(&op->weights[i]);
  }
  return count;
}

static int input_count(const duspar_op* op, const duspar_options* options) {
  const int plain = 1 + op->state_count + op->weight_count;
  if (options->weight_type != DUSPAR_INT8) return plain;
  return plain + kernel_count(op) + (options->operand_bits != 0);
}

/* The inputs of an operator are x, its states, its weights, the scales of its
 * kernels and, in one vector, those of its operands. */
static slot input_slot(const duspar_op* op, int index) {
  slot s = {"x", "BTN", VALUE, NULL};
  if (index-- == 0) return s;
  if (index < op->state_count) {
    snprintf(s.name, sizeof s.name, "%s0", op->states[index].name);
    snprintf(s.shape, sizeof s.shape, "B%c", op->states[index].width);
    return s;
  }
  index -= op->state_count;
  if (index < op->weight_count) {
    s.weight = &op->weights[index];
    s.kind = duspar_op_is_kernel(s.weight) ? KERNEL : BIAS;
    snprintf(s.name, sizeof s.name, "%s", s.weight->name);
    snprintf(s.shape, sizeof s.shape, "%s", s.weight->shape);
    return s;
  }
  index -= op->weight_count;
  s.kind = SCALE;
  for (int i = 0; i < op->weight_count; ++i) {
    s.weight = &op->weights[i];
    if (!duspar_op_is_kernel(s.weight) || index-- != 0) continue;
    snprintf(s.name, sizeof s.name, "%s's scale", s.weight->name);
    snprintf(s.shape, sizeof s.shape, "%c", s.weight->shape[1]);
    return s;
  }
  s.weight = NULL;
  snprintf(s.name, sizeof s.name, "operand_scales");
  snprintf(s.shape, sizeof s.shape, "%d", op->operand_count);
  return s;
}

/* The outputs are y and the states. */
static slot output_slot(const duspar_op* op, int index) {
  slot s = {"output y", "BTM", VALUE, NULL};
  if (index == 0) return s;
  snprintf(s.name, sizeof s.name, "output %s", op->states[index - 1].name);
  snprintf(s.shape, sizeof s.shape, "B%c", op->states[index - 1].width);
  return s;
}

duspar_status duspar_signature_bind(const duspar_op* op,
                                    const duspar_options* options,
                                    const tfl_node* node,
                                    duspar_tensors* tensors) {
  const int inputs = input_count(op, options);
  const int outputs = 1 + op->state_count;
  const int found_inputs = node->inputs ? node->inputs->size : 0;
  const int found_outputs = node->outputs ? node->outputs->size : 0;
  if (found_inputs != inputs || found_outputs != outputs) {
    return duspar_fail(DUSPAR_INVALID,
                       "the operator must have %d inputs and %d outputs, not "
                       "%d and %d",
                       inputs, outputs, found_inputs, found_outputs);
  }
  tensors->input_count = inputs;
  tensors->output_count = outputs;
  memcpy(tensors->inputs, node->inputs->data, (size_t)inputs * sizeof(int));
  memcpy(tensors->outputs, node->outputs->data, (size_t)outputs * sizeof(int));
  return DUSPAR_OK;
}

/* The size that a letter of a shape stands for. */
static size_t size_of(char letter, const duspar_sizes* sizes) {
  switch (letter) {
    case 'B':
      return sizes->batch;
    case 'T':
      return sizes->steps;
    case 'N':
      return sizes->features;
    case 'M':
      return sizes->units;
    default:
      return (size_t)(letter - '0');
  }
}

static int shape_of(const char* letters, const duspar_sizes* sizes,
                    int shape[3]) {
  int rank = 0;
  for (; letters[rank] != '\0'; ++rank) {
    shape[rank] = (int)size_of(letters[rank], sizes);
  }
  return rank;
}

static duspar_status check_input(const slot* s, duspar_weight_type weight_type,
                                 const tfl_tensor* tensor,
                                 const duspar_sizes* sizes) {
  static const int kernel_types[] = {TFL_FLOAT32, TFL_INT16, TFL_INT8};
  const bool kernel = s->kind == KERNEL;
  const int type = kernel ? kernel_types[weight_type] : TFL_FLOAT32;
  const size_t item = kernel ? duspar_weight_bytes(weight_type) : 4;
  int shape[3];
  const int rank = shape_of(s->shape, sizes, shape);
  const duspar_status status =
      duspar_tensor_check(tensor, s->name, type, rank, shape);
  if (status != DUSPAR_OK || s->kind == VALUE) return status;
  return duspar_tensor_check_constant(tensor, s->name, item);
}

duspar_status duspar_signature_check_inputs(const duspar_op* op,
                                            const duspar_options* options,
                                            const tfl_context* context,
                                            const duspar_tensors* tensors,
                                            duspar_sizes* sizes) {
  const tfl_tensor* x = duspar_tensor_at(context, tensors->inputs[0]);
  if (x == NULL) return duspar_fail(DUSPAR_INVALID, "`x` is missing");
  if (x->dims == NULL || x->dims->size != 3 || x->dims->data[0] < 1 ||
      x->dims->data[1] < 0 || x->dims->data[2] < 1) {
    char received[64];
    duspar_tensor_print(x, received, sizeof received);
    return duspar_fail(DUSPAR_INVALID,
                       "`x` must have the shape (batch, steps, features), "
                       "not (%s)",
                       received);
  }
  sizes->batch = (size_t)x->dims->data[0];
  sizes->steps = (size_t)x->dims->data[1];
  sizes->features = (size_t)x->dims->data[2];
  sizes->units = (size_t)options->units;
  for (int i = 0; i < tensors->input_count; ++i) {
    const slot expected = input_slot(op, i);
    const duspar_status status =
        check_input(&expected, options->weight_type,
                    duspar_tensor_at(context, tensors->inputs[i]), sizes);
    if (status != DUSPAR_OK) return status;
  }
  return DUSPAR_OK;
}

duspar_status duspar_signature_resize_output(const duspar_op* op,
                                             tfl_context* context,
                                             const duspar_tensors* tensors,
                                             const duspar_sizes* sizes,
                                             int index, duspar_view* view) {
  const slot s = output_slot(op, index);
  int shape[3];
  const int rank = shape_of(s.shape, sizes, shape);
  duspar_status status =
      duspar_tensor_check_output(context, s.name, tensors->input_count,
                                 tensors->inputs, tensors->outputs, index);
  if (status != DUSPAR_OK) return status;
  status = duspar_tensor_resize(context, s.name, tensors->outputs[index], rank,
                                shape);
  if (status != DUSPAR_OK) return status;
  duspar_view_set(view, tensors->outputs[index], rank, shape);
  return DUSPAR_OK;
}

void duspar_signature_view_input(const duspar_op* op,
                                 const duspar_tensors* tensors,
                                 const duspar_sizes* sizes, int index,
                                 duspar_view* view) {
  const slot s = input_slot(op, index);
  int shape[3];
  const int rank = shape_of(s.shape, sizes, shape);
  duspar_view_set(view, tensors->inputs[index], rank, shape);
}

/* Points `parameters` at a weight, or at the scale of one. */
static void set_weight(duspar_parameters* p, const slot* s, const void* data) {
  duspar_cell* cell = s->weight->cell == 0 ? &p->feedforward : &p->feedback;
  const bool scale = s->kind == SCALE;
  switch (s->weight->role) {
    case DUSPAR_GATE_KERNEL:
      if (scale) cell->gate_scale = data;
      if (!scale) cell->gate_kernel = data;
      break;
    case DUSPAR_CANDIDATE_KERNEL:
      if (scale) cell->candidate_scale = data;
      if (!scale) cell->candidate_kernel = data;
      break;
    case DUSPAR_GATE_BIAS:
      cell->gate_bias = data;
      break;
    case DUSPAR_OFFSET:
      *(s->weight->cell == 0 ? &p->feedforward_bias : &p->feedback_bias) = data;
      break;
  }
}

void duspar_signature_parameters(const duspar_op* op,
                                 const duspar_options* options,
                                 const tfl_context* context,
                                 const duspar_tensors* tensors,
                                 const duspar_sizes* sizes,
                                 duspar_parameters* parameters) {
  /* Also what lies between the fields: operators compare the bytes. */
  memset(parameters, 0, sizeof *parameters);
  parameters->kind = (int32_t)op->kind;
  parameters->weight_type = (int32_t)options->weight_type;
  parameters->features = (int32_t)sizes->features;
  parameters->units = (int32_t)sizes->units;
  parameters->operand_bits = options->operand_bits;
  for (int i = 0; i < tensors->input_count; ++i) {
    const slot s = input_slot(op, i);
    const void* data = context->tensors[tensors->inputs[i]].data;
    if (s.weight != NULL) {
      set_weight(parameters, &s, data);
    } else if (s.kind == SCALE) {
      const float* scales = data;
      parameters->feedforward.operand_scale = scales[0];
      if (op->operand_count > 1) parameters->feedback.operand_scale = scales[1];
    }
  }
}
