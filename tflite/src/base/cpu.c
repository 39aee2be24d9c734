#include "base/cpu.h"

#include <stdio.h>

#include "duspar.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
/* Asked of the processor itself: the compilers' own functions for this need
 * parts of their runtime that are missing when cross-compiling. */
#include <cpuid.h>

/* Whether the system saves these registers. */
static bool saves(unsigned registers) {
  const unsigned osxsave = 1u << 27, avx = 1u << 28;
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  if ((c & osxsave) == 0 || (c & avx) == 0) return false;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & registers) == registers;
}

enum { SAVES_256 = 0x06, SAVES_512 = 0xe6 };

/* Whether all these bits are set where extensions are listed. */
static bool has_extensions(unsigned ebx, unsigned ecx) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & ebx) == ebx &&
         (c & ecx) == ecx;
}

bool duspar_cpu_has_avx2(void) {
  return saves(SAVES_256) && has_extensions(1u << 5, 0);
}

bool duspar_cpu_has_fma(void) {
  unsigned a, b, c, d;
  return saves(SAVES_256) && __get_cpuid(1, &a, &b, &c, &d) &&
         (c & 1u << 12) != 0;
}

bool duspar_cpu_has_avx512(void) {
  const unsigned parts = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  return saves(SAVES_512) && has_extensions(parts, 0);
}

bool duspar_cpu_has_avx512_vnni(void) {
  return saves(SAVES_512) && has_extensions(0, 1u << 11);
}
#else
bool duspar_cpu_has_avx2(void) { return false; }

bool duspar_cpu_has_fma(void) { return false; }

bool duspar_cpu_has_avx512(void) { return false; }

bool duspar_cpu_has_avx512_vnni(void) { return false; }
#endif

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

bool duspar_cpu_has_dotprod(void) {
  const unsigned long asimddp = 1ul << 20;
  return (getauxval(AT_HWCAP) & asimddp) != 0;
}
#elif defined(__ARM_FEATURE_DOTPROD)
/* The system's compiler expects it of every processor, as Apple's does. */
bool duspar_cpu_has_dotprod(void) { return true; }
#else
bool duspar_cpu_has_dotprod(void) { return false; }
#endif

const char* duspar_cpu_features(void) {
#if defined(__aarch64__) || defined(_M_ARM64)
  /* NEON is a part of the architecture. */
  return duspar_cpu_has_dotprod() ? "neon dotprod" : "neon";
#else
  static _Thread_local char text[64];
  snprintf(text, sizeof text, "%s%s%s%s", duspar_cpu_has_avx2() ? " avx2" : "",
           duspar_cpu_has_fma() ? " fma" : "",
           duspar_cpu_has_avx512() ? " avx512" : "",
           duspar_cpu_has_avx512_vnni() ? " avx512_vnni" : "");
  return text[0] == ' ' ? text + 1 : text;
#endif
}
