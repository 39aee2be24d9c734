/* A streaming .tflite file in LiteRT 2, whose compiled model has no delegates.
 *
 *   cc litert2.c $(pkg-config --cflags --libs duspar) -lLiteRt
 *   ./a.out streaming.tflite < audio.f32    # float32 samples from -1 to 1
 *
 * Prints the output of the last chunk, and the occupancy of the layers.
 */
#include <stdio.h>
#include <stdlib.h>

#include "duspar.h"
#include "litert/c/litert_common.h"
#include "litert/c/litert_compiled_model.h"
#include "litert/c/litert_environment.h"
#include "litert/c/litert_model.h"
#include "litert/c/litert_model_types.h"
#include "litert/c/litert_options.h"
#include "litert/c/litert_tensor_buffer.h"
#include "litert/c/litert_tensor_buffer_types.h"

enum { MOST_BYTES = 1 << 26, MOST_TENSORS = 64 };

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, duspar_last_error());
  return 1;
}

static void* read_all(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  void* bytes = malloc(MOST_BYTES);
  if (file == NULL || bytes == NULL) return NULL;
  *size = fread(bytes, 1, MOST_BYTES, file);
  fclose(file);
  return bytes;
}

/* A tensor of floats with memory that LiteRT takes. */
typedef struct tensor {
  float* data;
  size_t size;
  LiteRtTensorBuffer buffer;
} tensor;

static int make_tensor(const LiteRtLayout* layout, tensor* made) {
  const LiteRtRankedTensorType type = {kLiteRtElementTypeFloat32, *layout};
  made->size = 1;
  for (unsigned i = 0; i < layout->rank; ++i) {
    made->size *= (size_t)layout->dimensions[i];
  }
  const size_t bytes = made->size * sizeof(float);
  const size_t line = LITERT_HOST_MEMORY_BUFFER_ALIGNMENT;
  made->data = aligned_alloc(line, (bytes / line + 2) * line);
  if (made->data == NULL) return 1;
  for (size_t i = 0; i < made->size; ++i) made->data[i] = 0;
  return LiteRtCreateTensorBufferFromHostMemory(&type, made->data, bytes, NULL,
                                                &made->buffer);
}

static void print_occupancy(const struct TfLiteDelegate* delegate) {
  duspar_operator op;
  for (size_t i = 0; i < duspar_delegate_operator_count(delegate); ++i) {
    if (duspar_delegate_operator(delegate, i, &op) != DUSPAR_OK) return;
    for (int o = 0; o < op.operand_count; ++o) {
      printf("%s %s %.6f\n", op.layer, op.operands[o].name,
             (double)op.operands[o].nonzeros / (double)op.operands[o].entries);
    }
  }
}

int main(int count, char** arguments) {
  size_t size = 0;
  const void* bytes = count == 2 ? read_all(arguments[1], &size) : NULL;
  if (bytes == NULL) return 2;
  duspar_file* file = duspar_file_read(bytes, size);
  if (file == NULL) return fail("no streaming file");

  /* Our operators, and the file as LiteRT wants it. */
  const duspar_litert_functions functions = DUSPAR_LITERT;
  struct TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  if (delegate == NULL) return fail("no delegate");
  duspar_litert* duspar =
      duspar_litert_create(delegate, bytes, size, &functions, 1);
  if (duspar == NULL) return fail("no operators");
  bytes = duspar_litert_file(duspar, &size);

  LiteRtEnvironment environment;
  LiteRtModel model;
  LiteRtOptions options;
  LiteRtCompiledModel compiled;
  if (LiteRtCreateEnvironment(0, NULL, &environment) ||
      LiteRtCreateModelFromBuffer(environment, bytes, size, &model) ||
      LiteRtCreateOptions(&options) ||
      LiteRtSetOptionsHardwareAccelerators(options, kLiteRtHwAcceleratorCpu) ||
      duspar_litert_register(duspar, options) ||
      LiteRtCreateCompiledModel(environment, model, options, &compiled)) {
    return fail("no model");
  }

  /* One input and one output, beside the states. */
  const size_t tensors = file->state_count + 1;
  tensor in[MOST_TENSORS], out[MOST_TENSORS];
  LiteRtTensorBuffer inputs[MOST_TENSORS], outputs[MOST_TENSORS];
  LiteRtLayout layouts[MOST_TENSORS], layout;
  if (tensors > MOST_TENSORS || LiteRtGetCompiledModelOutputTensorLayouts(
                                    compiled, 0, tensors, layouts, true)) {
    return fail("no outputs");
  }
  for (size_t i = 0; i < tensors; ++i) {
    if (LiteRtGetCompiledModelInputTensorLayout(compiled, 0, i, &layout) ||
        make_tensor(&layout, &in[i]) || make_tensor(&layouts[i], &out[i])) {
      return fail("no tensors");
    }
    inputs[i] = in[i].buffer;
    outputs[i] = out[i].buffer;
  }

  const tensor* chunk = &in[file->input];
  while (fread(chunk->data, sizeof(float), chunk->size, stdin) == chunk->size) {
    const int status =
        LiteRtRunCompiledModel(compiled, 0, tensors, inputs, tensors, outputs);
    const char* problem = duspar_litert_error(duspar);
    if (status || problem) return fail(problem ? problem : "no run");
    for (size_t s = 0; s < file->state_count; ++s) {
      const tensor* from = &out[file->states[s].output];
      const tensor* to = &in[file->states[s].input];
      for (size_t i = 0; i < to->size; ++i) to->data[i] = from->data[i];
    }
  }
  const tensor* result = &out[file->output];
  for (size_t i = 0; i < result->size; ++i) printf("%.6f\n", result->data[i]);
  print_occupancy(delegate);

  for (size_t i = 0; i < tensors; ++i) {
    LiteRtDestroyTensorBuffer(in[i].buffer);
    LiteRtDestroyTensorBuffer(out[i].buffer);
    free(in[i].data);
    free(out[i].data);
  }
  LiteRtDestroyCompiledModel(compiled);
  LiteRtDestroyOptions(options);
  LiteRtDestroyModel(model);
  LiteRtDestroyEnvironment(environment);
  duspar_litert_destroy(duspar); /* after the model */
  duspar_delegate_destroy(delegate);
  duspar_file_free(file);
  return 0;
}
