/* The part of XLA's foreign function interface that a handler needs.
 *
 * XLA calls a handler with a frame of pointers to its buffers. The interface
 * is in C and versioned: structures begin with their size and grow at their
 * end. These are our own declarations, so that nothing is needed to build;
 * `tests/xla_official.c` compares them with XLA's own header where that is at
 * hand. Names differ from XLA's, so that both can be included.
 */
#ifndef DUSPAR_TRAINING_XLA_ABI_H_
#define DUSPAR_TRAINING_XLA_ABI_H_

#include <stddef.h>
#include <stdint.h>

/* Values are XLA's; the names are ours. */
enum { FFI_EXTENSION_METADATA = 1 };
enum { FFI_BUFFER = 1 };
enum { FFI_INT32 = 4, FFI_FLOAT32 = 11 };
enum { FFI_INVALID_ARGUMENT = 3, FFI_RESOURCE_EXHAUSTED = 8 };
enum { FFI_STAGE_EXECUTE = 3 };

typedef struct ffi_extension {
  size_t struct_size;
  int type;
  struct ffi_extension* next;
} ffi_extension;

typedef struct ffi_version {
  size_t struct_size;
  ffi_extension* extensions;
  int major;
  int minor;
} ffi_version;

/* What XLA asks of a handler before it is used. */
typedef struct ffi_metadata {
  size_t struct_size;
  ffi_version version;
  uint32_t traits;
} ffi_metadata;

typedef struct ffi_metadata_extension {
  ffi_extension base;
  ffi_metadata* metadata;
} ffi_metadata_extension;

typedef struct ffi_error_arguments {
  size_t struct_size;
  ffi_extension* extensions;
  const char* message;
  int code;
} ffi_error_arguments;

typedef struct ffi_api {
  size_t struct_size;
  ffi_extension* extensions;
  ffi_version version;
  const void* internal;
  struct XLA_FFI_Error* (*create_error)(ffi_error_arguments* arguments);
} ffi_api;

typedef struct ffi_buffer {
  size_t struct_size;
  ffi_extension* extensions;
  int type;
  void* data;
  int64_t rank;
  int64_t* sizes;
} ffi_buffer;

/* Arguments or results. */
typedef struct ffi_buffers {
  size_t struct_size;
  ffi_extension* extensions;
  int64_t count;
  int* types;
  ffi_buffer** items;
} ffi_buffers;

typedef struct ffi_frame {
  size_t struct_size;
  ffi_extension* extensions;
  const ffi_api* api;
  void* context;
  int stage;
  ffi_buffers arguments;
  ffi_buffers results;
} ffi_frame;

#endif /* DUSPAR_TRAINING_XLA_ABI_H_ */
