/* Instructions per hop of an exported model, counted by the emulator: with
 * `-icount`, virtual time is a number of instructions, which the system timer
 * measures. */
#include <stdint.h>
#include <stdio.h>

#include "model.h"

static uint32_t timer(void) { return *(volatile uint32_t*)0xe000e018; }

static uint32_t ticks_of(uint32_t start) {
  return (start - timer()) & 0xffffff;
}

static void thousand_rounds(void) {
  __asm volatile("mov r0, #1000\n 1: subs r0, #1\n bne 1b" : : : "r0", "cc");
}

int main(void) {
  enum { HOPS = 100, SKIPPED = 20 };
  static int16_t samples[MODEL_SAMPLES];
  uint32_t noise = 1;
  double total = 0;
  *(volatile uint32_t*)0xe000e014 = 0xffffff; /* reload */
  *(volatile uint32_t*)0xe000e018 = 0;
  *(volatile uint32_t*)0xe000e010 = 5; /* on, with the processor's clock */
  uint32_t start = timer();
  for (int i = 0; i < 100; ++i) thousand_rounds();
  const double per_tick = 100 * 2001.0 / ticks_of(start);
  model_init();
  for (int hop = 0; hop < HOPS; ++hop) {
    for (int i = 0; i < MODEL_SAMPLES; ++i) {
      noise = noise * 1664525u + 1013904223u;
      samples[i] = (int16_t)((int32_t)(noise >> 18) - 8192);
    }
    start = timer();
    model_push(samples);
    if (hop >= SKIPPED) total += ticks_of(start) * per_tick;
  }
  printf("instructions %.0f\n", total / (HOPS - SKIPPED));
#ifdef MODEL_COUNTS
  double used = 0, all = 0;
  for (int i = 0; i < MODEL_OPERANDS; ++i) {
    uint32_t nonzeros, entries;
    model_count(i, &nonzeros, &entries);
    used += nonzeros;
    all += entries;
  }
  printf("occupancy %.4f\n", used / all);
#endif
  return 0;
}
