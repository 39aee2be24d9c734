/* Checks that two declarations of one thing agree, when they are compiled. */
#ifndef DUSPAR_SAME_LAYOUT_H_
#define DUSPAR_SAME_LAYOUT_H_

#include <assert.h>
#include <stddef.h>

#define SAME_SIZE(ours, theirs) \
  static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, our_field, theirs, their_field)                      \
  static_assert(                                                              \
      offsetof(ours, our_field) == offsetof(theirs, their_field) &&           \
          sizeof(((ours*)0)->our_field) == sizeof(((theirs*)0)->their_field), \
      #theirs "." #their_field)
#define SAME_VALUE(ours, theirs) static_assert((int)(ours) == (int)(theirs), "")

#endif /* DUSPAR_SAME_LAYOUT_H_ */
