/* Compares our declarations of TFLite's ABI with TFLite's own headers.
 *
 * Built when CMake is given TFLITE_INCLUDE_DIR: a checkout of TensorFlow, or
 * of LiteRT, which has the same header in another folder, and those of LiteRT
 * 2.
 */
#if defined(__has_include) && __has_include("tflite/core/c/common.h")
#include "tflite/builtin_ops.h"
#include "tflite/core/c/builtin_op_data.h"
#include "tflite/core/c/common.h"
#else
#include "tensorflow/lite/builtin_ops.h"
#include "tensorflow/lite/core/c/builtin_op_data.h"
#include "tensorflow/lite/core/c/common.h"
#endif

#include "base/memory.h"
#include "delegate/tflite_abi.h"
#include "same_layout.h"

SAME_VALUE(TFL_OK, kTfLiteOk);
SAME_VALUE(TFL_ERROR, kTfLiteError);
SAME_VALUE(TFL_FLOAT32, kTfLiteFloat32);
SAME_VALUE(TFL_INT16, kTfLiteInt16);
SAME_VALUE(TFL_INT8, kTfLiteInt8);
SAME_VALUE(TFL_INT32, kTfLiteInt32);
SAME_VALUE(TFL_MEMORY_MAPPED, kTfLiteMmapRo);
SAME_VALUE(TFL_MEMORY_PERSISTENT_READ_ONLY, kTfLitePersistentRo);
SAME_VALUE(TFL_ALLOW_DYNAMIC_TENSORS, kTfLiteDelegateFlagsAllowDynamicTensors);
SAME_VALUE(TFL_FLOAT16, kTfLiteFloat16);
SAME_VALUE(TFL_OPERATOR_CUSTOM, kTfLiteBuiltinCustom);
SAME_VALUE(TFL_OPERATOR_ADD, kTfLiteBuiltinAdd);
SAME_VALUE(TFL_OPERATOR_DEQUANTIZE, kTfLiteBuiltinDequantize);
SAME_VALUE(TFL_OPERATOR_FULLY_CONNECTED, kTfLiteBuiltinFullyConnected);
SAME_VALUE(TFL_OPERATOR_LOGISTIC, kTfLiteBuiltinLogistic);
SAME_VALUE(TFL_OPERATOR_MUL, kTfLiteBuiltinMul);
SAME_VALUE(TFL_OPERATOR_MEAN, kTfLiteBuiltinMean);
SAME_VALUE(TFL_OPERATOR_CONCATENATION, kTfLiteBuiltinConcatenation);
SAME_VALUE(TFL_OPERATOR_DIV, kTfLiteBuiltinDiv);
SAME_VALUE(TFL_OPERATOR_STRIDED_SLICE, kTfLiteBuiltinStridedSlice);
SAME_VALUE(TFL_OPERATOR_MAXIMUM, kTfLiteBuiltinMaximum);
SAME_VALUE(TFL_OPERATOR_NEG, kTfLiteBuiltinNeg);
SAME_VALUE(TFL_OPERATOR_SUM, kTfLiteBuiltinSum);
SAME_VALUE(TFL_OPERATOR_RSQRT, kTfLiteBuiltinRsqrt);
SAME_VALUE(TFL_OPERATOR_SQUARED_DIFFERENCE, kTfLiteBuiltinSquaredDifference);
SAME_VALUE(TFL_ACTIVATION_NONE, kTfLiteActNone);
SAME_VALUE(TFL_ACTIVATION_RELU, kTfLiteActRelu);
SAME_VALUE(TFL_AFFINE, kTfLiteAffineQuantization);
SAME_PLACE(tfl_affine, scale, TfLiteAffineQuantization, scale);
SAME_PLACE(tfl_affine, zero_point, TfLiteAffineQuantization, zero_point);
SAME_PLACE(tfl_affine, quantized_dimension, TfLiteAffineQuantization,
           quantized_dimension);
SAME_PLACE(tfl_dense_params, activation, TfLiteFullyConnectedParams,
           activation);
SAME_PLACE(tfl_dense_params, weights_format, TfLiteFullyConnectedParams,
           weights_format);
SAME_PLACE(tfl_dense_params, keep_num_dims, TfLiteFullyConnectedParams,
           keep_num_dims);
SAME_PLACE(tfl_binary_params, activation, TfLiteAddParams, activation);
SAME_PLACE(tfl_binary_params, activation, TfLiteMulParams, activation);
SAME_PLACE(tfl_binary_params, activation, TfLiteDivParams, activation);
SAME_PLACE(tfl_join_params, axis, TfLiteConcatenationParams, axis);
SAME_PLACE(tfl_join_params, activation, TfLiteConcatenationParams, activation);
SAME_PLACE(tfl_reduce_params, keep_dims, TfLiteReducerParams, keep_dims);
SAME_PLACE(tfl_slice_params, begin_mask, TfLiteStridedSliceParams, begin_mask);
SAME_PLACE(tfl_slice_params, end_mask, TfLiteStridedSliceParams, end_mask);
SAME_PLACE(tfl_slice_params, ellipsis_mask, TfLiteStridedSliceParams,
           ellipsis_mask);
SAME_PLACE(tfl_slice_params, new_axis_mask, TfLiteStridedSliceParams,
           new_axis_mask);
SAME_PLACE(tfl_slice_params, shrink_axis_mask, TfLiteStridedSliceParams,
           shrink_axis_mask);
SAME_SIZE(tfl_status, TfLiteStatus);

SAME_PLACE(tfl_ints, size, TfLiteIntArray, size);
static_assert(offsetof(tfl_ints, data) == offsetof(TfLiteIntArray, data), "");

