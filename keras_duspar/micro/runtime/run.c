/* Runs a program. */
#include "machine.h"

/* Returns the clocks that ticked; clock 0 always does. */
FUNCTION uint32_t run(machine* m) {
  const int32_t* end = m->program + m->words;
  m->clocks = 1;
  for (const int32_t* p = m->program; p < end; p += p[2]) {
    if (m->clocks >> p[1] & 1u) m->operations[p[0]](m, p + 3);
  }
  return m->clocks;
}

FUNCTION void read_int16(float* to, const int16_t* from, int32_t size) {
  for (int32_t i = 0; i < size; ++i) {
    to[i] = (float)from[i] * (1.0f / 32768.0f);
  }
}

FUNCTION void write_int16(int16_t* to, const float* from, int32_t size) {
  for (int32_t i = 0; i < size; ++i) {
    const float x = from[i] * 32768.0f;
    const float low = x > -32768.0f ? x : -32768.0f;
    number n;
    n.f = (low < 32767.0f ? low : 32767.0f) + 12582912.0f;
    to[i] = (int16_t)(n.i - 0x4b400000);
  }
}
