/* SPDX-License-Identifier: Apache-2.0 */
/* A mark of something that must be computed again with the next flush. A part below sets it, and so
 * need not know what it belongs to: a source sets that of its client group. */
#ifndef UDPAI_FEDERATION_MARK_H
#define UDPAI_FEDERATION_MARK_H

#include "base/list.h"

typedef struct udpai_mark {
    udpai_list in_marked;
    udpai_list *marked; /* the list of all that are set */
} udpai_mark;

static inline void
udpai_mark_init(udpai_mark *mark, udpai_list *marked)
{
    udpai_list_init(&mark->in_marked);
    mark->marked = marked;
}

static inline void
udpai_mark_set(udpai_mark *mark)
{
    if (!udpai_list_linked(&mark->in_marked))
        udpai_list_append(mark->marked, &mark->in_marked);
}

static inline void
udpai_mark_done(udpai_mark *mark)
{
    udpai_list_remove(&mark->in_marked);
}

#endif
