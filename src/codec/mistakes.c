/* SPDX-License-Identifier: Apache-2.0 */
/* A short list: searching and sorting it costs nothing beside the document. */
#include "codec/mistakes.h"

#include <stdlib.h>

bool
udpai_mistakes_add(udpai_mistakes *mistakes, const udpai_mistake *mistake, const udpai_tree *node)
{
    if (mistakes->found.n == UDPAI_MISTAKES_MAX || !udpai_vector_reserve(&mistakes->found, 1) ||
        !udpai_vector_push(&mistakes->refused, node))
        return false;
    return udpai_vector_push(&mistakes->found, *mistake);
}

bool
udpai_mistakes_has(const udpai_mistakes *mistakes, const udpai_tree *node)
{
    for (size_t i = 0; i < mistakes->refused.n; i++)
        if (mistakes->refused.items[i] == node)
            return true;
    return false;
}

static int
compare(const void *a, const void *b)
{
    const udpai_mistake *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

void
udpai_mistakes_sort(udpai_mistakes *mistakes)
{
    if (mistakes->found.n > 1)
        qsort(mistakes->found.items, mistakes->found.n, sizeof(*mistakes->found.items), compare);
}

void
udpai_mistakes_done(udpai_mistakes *mistakes)
{
    for (size_t i = 0; i < mistakes->found.n; i++)
        udpa_error_unref(mistakes->found.items[i].error);
    udpai_vector_done(&mistakes->found);
    udpai_vector_done(&mistakes->refused);
}
