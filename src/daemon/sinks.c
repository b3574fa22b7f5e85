/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sinks.h"

#include "sinks/forward.h"

static bool
writes_any(const udpai_plan_sinks *sinks)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (sinks->files[i].path)
            return true;
    return false;
}

udpa_err
udpai_daemon_sinks_open(udpai_event_writer **ret_writer,
                        const udpai_plan *plan,
                        const udpai_schema *schema,
                        udpa_error **ret_error)
{
    const udpai_plan_sinks *sinks = &plan->sinks;
    udpai_event_writer *writer = NULL;
    if (!writes_any(sinks))
        return UDPA_OK;
    udpa_err err = udpai_event_writer_new(&writer, schema, sinks->files, ret_error);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS && err == UDPA_OK; i++)
        if (sinks->files[i].path)
            udpai_topic_set_writer(sinks->all.topics[i], udpai_event_writer_take, writer);
    if (err == UDPA_OK)
        *ret_writer = writer;
    return err;
}

void
udpai_daemon_sinks_close(const udpai_plan *plan, udpai_event_writer *writer)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (plan->sinks.all.forwards[i])
            udpai_forward_forget_hub(plan->sinks.all.forwards[i]);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (plan->sinks.all.topics[i])
            udpai_topic_flush(plan->sinks.all.topics[i]);
    udpai_event_writer_free(writer);
}
