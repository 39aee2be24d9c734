/* A .tflite file of whole recordings, with TFLite's C interface.
 *
 *   cc delegate.c $(pkg-config --cflags --libs duspar) -ltensorflowlite_c
 *   ./a.out spotter.tflite < audio.f32    # float32 samples from -1 to 1
 */
#include <stdio.h>
#include <stdlib.h>

#include "duspar.h"
#include "tensorflow/lite/c/c_api.h"

enum { MOST = 16000 * 60 };

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, duspar_last_error());
  return 1;
}

static void print_occupancy(const TfLiteDelegate* delegate) {
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
  float* audio = malloc(MOST * sizeof *audio);
  if (count != 2 || audio == NULL) return 2;
  const int shape[] = {1, (int)fread(audio, sizeof *audio, MOST, stdin)};

  TfLiteModel* model = TfLiteModelCreateFromFile(arguments[1]);
  if (model == NULL) return fail("no model");
  TfLiteDelegate* delegate = duspar_delegate_create(NULL, NULL, 0);
  if (delegate == NULL) return fail("no delegate");
  TfLiteInterpreterOptions* options = TfLiteInterpreterOptionsCreate();
  TfLiteInterpreterOptionsAddDelegate(options, delegate);
  TfLiteInterpreter* interpreter = TfLiteInterpreterCreate(model, options);
  if (interpreter == NULL) return fail("no interpreter");

  if (TfLiteInterpreterResizeInputTensor(interpreter, 0, shape, 2) ||
      TfLiteInterpreterAllocateTensors(interpreter) ||
      TfLiteTensorCopyFromBuffer(
          TfLiteInterpreterGetInputTensor(interpreter, 0), audio,
          (size_t)shape[1] * sizeof *audio) ||
      TfLiteInterpreterInvoke(interpreter)) {
    return fail("the file does not run");
  }
  const TfLiteTensor* scores = TfLiteInterpreterGetOutputTensor(interpreter, 0);
  const float* values = TfLiteTensorData(scores);
  for (size_t i = 0; i < TfLiteTensorByteSize(scores) / sizeof *values; ++i) {
    printf("%.6f\n", values[i]);
  }
  print_occupancy(delegate);

  TfLiteInterpreterDelete(interpreter);
  TfLiteInterpreterOptionsDelete(options);
  duspar_delegate_destroy(delegate); /* after its interpreters */
  TfLiteModelDelete(model);
  free(audio);
  return 0;
}
