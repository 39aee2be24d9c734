#include "cpu.h"

#include "duspar.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
/* Asked of the processor itself: the compilers' own functions for this need
 * parts of their runtime that are missing when cross-compiling. */
#include <cpuid.h>

enum { REGISTERS_256 = 0x06, REGISTERS_512 = 0xe6 };

/* Whether the system saves these registers. */
static bool saves_registers(unsigned leaf1_ecx, unsigned registers) {
  const unsigned osxsave = 1u << 27, avx = 1u << 28;
  if ((leaf1_ecx & osxsave) == 0 || (leaf1_ecx & avx) == 0) return false;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & registers) == registers;
}

bool duspar_cpu_has_avx2(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !saves_registers(c, REGISTERS_256))
    return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 5) != 0;
}

bool duspar_cpu_has_fma(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !saves_registers(c, REGISTERS_256))
    return false;
  return (c & 1u << 12) != 0;
}

bool duspar_cpu_has_avx512(void) {
  const unsigned parts = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  if (!saves_registers(c, REGISTERS_512)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & parts) == parts;
}
#else
bool duspar_cpu_has_avx2(void) { return false; }

bool duspar_cpu_has_fma(void) { return false; }

bool duspar_cpu_has_avx512(void) { return false; }
#endif

const char* duspar_cpu_features(void) {
#if defined(__aarch64__) || defined(_M_ARM64)
  return "neon"; /* a part of the architecture */
#else
  const bool avx2 = duspar_cpu_has_avx2();
  const bool fma = duspar_cpu_has_fma();
  return avx2 && fma ? "avx2 fma" : avx2 ? "avx2" : fma ? "fma" : "";
#endif
}
