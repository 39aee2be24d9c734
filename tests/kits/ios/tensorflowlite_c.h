#include "tensorflow/lite/c/c_api.h"
#include "tensorflow/lite/c/common.h"

/* Of TFLite's experimental header, which is not at hand. */
int32_t TfLiteInterpreterGetInputTensorIndex(const TfLiteInterpreter*, int32_t);
int32_t TfLiteInterpreterGetOutputTensorIndex(const TfLiteInterpreter*,
                                              int32_t);
