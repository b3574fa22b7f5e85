/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive doubly linked list with a sentinel. A node that is in no list points at itself, so that
 * removing it twice does no harm. */
#ifndef UDPAI_LIST_H
#define UDPAI_LIST_H

#include "base/util.h"

typedef struct udpai_list {
    struct udpai_list *prev, *next;
} udpai_list;

#define UDPAI_LIST_FOREACH(node, list)                                                             \
    for (udpai_list *node = (list)->next; node != (list); node = node->next)

/* The body may remove and free @p node. */
#define UDPAI_LIST_FOREACH_SAFE(node, list)                                                        \
    for (udpai_list *node = (list)->next, *node##_next = node->next; node != (list);               \
         node = node##_next, node##_next = node->next)

#define UDPAI_LIST_ENTRY(node, type, member) UDPAI_CONTAINER_OF(node, type, member)

static inline void
udpai_list_init(udpai_list *node)
{
    node->prev = node->next = node;
}

static inline bool
udpai_list_empty(const udpai_list *list)
{
    return list->next == list;
}

/* Is the node in some list? */
static inline bool
udpai_list_linked(const udpai_list *node)
{
    return node->next != node;
}

static inline void
udpai_list_remove(udpai_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    udpai_list_init(node);
}

static inline void
udpai_list_insert_before(udpai_list *position, udpai_list *node)
{
    node->prev = position->prev;
    node->next = position;
    position->prev->next = node;
    position->prev = node;
}

static inline void
udpai_list_append(udpai_list *list, udpai_list *node)
{
    udpai_list_insert_before(list, node);
}

static inline void
udpai_list_prepend(udpai_list *list, udpai_list *node)
{
    udpai_list_insert_before(list->next, node);
}

/* Removes and returns the first node, or NULL. */
static inline udpai_list *
udpai_list_pop(udpai_list *list)
{
    udpai_list *node = list->next;
    if (node == list)
        return NULL;
    udpai_list_remove(node);
    return node;
}

/* Moves all nodes of @p from to the end of @p to. */
static inline void
udpai_list_splice(udpai_list *to, udpai_list *from)
{
    if (udpai_list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    udpai_list_init(from);
}

#endif
