/* Memory that outlives a call: what a forward pass keeps for the backward
 * pass, used again by the next ones.
 *
 * Fresh memory costs a page fault for every page, which is a fifth of a
 * training step; so blocks are not given back to the system. All of them
 * together stay below a limit. A block may be lost between the passes: then
 * the backward pass computes its content again.
 */
#ifndef DUSPAR_TRAINING_WORKSPACE_H_
#define DUSPAR_TRAINING_WORKSPACE_H_

#include <stddef.h>
#include <stdint.h>

/* Takes a block of at least `bytes` bytes and sets `*ticket`, a number that no
 * other block has had. Returns NULL if the limit does not allow it; blocks
 * that wait for their backward pass are lost first, the oldest of them. */
void* duspar_workspace_take(size_t bytes, uint64_t* ticket);

/* Leaves a block until someone claims it. */
void duspar_workspace_leave(uint64_t ticket);

/* Returns a block that was left, or NULL if it is lost or of less than `bytes`
 * bytes. Nobody else can claim it again. */
void* duspar_workspace_claim(uint64_t ticket, size_t bytes);

/* Gives a block back that was taken or claimed. 0 is allowed. */
void duspar_workspace_release(uint64_t ticket);

#endif /* DUSPAR_TRAINING_WORKSPACE_H_ */
