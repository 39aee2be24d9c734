#include "training/workspace.h"

#include "base/lock.h"
#include "base/memory.h"
#include "duspar.h"

enum { BLOCKS = 256 };

typedef enum state { NOTHING, FREE, BUSY, LEFT } state;

typedef struct block {
  state state;
  void* memory;
  size_t bytes;
  uint64_t ticket;
} block;

/* Tickets grow, so the smallest one is the oldest. */
static duspar_lock lock = ATOMIC_FLAG_INIT;
static block blocks[BLOCKS];
static uint64_t last_ticket;
static size_t held, limit = (size_t)1 << 30;

/* The functions up to the interface are called with the lock. */

static void drop(block* b) {
  duspar_release(b->memory);
  held -= b->bytes;
  *b = (block){.state = NOTHING};
}

static block* find_ticket(uint64_t ticket, state wanted) {
  for (size_t i = 0; ticket != 0 && i < BLOCKS; ++i) {
    if (blocks[i].state == wanted && blocks[i].ticket == ticket) {
      return &blocks[i];
    }
  }
  return NULL;
}

/* The smallest free block that has room, but no one of twice the size. */
static block* find_free(size_t bytes) {
  block* best = NULL;
  for (size_t i = 0; i < BLOCKS; ++i) {
    block* b = &blocks[i];
    if (b->state == FREE && b->bytes >= bytes && b->bytes / 2 <= bytes &&
        (best == NULL || b->bytes < best->bytes)) {
      best = b;
    }
  }
  return best;
}

/* The oldest block that can go, those that are free first. */
static block* find_oldest(void) {
  block* oldest = NULL;
  for (size_t i = 0; i < BLOCKS; ++i) {
    block* b = &blocks[i];
    if (b->state != FREE && b->state != LEFT) continue;
    if (oldest == NULL || b->state < oldest->state ||
        (b->state == oldest->state && b->ticket < oldest->ticket)) {
      oldest = b;
    }
  }
  return oldest;
}

/* Drops blocks until there is room for `bytes` more. */
static block* make_room(size_t bytes) {
  block* b;
  if (bytes > limit) return NULL;
  while (held > limit - bytes && (b = find_oldest()) != NULL) drop(b);
  if (held > limit - bytes) return NULL;
  for (size_t i = 0; i < BLOCKS; ++i) {
    if (blocks[i].state == NOTHING) return &blocks[i];
  }
  if ((b = find_oldest()) != NULL) drop(b);
  return b;
}

static block* take(size_t bytes) {
  block* b = find_free(bytes);
  if (b == NULL && (b = make_room(bytes)) != NULL) {
    b->memory = duspar_allocate(bytes);
    if (b->memory == NULL) return NULL;
    duspar_expect_use(b->memory, bytes);
    b->bytes = bytes;
    held += bytes;
  }
  return b;
}

/* ---- Interface ---------------------------------------------------------- */

void* duspar_workspace_take(size_t bytes, uint64_t* ticket) {
  duspar_lock_acquire(&lock);
  block* b = take(bytes);
  void* memory = NULL;
  if (b != NULL) {
    b->state = BUSY;
    *ticket = b->ticket = ++last_ticket;
    memory = b->memory;
  }
  duspar_lock_release(&lock);
  return memory;
}

void duspar_workspace_leave(uint64_t ticket) {
  duspar_lock_acquire(&lock);
  block* b = find_ticket(ticket, BUSY);
  if (b != NULL) b->state = LEFT;
  duspar_lock_release(&lock);
}

void* duspar_workspace_claim(uint64_t ticket, size_t bytes) {
  duspar_lock_acquire(&lock);
  block* b = find_ticket(ticket, LEFT);
  void* memory = NULL;
  if (b != NULL && b->bytes >= bytes) {
    b->state = BUSY;
    memory = b->memory;
  }
  duspar_lock_release(&lock);
  return memory;
}

void duspar_workspace_release(uint64_t ticket) {
  duspar_lock_acquire(&lock);
  block* b = find_ticket(ticket, BUSY);
  if (b != NULL) b->state = FREE;
  if (b != NULL && held > limit) drop(b);
  duspar_lock_release(&lock);
}

int64_t duspar_train_memory(int64_t new_limit) {
  block* b;
  duspar_lock_acquire(&lock);
  if (new_limit >= 0) {
    limit = (uint64_t)new_limit < SIZE_MAX ? (size_t)new_limit : SIZE_MAX;
    while (held > limit && (b = find_oldest()) != NULL) drop(b);
  }
  const size_t bytes = held;
  duspar_lock_release(&lock);
  return (int64_t)bytes;
}
