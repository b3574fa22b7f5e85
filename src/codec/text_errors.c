/* SPDX-License-Identifier: Apache-2.0 */
/* A short list: searching and sorting it costs nothing beside the document. */
#include "codec/text_errors.h"

#include <stdlib.h>

bool
udpai_text_errors_add(udpai_text_errors *errors,
                      const udpai_text_error *error,
                      const udpai_tree *node)
{
    if (errors->found.n == UDPAI_TEXT_ERRORS_MAX || !udpai_vector_reserve(&errors->found, 1) ||
        !udpai_vector_push(&errors->refused, node))
        return false;
    return udpai_vector_push(&errors->found, *error);
}

bool
udpai_text_errors_has(const udpai_text_errors *errors, const udpai_tree *node)
{
    for (size_t i = 0; i < errors->refused.n; i++)
        if (errors->refused.items[i] == node)
            return true;
    return false;
}

static int
compare(const void *a, const void *b)
{
    const udpai_text_error *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

void
udpai_text_errors_sort(udpai_text_errors *errors)
{
    if (errors->found.n > 1)
        qsort(errors->found.items, errors->found.n, sizeof(*errors->found.items), compare);
}

void
udpai_text_errors_done(udpai_text_errors *errors)
{
    for (size_t i = 0; i < errors->found.n; i++)
        udpa_error_unref(errors->found.items[i].error);
    udpai_vector_done(&errors->found);
    udpai_vector_done(&errors->refused);
}
