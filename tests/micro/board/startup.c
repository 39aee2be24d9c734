/* Starts a program on an emulated board with a Cortex-M, without an operating
 * system: floating-point unit on, then newlib, whose input and output go
 * through the emulator. */
#include <stdint.h>

extern uint32_t stack_top, __bss_start__, __bss_end__;
extern void initialise_monitor_handles(void);
extern int main(void);
extern void exit(int code);

void _init(void) {}
void _fini(void) {}

static void start(void) {
  *(volatile uint32_t*)0xe000ed88 |= 0xf << 20; /* CPACR */
  __asm volatile("dsb\n isb");
  for (uint32_t* p = &__bss_start__; p < &__bss_end__; ++p) *p = 0;
  initialise_monitor_handles();
  exit(main());
}

static void stop(void) {
  /* Semihosting: exit with an error. */
  register uint32_t call __asm("r0") = 0x18, why __asm("r1") = 0x20023;
  __asm volatile("bkpt 0xab" : : "r"(call), "r"(why));
  for (;;) {
  }
}

__attribute__((section(".vectors"), used)) static void* const vectors[16] = {
    &stack_top,  (void*)start, (void*)stop, (void*)stop,
    (void*)stop, (void*)stop,  (void*)stop, (void*)stop};
