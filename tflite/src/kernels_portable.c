#if defined(__GNUC__)
#define KERNEL duspar_kernel_portable
#define KERNEL_NAME "portable"
#define KERNEL_USABLE true
#include "cpu.h"
#include "vector_portable.h"
/* The vectors come first. */
#include "kernel_body.h"
#endif