#define TENSOR(field) SAME_PLACE(tfl_tensor, field, TfLiteTensor, field)
SAME_SIZE(tfl_tensor, TfLiteTensor);
TENSOR(type);
TENSOR(data);
TENSOR(dims);
TENSOR(params);
TENSOR(allocation_type);
TENSOR(bytes);
TENSOR(allocation);
TENSOR(name);
TENSOR(delegate);
TENSOR(buffer_handle);
TENSOR(data_is_stale);
TENSOR(is_variable);
TENSOR(quantization);
TENSOR(sparsity);
TENSOR(dims_signature);

#define NODE(field) SAME_PLACE(tfl_node, field, TfLiteNode, field)
SAME_SIZE(tfl_node, TfLiteNode);
NODE(inputs);
NODE(outputs);
NODE(intermediates);
NODE(temporaries);
NODE(user_data);
NODE(builtin_data);
NODE(custom_initial_data);
NODE(custom_initial_data_size);
NODE(delegate);
NODE(might_have_side_effect);

#define PARAMS(field) \
  SAME_PLACE(tfl_delegate_params, field, TfLiteDelegateParams, field)
SAME_SIZE(tfl_delegate_params, TfLiteDelegateParams);
PARAMS(delegate);
PARAMS(nodes_to_replace);
PARAMS(input_tensors);
PARAMS(output_tensors);

#define REGISTRATION(field) \
  SAME_PLACE(tfl_registration, field, TfLiteRegistration, field)
/* Ours may be longer than that of an older TFLite, but never shorter. */
static_assert(sizeof(tfl_registration) >= sizeof(TfLiteRegistration),
              "TFLite's registration has grown: add its new fields");
REGISTRATION(init);
REGISTRATION(free);
REGISTRATION(prepare);
REGISTRATION(invoke);
REGISTRATION(profiling_string);
REGISTRATION(builtin_code);
REGISTRATION(custom_name);
REGISTRATION(version);

#define CONTEXT(ours, theirs) \
  SAME_PLACE(tfl_context, ours, TfLiteContext, theirs)
CONTEXT(tensors_size, tensors_size);
CONTEXT(get_execution_plan, GetExecutionPlan);
CONTEXT(tensors, tensors);
CONTEXT(impl, impl_);
CONTEXT(resize_tensor, ResizeTensor);
CONTEXT(report_error, ReportError);
CONTEXT(add_tensors, AddTensors);
CONTEXT(get_node_and_registration, GetNodeAndRegistration);
CONTEXT(replace_nodes, ReplaceNodeSubsetsWithDelegateKernels);
CONTEXT(recommended_num_threads, recommended_num_threads);
CONTEXT(preview_partitions, PreviewDelegatePartitioning);

#define DELEGATE(ours, theirs) \
  SAME_PLACE(tfl_delegate, ours, struct TfLiteDelegate, theirs)
DELEGATE(data, data_);
DELEGATE(prepare, Prepare);
DELEGATE(copy_from_buffer_handle, CopyFromBufferHandle);
DELEGATE(copy_to_buffer_handle, CopyToBufferHandle);
DELEGATE(free_buffer_handle, FreeBufferHandle);
DELEGATE(flags, flags);
DELEGATE(opaque_delegate_builder, opaque_delegate_builder);

#if defined(__has_include) && __has_include("litert/c/litert_options.h")
#include "litert/c/litert_custom_op_kernel.h"
#include "litert/c/litert_model_types.h"
#include "litert/c/litert_options.h"
#include "litert/c/litert_tensor_buffer.h"
#include "litert/c/litert_tensor_buffer_types.h"
#include "litert2/litert_abi.h"

SAME_VALUE(LRT_OK, kLiteRtStatusOk);
SAME_VALUE(LRT_INVALID, kLiteRtStatusErrorInvalidArgument);
SAME_VALUE(LRT_FAILURE, kLiteRtStatusErrorRuntimeFailure);
SAME_VALUE(LRT_LOCK_READ, kLiteRtTensorBufferLockModeRead);
SAME_VALUE(LRT_LOCK_WRITE, kLiteRtTensorBufferLockModeWrite);
SAME_VALUE(LRT_MAX_RANK, LITERT_TENSOR_MAX_RANK);
SAME_VALUE(DUSPAR_ALIGNMENT, LITERT_HOST_MEMORY_BUFFER_ALIGNMENT);
SAME_VALUE(TFL_FLOAT32, kLiteRtElementTypeFloat32);
SAME_VALUE(TFL_INT32, kLiteRtElementTypeInt32);
SAME_VALUE(TFL_INT16, kLiteRtElementTypeInt16);
SAME_VALUE(TFL_INT8, kLiteRtElementTypeInt8);
SAME_SIZE(lrt_layout, LiteRtLayout);
SAME_PLACE(lrt_layout, dimensions, LiteRtLayout, dimensions);
SAME_SIZE(lrt_tensor_type, LiteRtRankedTensorType);
SAME_PLACE(lrt_tensor_type, layout, LiteRtRankedTensorType, layout);
SAME_SIZE(lrt_kernel, LiteRtCustomOpKernel);
SAME_PLACE(lrt_kernel, init, LiteRtCustomOpKernel, Init);
SAME_PLACE(lrt_kernel, layouts, LiteRtCustomOpKernel, GetOutputLayouts);
SAME_PLACE(lrt_kernel, run, LiteRtCustomOpKernel, Run);
SAME_PLACE(lrt_kernel, destroy, LiteRtCustomOpKernel, Destroy);
#endif
