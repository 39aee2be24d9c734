#include "signature.h"

#include <string.h>

#include "error.h"
#include "kernels.h"
#include "tensors.h"

typedef enum role { VALUE, BIAS, KERNEL, SCALE } role;

/* One input. Its shape is a word of the letters B, T, N and M, and digits. */
typedef struct slot {
  const char* name;
  role role;
  const char* shape;
} slot;

static const slot duspar_slots[] = {
    {"x", VALUE, "BTN"},
    {"f0", VALUE, "BM"},
    {"g0", VALUE, "BN"},
    {"feedforward.gate_kernel", KERNEL, "NM"},
    {"feedforward.candidate_kernel", KERNEL, "NM"},
    {"feedback.gate_kernel", KERNEL, "MN"},
    {"feedback.candidate_kernel", KERNEL, "MN"},
    {"feedforward.gate_bias", BIAS, "M"},
    {"feedback.gate_bias", BIAS, "N"},
    {"feedforward_bias", BIAS, "M"},
    {"feedback_bias", BIAS, "N"},
    {"feedforward.gate_kernel's scale", SCALE, "M"},
    {"feedforward.candidate_kernel's scale", SCALE, "M"},
    {"feedback.gate_kernel's scale", SCALE, "N"},
    {"feedback.candidate_kernel's scale", SCALE, "N"},
    {"operand_scales", SCALE, "2"},
};

static const slot spar_slots[] = {
    {"x", VALUE, "BTN"},
    {"f0", VALUE, "BM"},
    {"gate_kernel", KERNEL, "NM"},
    {"candidate_kernel", KERNEL, "NM"},
    {"gate_bias", BIAS, "M"},
    {"gate_kernel's scale", SCALE, "M"},
    {"candidate_kernel's scale", SCALE, "M"},
    {"operand_scales", SCALE, "1"},
};

static const slot* slots_of(duspar_kind kind) {
  return kind == DUSPAR_KIND_DUSPAR ? duspar_slots : spar_slots;
}

static int input_count(duspar_kind kind, const duspar_options* options) {
  const int scales = kind == DUSPAR_KIND_DUSPAR ? 4 : 2;
  const int plain = kind == DUSPAR_KIND_DUSPAR ? 11 : 5;
  if (options->weight_type != DUSPAR_INT8) return plain;
  return plain + scales + (options->operand_bits != 0);
}

duspar_status duspar_signature_bind(duspar_kind kind,
                                    const duspar_options* options,
                                    const tfl_node* node,
                                    duspar_tensors* tensors) {
  const int inputs = input_count(kind, options);
  const int outputs = kind == DUSPAR_KIND_DUSPAR ? 3 : 2;
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
  const bool kernel = s->role == KERNEL;
  const int type = kernel ? kernel_types[weight_type] : TFL_FLOAT32;
  const size_t item = kernel ? duspar_weight_bytes(weight_type) : 4;
  int shape[3];
  const int rank = shape_of(s->shape, sizes, shape);
  const duspar_status status =
      duspar_tensor_check(tensor, s->name, type, rank, shape);
  if (status != DUSPAR_OK || s->role == VALUE) return status;
  return duspar_tensor_check_constant(tensor, s->name, item);
}

duspar_status duspar_signature_check_inputs(duspar_kind kind,
                                            const duspar_options* options,
                                            const tfl_context* context,
                                            const duspar_tensors* tensors,
                                            duspar_sizes* sizes) {
  const slot* slots = slots_of(kind);
  static const int any[] = {-1, -1, -1};
  const tfl_tensor* x = duspar_tensor_at(context, tensors->inputs[0]);
  duspar_status status = duspar_tensor_check(x, "x", TFL_FLOAT32, 3, any);
  if (status != DUSPAR_OK) return status;
  if (x->dims->data[0] < 1 || x->dims->data[2] < 1) {
    return duspar_fail(DUSPAR_INVALID,
                       "`x` must have at least one sequence and one feature, "
                       "not %d and %d",
                       x->dims->data[0], x->dims->data[2]);
  }
  sizes->batch = (size_t)x->dims->data[0];
  sizes->steps = (size_t)x->dims->data[1];
  sizes->features = (size_t)x->dims->data[2];
  sizes->units = (size_t)options->units;
  for (int i = 0; i < tensors->input_count; ++i) {
    status = check_input(&slots[i], options->weight_type,
                         duspar_tensor_at(context, tensors->inputs[i]), sizes);
    if (status != DUSPAR_OK) return status;
  }
  return DUSPAR_OK;
}

/* The names and shapes of outputs are the same for both operators. */
static const slot output_slots[] = {
    {"output y", VALUE, "BTM"},
    {"output f", VALUE, "BM"},
    {"output g", VALUE, "BN"},
};

const char* duspar_signature_output_name(int index) {
  return output_slots[index].name;
}

int duspar_signature_output_shape(int index, const duspar_sizes* sizes,
                                  int shape[3]) {
  return shape_of(output_slots[index].shape, sizes, shape);
}

/* Points a cell at its weights, by the positions of the gate's. The scales
 * that there are not have no data. */
static void set_cell(duspar_cell* cell, const void* const* data, int kernel,
                     int bias, int scale, int operand_scales, int operand) {
  cell->gate_kernel = data[kernel];
  cell->candidate_kernel = data[kernel + 1];
  cell->gate_bias = data[bias];
  cell->gate_scale = data[scale];
  cell->candidate_scale = data[scale + 1];
  if (data[operand_scales] != NULL) {
    cell->operand_scale = ((const float*)data[operand_scales])[operand];
  }
}

void duspar_signature_parameters(duspar_kind kind,
                                 const duspar_options* options,
                                 const tfl_context* context,
                                 const duspar_tensors* tensors,
                                 const duspar_sizes* sizes,
                                 duspar_parameters* parameters) {
  const void* data[DUSPAR_MAX_INPUTS] = {0};
  for (int i = 0; i < tensors->input_count; ++i) {
    data[i] = context->tensors[tensors->inputs[i]].data;
  }
  /* Also what lies between the fields: operators compare the bytes. */
  memset(parameters, 0, sizeof *parameters);
  parameters->kind = (int32_t)kind;
  parameters->weight_type = (int32_t)options->weight_type;
  parameters->features = (int32_t)sizes->features;
  parameters->units = (int32_t)sizes->units;
  parameters->operand_bits = options->operand_bits;
  if (kind == DUSPAR_KIND_SPAR) {
    set_cell(&parameters->feedforward, data, 2, 4, 5, 7, 0);
    return;
  }
  set_cell(&parameters->feedforward, data, 3, 7, 11, 15, 0);
  set_cell(&parameters->feedback, data, 5, 8, 13, 15, 1);
  parameters->feedforward_bias = data[9];
  parameters->feedback_bias = data[10];
}
