/* The part of TFLite's C ABI that a delegate needs.
 *
 * TFLite is distributed without headers in its Python packages, so this
 * library brings its own declarations. They describe the layout that TFLite
 * has had since version 2.5; `tflite_abi.c` holds the sizes and offsets, and
 * `tests/abi_official.c` compares them with TFLite's own headers where these
 * are at hand. Names differ from TFLite's, so that both can be included.
 */
#ifndef DUSPAR_DELEGATE_TFLITE_ABI_H_
#define DUSPAR_DELEGATE_TFLITE_ABI_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values are TFLite's; the names are ours. */
enum { TFL_OK = 0, TFL_ERROR = 1 };
enum {
  TFL_FLOAT32 = 1,
  TFL_INT32 = 2,
  TFL_INT16 = 7,
  TFL_INT8 = 9,
  TFL_FLOAT16 = 10,
};
enum { TFL_MEMORY_MAPPED = 1, TFL_MEMORY_PERSISTENT_READ_ONLY = 5 };
enum {
  TFL_OPERATOR_ADD = 0,
  TFL_OPERATOR_CONCATENATION = 2,
  TFL_OPERATOR_DEQUANTIZE = 6,
  TFL_OPERATOR_FULLY_CONNECTED = 9,
  TFL_OPERATOR_LOGISTIC = 14,
  TFL_OPERATOR_MUL = 18,
  TFL_OPERATOR_CUSTOM = 32,
  TFL_OPERATOR_MEAN = 40,
  TFL_OPERATOR_DIV = 42,
  TFL_OPERATOR_STRIDED_SLICE = 45,
  TFL_OPERATOR_MAXIMUM = 55,
  TFL_OPERATOR_NEG = 59,
  TFL_OPERATOR_SUM = 74,
  TFL_OPERATOR_RSQRT = 76,
  TFL_OPERATOR_SQUARED_DIFFERENCE = 99,
};
enum { TFL_ACTIVATION_NONE = 0, TFL_ACTIVATION_RELU = 1 };
enum { TFL_AFFINE = 1 }; /* the type of a tensor's quantization */
enum { TFL_ALLOW_DYNAMIC_TENSORS = 1 };

typedef int tfl_status;

typedef struct tfl_ints {
  int size;
  int data[];
} tfl_ints;

typedef struct tfl_floats {
  int size;
  float data[];
} tfl_floats;

/* Parameters of a tensor's quantization. */
typedef struct tfl_affine {
  tfl_floats* scale;
  tfl_ints* zero_point;
  int32_t quantized_dimension;
} tfl_affine;

/* The front of the options of FULLY_CONNECTED; of ADD, MUL and DIV; and of
 * CONCATENATION, SUM and STRIDED_SLICE. */
typedef struct tfl_dense_params {
  int activation;
  int weights_format;
  bool keep_num_dims;
} tfl_dense_params;

typedef struct tfl_binary_params {
  int activation;
} tfl_binary_params;

typedef struct tfl_join_params {
  int axis;
  int activation;
} tfl_join_params;

typedef struct tfl_reduce_params {
  bool keep_dims;
} tfl_reduce_params;

typedef struct tfl_slice_params {
  int begin_mask;
  int end_mask;
  int ellipsis_mask;
  int new_axis_mask;
  int shrink_axis_mask;
} tfl_slice_params;

typedef struct tfl_context tfl_context;
typedef struct tfl_delegate tfl_delegate;
typedef struct tfl_node tfl_node;
typedef struct tfl_registration tfl_registration;
typedef struct tfl_tensor tfl_tensor;

struct tfl_tensor {
  int type;
  void* data;
  tfl_ints* dims;
  struct {
    float scale;
    int32_t zero_point;
  } params;
  int allocation_type;
  size_t bytes;
  const void* allocation;
  const char* name;
  tfl_delegate* delegate;
  int buffer_handle;
  bool data_is_stale;
  bool is_variable;
  struct {
    int type;
    void* params;
  } quantization;
  void* sparsity;
  const tfl_ints* dims_signature;
};

struct tfl_node {
  tfl_ints* inputs;
  tfl_ints* outputs;
  tfl_ints* intermediates;
  tfl_ints* temporaries;
  void* user_data;
  void* builtin_data;
  const void* custom_initial_data;
  int custom_initial_data_size;
  tfl_delegate* delegate;
  bool might_have_side_effect;
};

/* What `init` of a delegate's kernel receives. */
typedef struct tfl_delegate_params {
  tfl_delegate* delegate;
  tfl_ints* nodes_to_replace;
  tfl_ints* input_tensors;
  tfl_ints* output_tensors;
} tfl_delegate_params;

/* Passed by value. The tail grew over time; older runtimes read a prefix,
 * which the calling conventions of 64-bit processors allow. */
struct tfl_registration {
  void* (*init)(tfl_context*, const char* buffer, size_t length);
  void (*free)(tfl_context*, void* buffer);
  tfl_status (*prepare)(tfl_context*, tfl_node*);
  tfl_status (*invoke)(tfl_context*, tfl_node*);
  const char* (*profiling_string)(const tfl_context*, const tfl_node*);
  int32_t builtin_code;
  const char* custom_name;
  int version;
  void* registration_external;
  void* async_kernel;
  uint64_t inplace_operator;
};

/* Only the front of TFLite's structure: TFLite makes it, never we. */
struct tfl_context {
  size_t tensors_size;
  tfl_status (*get_execution_plan)(tfl_context*, tfl_ints** plan);
  tfl_tensor* tensors;
  void* impl;
  /* Takes ownership of `dims`, which comes from malloc. */
  tfl_status (*resize_tensor)(tfl_context*, tfl_tensor*, tfl_ints* dims);
  void (*report_error)(tfl_context*, const char* format, ...);
  tfl_status (*add_tensors)(tfl_context*, int count, int* first);
  tfl_status (*get_node_and_registration)(tfl_context*, int node, tfl_node**,
                                          tfl_registration**);
  tfl_status (*replace_nodes)(tfl_context*, tfl_registration, const tfl_ints*,
                              tfl_delegate*);
  int recommended_num_threads; /* below 1 if the app has not said */
  void* get_external_context;
  void* set_external_context;
  bool allow_fp32_relax_to_fp16;
  void* profiler;
  void* allocate_persistent_buffer;
  void* allocate_buffer_for_eval;
  void* request_scratch_buffer;
  void* get_scratch_buffer;
  void* resize_tensor_explicit;
  /* Into what parts nodes would be taken, until the next call. */
  tfl_status (*preview_partitions)(tfl_context*, const tfl_ints* nodes,
                                   tfl_delegate_params** parts, int* count);
};

struct tfl_delegate {
  void* data;
  tfl_status (*prepare)(tfl_context*, tfl_delegate*);
  void* copy_from_buffer_handle;
  void* copy_to_buffer_handle;
  void* free_buffer_handle;
  int64_t flags;
  void* opaque_delegate_builder;
};

#endif /* DUSPAR_DELEGATE_TFLITE_ABI_H_ */
