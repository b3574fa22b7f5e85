/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/visit.h"

#include <unistd.h>

#include "base/alloc.h"

void
udpai_visitor_done(udpai_visitor *visitor)
{
    udpa_bytes_unref(visitor->address);
    udpai_chain_unref(visitor->chain);
    udpai_trust_unref(visitor->trust);
    udpai_identity_unref(visitor->identity);
    udpa_error_unref(visitor->error);
    *visitor = (udpai_visitor){0};
}

udpai_http_head *
udpai_visit_head_free(udpai_http_head *head)
{
    if (head)
        udpai_http_head_done(head);
    udpai_free(head);
    return NULL;
}

udpai_visit *
udpai_visit_new(const udpai_visits *visits, udpai_http_head *head)
{
    udpai_visit *visit = udpai_alloc(visits->bytes);
    if (!visit) {
        udpai_visit_head_free(head);
        return NULL;
    }
    atomic_init(&visit->refs, 1);
    visit->visits = visits;
    visit->head = head;
    udpai_list_init(&visit->node);
    return visit;
}

udpai_visit *
udpai_visit_ref(udpai_visit *visit)
{
    atomic_fetch_add_explicit(&visit->refs, 1, memory_order_relaxed);
    return visit;
}

udpai_visit *
udpai_visit_unref(udpai_visit *visit)
{
    if (!visit || atomic_fetch_sub_explicit(&visit->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    udpai_visitor_done(&visit->visitor);
    udpai_visit_head_free(visit->head);
    udpai_strbuf_done(&visit->body);
    udpa_bytes_unref(visit->text);
    udpai_free(visit);
    return NULL;
}

void
udpai_handed_leave(void (*leave)(void *place), void *const places[UDPAI_HANDED_PLACES])
{
    for (size_t i = 0; leave && i < UDPAI_HANDED_PLACES; i++)
        leave(places[i]);
}

void
udpai_handed_done(udpai_handed *handed)
{
    udpai_tls_session_free(handed->tls);
    close(handed->socket);
    udpai_strbuf_done(&handed->early);
    udpai_strbuf_done(&handed->unsent);
    udpai_visitor_done(&handed->visitor);
    udpai_handed_leave(handed->leave, handed->places);
}
