/* The part of TFLite Micro's interface that a kernel needs: TFLMRegistration of
 * tensorflow/lite/micro/micro_common.h, and TfLiteNode and TfLiteEvalTensor of
 * tensorflow/lite/core/c/common.h with TF_LITE_STATIC_MEMORY, as of August
 * 2026, which the package `tflite-micro` of October 2026 shares. What a context
 * is has changed between the two, so nothing here looks into one. */
#ifndef DUSPAR_MICRO_TFLM_ABI_H_
#define DUSPAR_MICRO_TFLM_ABI_H_

#include "delegate/tflite_abi.h"

typedef struct tflm_tensor {
  void* data;
  tfl_ints* dims;
  int type;
} tflm_tensor;

/* The front of the structure, which is the same for TFLite and TFLite Micro. */
typedef struct tflm_node {
  tfl_ints* inputs;
  tfl_ints* outputs;
  tfl_ints* intermediates;
  void* user_data;
} tflm_node;

typedef struct tflm_registration {
  void* (*init)(void* context, const char* options, size_t size);
  void (*free)(void* context, void* data);
  tfl_status (*prepare)(void* context, tflm_node*);
  tfl_status (*invoke)(void* context, tflm_node*);
  void (*reset)(void* context, void* data);
  int32_t builtin_code;
  const char* custom_name;
} tflm_registration;

#endif /* DUSPAR_MICRO_TFLM_ABI_H_ */
