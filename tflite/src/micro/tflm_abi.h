/* The part of TFLite Micro's interface that a kernel needs: TFLMRegistration of
 * tensorflow/lite/micro/micro_common.h, and TfLiteNode and TfLiteEvalTensor of
 * tensorflow/lite/core/c/common.h with TF_LITE_STATIC_MEMORY, as of August
 * 2026, which the package `tflite-micro` of October 2026 shares. What a context
 * is has changed between the two, so nothing here looks into one. */
#ifndef DUSPAR_MICRO_TFLM_ABI_H_
#define DUSPAR_MICRO_TFLM_ABI_H_

#include "delegate/tflite_abi.h"

/* Enumerations, as TFLite's are: compilers for bare metal make them as small as
 * their values allow, others as large as an int. Both have small values. */
typedef enum tflm_status {
  TFLM_OK = TFL_OK,
  TFLM_ERROR = TFL_ERROR
} tflm_status;
typedef enum tflm_type {
  TFLM_NO_TYPE = 0,
  TFLM_FLOAT32 = TFL_FLOAT32,
  TFLM_INT32 = TFL_INT32,
  TFLM_INT16 = TFL_INT16,
  TFLM_INT8 = TFL_INT8,
} tflm_type;

typedef struct tflm_tensor {
  void* data;
  tfl_ints* dims;
  tflm_type type;
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
  tflm_status (*prepare)(void* context, tflm_node*);
  tflm_status (*invoke)(void* context, tflm_node*);
  void (*reset)(void* context, void* data);
  int32_t builtin_code;
  const char* custom_name;
} tflm_registration;

#endif /* DUSPAR_MICRO_TFLM_ABI_H_ */
