/* Compares our declarations of XLA's foreign function interface with XLA's own
 * header, which JAX brings: `jax.ffi.include_dir()`. It has only to compile. */
#include "same_layout.h"
#include "training/xla_abi.h"
#include "xla/ffi/api/c_api.h"

SAME_VALUE(FFI_EXTENSION_METADATA, XLA_FFI_Extension_Metadata);
SAME_VALUE(FFI_BUFFER, XLA_FFI_ArgType_BUFFER);
SAME_VALUE(FFI_BUFFER, XLA_FFI_RetType_BUFFER);
SAME_VALUE(FFI_INT32, XLA_FFI_DataType_S32);
SAME_VALUE(FFI_FLOAT32, XLA_FFI_DataType_F32);
SAME_VALUE(FFI_INVALID_ARGUMENT, XLA_FFI_Error_Code_INVALID_ARGUMENT);
SAME_VALUE(FFI_RESOURCE_EXHAUSTED, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
SAME_VALUE(FFI_STAGE_EXECUTE, XLA_FFI_ExecutionStage_EXECUTE);

SAME_SIZE(ffi_extension, XLA_FFI_Extension_Base);
SAME_PLACE(ffi_extension, type, XLA_FFI_Extension_Base, type);
SAME_PLACE(ffi_extension, next, XLA_FFI_Extension_Base, next);

SAME_SIZE(ffi_version, XLA_FFI_Api_Version);
SAME_PLACE(ffi_version, major, XLA_FFI_Api_Version, major_version);
SAME_PLACE(ffi_version, minor, XLA_FFI_Api_Version, minor_version);

SAME_PLACE(ffi_metadata, version, XLA_FFI_Metadata, api_version);
SAME_PLACE(ffi_metadata, traits, XLA_FFI_Metadata, traits);
SAME_PLACE(ffi_metadata_extension, metadata, XLA_FFI_Metadata_Extension,
           metadata);

SAME_SIZE(ffi_error_arguments, XLA_FFI_Error_Create_Args);
SAME_PLACE(ffi_error_arguments, message, XLA_FFI_Error_Create_Args, message);
SAME_PLACE(ffi_error_arguments, code, XLA_FFI_Error_Create_Args, errc);

SAME_PLACE(ffi_api, version, XLA_FFI_Api, api_version);
SAME_PLACE(ffi_api, create_error, XLA_FFI_Api, XLA_FFI_Error_Create);

SAME_SIZE(ffi_buffer, XLA_FFI_Buffer);
SAME_PLACE(ffi_buffer, type, XLA_FFI_Buffer, dtype);
SAME_PLACE(ffi_buffer, data, XLA_FFI_Buffer, data);
SAME_PLACE(ffi_buffer, rank, XLA_FFI_Buffer, rank);
SAME_PLACE(ffi_buffer, sizes, XLA_FFI_Buffer, dims);

SAME_SIZE(ffi_buffers, XLA_FFI_Args);
SAME_SIZE(ffi_buffers, XLA_FFI_Rets);
SAME_PLACE(ffi_buffers, count, XLA_FFI_Args, size);
SAME_PLACE(ffi_buffers, types, XLA_FFI_Args, types);
SAME_PLACE(ffi_buffers, items, XLA_FFI_Args, args);
SAME_PLACE(ffi_buffers, items, XLA_FFI_Rets, rets);

SAME_PLACE(ffi_frame, api, XLA_FFI_CallFrame, api);
SAME_PLACE(ffi_frame, stage, XLA_FFI_CallFrame, stage);
SAME_PLACE(ffi_frame, arguments, XLA_FFI_CallFrame, args);
SAME_PLACE(ffi_frame, results, XLA_FFI_CallFrame, rets);
