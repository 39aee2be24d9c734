#if defined(__aarch64__)
#define KERNEL duspar_kernel_neon
#define KERNEL_NAME "neon"
#define KERNEL_USABLE true
#include "cpu.h"
#include "vector_neon.h"
/* The vectors come first. */
#include "kernel_body.h"
#endif
