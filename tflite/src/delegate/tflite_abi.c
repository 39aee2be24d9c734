/* The layout of TFLite's structures, as numbers. */
#include "delegate/tflite_abi.h"

#include <assert.h>

#define OFFSET(type, field, bytes) \
  static_assert(offsetof(type, field) == (bytes), #type "." #field)
#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type)

#if UINTPTR_MAX == UINT64_MAX
OFFSET(tfl_tensor, type, 0);
OFFSET(tfl_tensor, data, 8);
OFFSET(tfl_tensor, dims, 16);
OFFSET(tfl_tensor, params, 24);
OFFSET(tfl_tensor, allocation_type, 32);
OFFSET(tfl_tensor, bytes, 40);
OFFSET(tfl_tensor, allocation, 48);
OFFSET(tfl_tensor, name, 56);
OFFSET(tfl_tensor, delegate, 64);
OFFSET(tfl_tensor, buffer_handle, 72);
OFFSET(tfl_tensor, data_is_stale, 76);
OFFSET(tfl_tensor, is_variable, 77);
OFFSET(tfl_tensor, quantization, 80);
OFFSET(tfl_tensor, sparsity, 96);
OFFSET(tfl_tensor, dims_signature, 104);
SIZE(tfl_tensor, 112);

OFFSET(tfl_affine, scale, 0);
OFFSET(tfl_affine, zero_point, 8);
OFFSET(tfl_affine, quantized_dimension, 16);

OFFSET(tfl_node, inputs, 0);
OFFSET(tfl_node, outputs, 8);
OFFSET(tfl_node, user_data, 32);
OFFSET(tfl_node, builtin_data, 40);
OFFSET(tfl_node, custom_initial_data, 48);
OFFSET(tfl_node, custom_initial_data_size, 56);
OFFSET(tfl_node, delegate, 64);
OFFSET(tfl_node, might_have_side_effect, 72);
SIZE(tfl_node, 80);

OFFSET(tfl_delegate_params, delegate, 0);
OFFSET(tfl_delegate_params, nodes_to_replace, 8);
SIZE(tfl_delegate_params, 32);

OFFSET(tfl_registration, init, 0);
OFFSET(tfl_registration, free, 8);
OFFSET(tfl_registration, prepare, 16);
OFFSET(tfl_registration, invoke, 24);
OFFSET(tfl_registration, profiling_string, 32);
OFFSET(tfl_registration, builtin_code, 40);
OFFSET(tfl_registration, custom_name, 48);
OFFSET(tfl_registration, version, 56);
OFFSET(tfl_registration, inplace_operator, 80);
SIZE(tfl_registration, 88);

OFFSET(tfl_context, tensors_size, 0);
OFFSET(tfl_context, get_execution_plan, 8);
OFFSET(tfl_context, tensors, 16);
OFFSET(tfl_context, resize_tensor, 32);
OFFSET(tfl_context, report_error, 40);
OFFSET(tfl_context, get_node_and_registration, 56);
OFFSET(tfl_context, replace_nodes, 64);
OFFSET(tfl_context, recommended_num_threads, 72);
OFFSET(tfl_context, preview_partitions, 152);

OFFSET(tfl_delegate, data, 0);
OFFSET(tfl_delegate, prepare, 8);
OFFSET(tfl_delegate, flags, 40);
OFFSET(tfl_delegate, opaque_delegate_builder, 48);
SIZE(tfl_delegate, 56);
#endif

#if defined(__arm__)
/* The registration goes by value in registers and on the stack, so its size
 * and alignment decide where the arguments behind it are: TFLite has had these
 * since 2.14. */
SIZE(tfl_registration, 48);
static_assert(_Alignof(tfl_registration) == 8, "tfl_registration");
OFFSET(tfl_registration, inplace_operator, 40);
SIZE(tfl_tensor, 64);
SIZE(tfl_node, 40);
SIZE(tfl_delegate_params, 16);
OFFSET(tfl_context, replace_nodes, 32);
OFFSET(tfl_context, recommended_num_threads, 36);
OFFSET(tfl_context, preview_partitions, 76);
OFFSET(tfl_delegate, flags, 24);
SIZE(tfl_delegate, 40);
#endif

#if defined(__i386__)
/* It goes on the stack here, with its size between what is around it. */
SIZE(tfl_registration, 48);
OFFSET(tfl_registration, inplace_operator, 40);
SIZE(tfl_tensor, 64);
SIZE(tfl_node, 40);
OFFSET(tfl_context, replace_nodes, 32);
OFFSET(tfl_context, preview_partitions, 76);
OFFSET(tfl_delegate, flags, 20);
#endif

OFFSET(tfl_ints, data, sizeof(int));
OFFSET(tfl_floats, data, sizeof(int));
OFFSET(tfl_dense_params, activation, 0);
OFFSET(tfl_dense_params, weights_format, 4);
OFFSET(tfl_dense_params, keep_num_dims, 8);
OFFSET(tfl_binary_params, activation, 0);
OFFSET(tfl_join_params, axis, 0);
OFFSET(tfl_join_params, activation, 4);
OFFSET(tfl_reduce_params, keep_dims, 0);
OFFSET(tfl_slice_params, begin_mask, 0);
OFFSET(tfl_slice_params, end_mask, 4);
OFFSET(tfl_slice_params, ellipsis_mask, 8);
OFFSET(tfl_slice_params, new_axis_mask, 12);
OFFSET(tfl_slice_params, shrink_axis_mask, 16);
