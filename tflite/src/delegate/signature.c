#include "delegate/signature.h"

#include <string.h>

#include "base/error.h"
#include "variants/variants.h"

typedef enum kind { VALUE, BIAS, KERNEL, SCALE } kind;

/* One input. Its shape is a word of the letters B, T, N and M, and digits. */
typedef struct slot {
  char name[DUSPAR_NAME_ROOM];
  char shape[4];
  kind kind;
  const duspar_op_weight* weight; /* which it is, or whose scale; or NULL */
} slot;

static int input_count(const duspar_signature* s) {
  int count = 1 + s->op->state_count + s->op->weight_count;
  if (s->options.weight_type != DUSPAR_INT8) return count;
  for (int i = 0; i < s->op->weight_count; ++i) {
    count += duspar_op_is_kernel(&s->op->weights[i]);
  }
  return count + (s->options.operand_bits != 0);
}

/* The inputs of an operator are x, its states, its weights, the scales of its
 * kernels and, in one vector, those of its operands. */
static slot input_slot(const duspar_op* op, int index) {
  slot s = {"x", "BTN", VALUE, NULL};
  if (index-- == 0) return s;
  if (index < op->state_count) {
    duspar_write(s.name, sizeof s.name, "%s0", op->states[index].name);
    duspar_write(s.shape, sizeof s.shape, "B%c", op->states[index].width);
    return s;
  }
  index -= op->state_count;
  if (index < op->weight_count) {
    s.weight = &op->weights[index];
    s.kind = duspar_op_is_kernel(s.weight) ? KERNEL : BIAS;
    duspar_write(s.name, sizeof s.name, "%s", s.weight->name);
    duspar_write(s.shape, sizeof s.shape, "%s", s.weight->shape);
    return s;
  }
  index -= op->weight_count;
  s.kind = SCALE;
  for (int i = 0; i < op->weight_count; ++i) {
    s.weight = &op->weights[i];
    if (!duspar_op_is_kernel(s.weight) || index-- != 0) continue;
    duspar_write(s.name, sizeof s.name, "%s's scale", s.weight->name);
    duspar_write(s.shape, sizeof s.shape, "%c", s.weight->shape[1]);
    return s;
  }
  s.weight = NULL;
  duspar_write(s.name, sizeof s.name, "operand_scales");
  duspar_write(s.shape, sizeof s.shape, "%d", op->operand_count);
  return s;
}

duspar_status duspar_signature_bind(duspar_signature* s, const tfl_node* node) {
  const int found_inputs = node->inputs ? node->inputs->size : 0;
  const int found_outputs = node->outputs ? node->outputs->size : 0;
  s->input_count = input_count(s);
  s->output_count = 1 + s->op->state_count;
  if (found_inputs != s->input_count || found_outputs != s->output_count) {
    return duspar_fail(DUSPAR_INVALID,
                       "the operator must have %d inputs and %d outputs, not "
                       "%d and %d",
                       s->input_count, s->output_count, found_inputs,
                       found_outputs);
  }
  memcpy(s->inputs, node->inputs->data, (size_t)found_inputs * sizeof(int));
  memcpy(s->outputs, node->outputs->data, (size_t)found_outputs * sizeof(int));
  return DUSPAR_OK;
}

/* Sets the sizes that the letters of a shape stand for; returns the rank. */
static int shape_of(const char* letters, const duspar_signature* s,
                    int shape[3]) {
  int rank = 0;
  for (; letters[rank] != '\0'; ++rank) {
    const char letter = letters[rank];
    shape[rank] = letter == 'B'   ? (int)s->batch
                  : letter == 'T' ? (int)s->steps
                  : letter == 'N' ? (int)s->features
                  : letter == 'M' ? (int)s->units
                                  : letter - '0';
  }
  return rank;
}

static duspar_status check_input(const duspar_signature* s,
                                 const tfl_context* context, int index) {
  static const int kernel_types[] = {TFL_FLOAT32, TFL_INT16, TFL_INT8};
  const slot expected = input_slot(s->op, index);
  const tfl_tensor* tensor = duspar_tensor_at(context, s->inputs[index]);
  const duspar_weight_type weights = s->options.weight_type;
  const bool kernel = expected.kind == KERNEL;
  const int type = kernel ? kernel_types[weights] : TFL_FLOAT32;
  const size_t item = kernel ? duspar_weight_bytes(weights) : 4;
  int shape[3];
  const int rank = shape_of(expected.shape, s, shape);
  const duspar_status status =
      duspar_tensor_check(tensor, expected.name, type, rank, shape);
  if (status != DUSPAR_OK || expected.kind == VALUE) return status;
  return duspar_tensor_check_constant(tensor, expected.name, item);
}

duspar_status duspar_signature_check_inputs(duspar_signature* s,
                                            const tfl_context* context) {
  const tfl_tensor* x = duspar_tensor_at(context, s->inputs[0]);
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
  s->batch = (size_t)x->dims->data[0];
  s->steps = (size_t)x->dims->data[1];
  s->features = (size_t)x->dims->data[2];
  s->units = (size_t)s->options.units;
  duspar_status status = DUSPAR_OK;
  for (int i = 0; i < s->input_count && status == DUSPAR_OK; ++i) {
    status = check_input(s, context, i);
  }
  return status;
}

void duspar_signature_view_input(const duspar_signature* s, int index,
                                 duspar_view* view) {
  const slot input = input_slot(s->op, index);
  int shape[3];
  const int rank = shape_of(input.shape, s, shape);
  duspar_view_set(view, s->inputs[index], rank, shape);
}

int duspar_signature_output(const duspar_signature* s, int index,
                            char name[DUSPAR_NAME_ROOM], int shape[3]) {
  if (index == 0) {
    duspar_write(name, DUSPAR_NAME_ROOM, "output y");
    return shape_of("BTM", s, shape);
  }
  const char letters[] = {'B', s->op->states[index - 1].width, '\0'};
  duspar_write(name, DUSPAR_NAME_ROOM, "output %s",
               s->op->states[index - 1].name);
  return shape_of(letters, s, shape);
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

void duspar_signature_parameters(const duspar_signature* s,
                                 const tfl_context* context,
                                 duspar_parameters* parameters) {
  /* Also what lies between the fields: operators compare the bytes. */
  memset(parameters, 0, sizeof *parameters);
  parameters->kind = (int32_t)s->op->kind;
  parameters->weight_type = (int32_t)s->options.weight_type;
  parameters->features = (int32_t)s->features;
  parameters->units = (int32_t)s->units;
  parameters->operand_bits = s->options.operand_bits;
  for (int i = 0; i < s->input_count; ++i) {
    const slot input = input_slot(s->op, i);
    const void* data = context->tensors[s->inputs[i]].data;
    if (input.weight != NULL) {
      set_weight(parameters, &input, data);
    } else if (input.kind == SCALE) {
      const float* scales = data;
      parameters->feedforward.operand_scale = scales[0];
      if (s->op->operand_count > 1) {
        parameters->feedback.operand_scale = scales[1];
      }
    }
  }
}
