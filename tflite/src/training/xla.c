/* Training as XLA calls it: see `duspar_xla_forward` in duspar.h. */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "duspar.h"
#include "layer/operators.h"
#include "training/xla_abi.h"

enum { WEIGHTS = DUSPAR_MAX_WEIGHTS, OPTIONS = 4 };

/* XLA asks for the version of the interface before it calls for work. The
 * structures used here are the same in all versions with this first number. */
static bool answers_question(const ffi_frame* frame) {
  ffi_extension* extension = frame->extensions;
  if (extension == NULL || extension->type != FFI_EXTENSION_METADATA) {
    return false;
  }
  ffi_metadata* metadata = ((ffi_metadata_extension*)extension)->metadata;
  metadata->version.major = 0;
  metadata->version.minor = frame->api != NULL && frame->api->version.major == 0
                                ? frame->api->version.minor
                                : 0;
  metadata->traits = 0;
  return true;
}

static struct XLA_FFI_Error* result(const ffi_frame* frame,
                                    duspar_status status) {
  if (status == DUSPAR_OK) return NULL;
  ffi_error_arguments arguments = {
      .struct_size = sizeof arguments,
      .message = duspar_last_error(),
      .code = status == DUSPAR_NO_MEMORY ? FFI_RESOURCE_EXHAUSTED
                                         : FFI_INVALID_ARGUMENT,
  };
  return frame->api->create_error(&arguments);
}

/* Whether these are so many buffers of float32, but for the first `others`. */
static bool all_floats(const ffi_buffers* buffers, int64_t count,
                       int64_t others) {
  if (buffers->count != count) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (buffers->types[i] != FFI_BUFFER) return false;
    const int type = buffers->items[i]->type;
    if (i >= others && type != FFI_FLOAT32) return false;
  }
  return true;
}

static float* floats(const ffi_buffers* buffers, int64_t index) {
  return buffers->items[index]->data;
}

/* Reads the options and sizes, from a `y` of shape (batch, steps, units), and
 * returns the operator, or NULL if something is wrong. */
static const duspar_op* describe(const ffi_frame* frame, const ffi_buffer* y,
                                 duspar_training* training,
                                 duspar_meter* meter) {
  const ffi_buffer* options = frame->arguments.items[0];
  const ffi_buffer* x = frame->arguments.items[1];
  if (options->type != FFI_INT32 || options->rank != 1 ||
      options->sizes[0] != OPTIONS || x->rank != 3 || y->rank != 3 ||
      x->sizes[0] != y->sizes[0] || x->sizes[1] != y->sizes[1]) {
    duspar_fail(DUSPAR_INVALID,
                "The call must have %d options, then an input of shape "
                "(batch, steps, features).",
                (int)OPTIONS);
    return NULL;
  }
  const int32_t* values = options->data;
  *training = (duspar_training){
      .kind = values[0],
      .threads = values[1],
      .chunk = values[2],
      .batch = x->sizes[0],
      .steps = x->sizes[1],
      .features = x->sizes[2],
      .units = y->sizes[2],
      .meter = values[3] == 0 ? NULL : meter,
  };
  *meter = (duspar_meter){0};
  memcpy(&meter->width, &values[3], sizeof meter->width);
  const duspar_op* op = duspar_op_of(training->kind);
  if (op == NULL) {
    duspar_fail(DUSPAR_INVALID, "`kind` must be a duspar_kind. Received: %d.",
                (int)training->kind);
  }
  return op;
}

static duspar_status wrong_buffers(void) {
  return duspar_fail(DUSPAR_INVALID,
                     "The call has other buffers than duspar.h says.");
}

/* Puts the buffers from `first` on into a list of weights. */
static void list_weights(const ffi_buffers* buffers, int64_t first, int count,
                         float** weights) {
  for (int i = 0; i < count; ++i) weights[i] = floats(buffers, first + i);
}

static duspar_status forward(const ffi_frame* frame) {
  const ffi_buffers *in = &frame->arguments, *out = &frame->results;
  if (in->count < 2 || out->count < 1) return wrong_buffers();
  duspar_training training;
  duspar_meter meter;
  const duspar_op* op = describe(frame, out->items[0], &training, &meter);
  if (op == NULL) return DUSPAR_INVALID;
  const int states = op->state_count, count = op->weight_count;
  const int metered = training.meter != NULL;
  const bool keeps = out->count == 1 + states + metered + 1;
  if (!all_floats(in, 2 + states + count, 1) ||
      !all_floats(out, 1 + states + metered + keeps, 0)) {
    return wrong_buffers();
  }
  if (metered) meter.occupancies = floats(out, 1 + states);
  float* weights[WEIGHTS];
  list_weights(in, 2 + states, count, weights);
  return duspar_train_forward(
      &training, (const float* const*)weights, floats(in, 1), floats(in, 2),
      states == 2 ? floats(in, 3) : NULL, floats(out, 0), floats(out, 1),
      states == 2 ? floats(out, 2) : NULL,
      keeps ? floats(out, 1 + states + metered) : NULL);
}

static duspar_status backward(const ffi_frame* frame) {
  const ffi_buffers *in = &frame->arguments, *out = &frame->results;
  if (in->count < 4) return wrong_buffers();
  duspar_training training;
  duspar_meter meter;
  const duspar_op* op = describe(frame, in->items[3], &training, &meter);
  if (op == NULL) return DUSPAR_INVALID;
  const int states = op->state_count, count = op->weight_count;
  const int metered = training.meter != NULL;
  if (!all_floats(in, 4 + states + metered + count, 1) ||
      !all_floats(out, 1 + states + count, 0)) {
    return wrong_buffers();
  }
  if (metered) meter.gradients = floats(in, 4 + states);
  float *weights[WEIGHTS], *gradients[WEIGHTS];
  list_weights(in, 4 + states + metered, count, weights);
  list_weights(out, 1 + states, count, gradients);
  return duspar_train_backward(
      &training, (const float* const*)weights, floats(in, 1), floats(in, 2),
      floats(in, 3), floats(in, 4), states == 2 ? floats(in, 5) : NULL,
      floats(out, 0), floats(out, 1), states == 2 ? floats(out, 2) : NULL,
      gradients);
}

struct XLA_FFI_Error* duspar_xla_forward(struct XLA_FFI_CallFrame* call) {
  const ffi_frame* frame = (const ffi_frame*)(const void*)call;
  if (answers_question(frame) || frame->stage != FFI_STAGE_EXECUTE) return NULL;
  return result(frame, forward(frame));
}

struct XLA_FFI_Error* duspar_xla_backward(struct XLA_FFI_CallFrame* call) {
  const ffi_frame* frame = (const ffi_frame*)(const void*)call;
  if (answers_question(frame) || frame->stage != FFI_STAGE_EXECUTE) return NULL;
  return result(frame, backward(frame));
}
