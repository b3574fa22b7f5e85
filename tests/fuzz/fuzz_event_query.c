/* SPDX-License-Identifier: Apache-2.0 */
/* The query of the page /events and a Last-Event-ID: whatever they are, an id that is written for
 * them is read back as the same places. */
#include "events/event_query.h"
#include "tests/fuzz/fuzz.h"

static void
check_id(const udpai_event_query *query)
{
    udpai_event_query again = *query;
    udpai_strbuf id = {0};
    udpai_event_query_put_id(query, &id);
    memset(again.last, 0, sizeof(again.last));
    udpai_event_query_go_on(&again, udpai_strbuf_view(&id));
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        FUZZ_CHECK(!query->has[i] || query->last[i].begun_us == 0 ||
                   (again.last[i].begun_us == query->last[i].begun_us &&
                    again.last[i].sequence == query->last[i].sequence));
    udpai_strbuf_done(&id);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_topics topics = {0};
    udpai_event_query query;
    const char *text = (const char *)data;
    const char *end = size ? memchr(text, '\n', size) : NULL;
    size_t n = end ? (size_t)(end - text) : size;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (udpai_topic_new(&topics.topics[i],
                            &(udpai_topic_options){(udpai_event_kind)i, 0, 0, 1}) != UDPA_OK)
            return 0;
    if (udpai_event_query_read(&query, &topics, (udpai_str){text, n}, NULL) == UDPA_OK) {
        n += end != NULL;
        udpai_event_query_go_on(&query, (udpai_str){text + n, size - n});
        check_id(&query);
    }
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        udpai_topic_free(topics.topics[i]);
    return 0;
}
