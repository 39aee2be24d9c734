/* A plugin for QEMU's user mode that counts the instructions of a function:
 *
 *   qemu-aarch64 -plugin libcount.so,from=ADDRESS,to=ADDRESS PROGRAM
 *
 * It prints, on the standard error, how many instructions ran between the one
 * at `from`, the first of a function, and the one at `to`, the first of
 * another, each time that the latter is reached. `benchmarks/kernels.py
 * --instructions` runs it.
 *
 * What is declared here is version 1 of QEMU's interface for plugins, which
 * Debian has no header of.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { NO_REGISTERS = 0, ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id,
                                           void (*)(plugin_id,
                                                    struct qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb*,
                                          void (*)(unsigned, void*), int flags,
                                          void*);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*,
                                              int operation, void*,
                                              uint64_t by);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb*);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);

EXPORT int qemu_plugin_version = 1;

static uint64_t from, to, instructions;

static void begin(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  instructions = 0;
}

static void end(unsigned cpu, void* data) {
  (void)cpu, (void)data;
  fprintf(stderr, "instructions %" PRIu64 "\n", instructions);
}

/* Calls begin blocks, so that a function's first instruction is that of one.
 * What is registered first runs first. */
static void translate(plugin_id id, struct qemu_plugin_tb* block) {
  const uint64_t at = qemu_plugin_tb_vaddr(block);
  (void)id;
  if (at == from || at == to) {
    qemu_plugin_register_vcpu_tb_exec_cb(block, at == from ? begin : end,
                                         NO_REGISTERS, NULL);
  }
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &instructions,
                                           qemu_plugin_tb_n_insns(block));
}

EXPORT int qemu_plugin_install(plugin_id id, const void* info, int argc,
                               char** argv) {
  (void)info;
  for (int i = 0; i < argc; ++i) {
    if (strncmp(argv[i], "from=", 5) == 0) from = strtoull(argv[i] + 5, 0, 0);
    if (strncmp(argv[i], "to=", 3) == 0) to = strtoull(argv[i] + 3, 0, 0);
  }
  if (from == 0 || to == 0) {
    fputs("from=ADDRESS and to=ADDRESS must be given\n", stderr);
    return -1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  return 0;
}
