/* SPDX-License-Identifier: Apache-2.0 */
#include "model/span.h"

#include "base/alloc.h"

udpai_span *
udpai_span_new(void)
{
    udpai_span *span = udpai_alloc(sizeof(*span));
    if (span)
        udpai_list_init(&span->node);
    return span;
}

udpai_span *
udpai_span_free(udpai_span *span)
{
    if (!span)
        return NULL;
    udpai_list_remove(&span->node);
    udpa_bytes_unref(span->from);
    udpa_bytes_unref(span->type);
    udpa_bytes_unref(span->name);
    udpa_bytes_unref(span->last);
    udpai_vector_done(&span->links);
    udpai_free(span);
    return NULL;
}

void
udpai_spans_free(udpai_list *spans)
{
    udpai_list *at;
    while ((at = udpai_list_pop(spans)))
        udpai_span_free(UDPAI_LIST_ENTRY(at, udpai_span, node));
}
