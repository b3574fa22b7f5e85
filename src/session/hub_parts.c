/* SPDX-License-Identifier: Apache-2.0 */
/* What the hub has, for sessions, and for its transport. */
#include "session/hub_internal.h"

udpai_session *
udpai_hub_find_session(const udpai_hub *hub, uint64_t id)
{
    return udpai_map_get(&hub->sessions, (udpai_str){(const char *)&id, sizeof(id)});
}

udpai_session *
udpai_hub_next_session(const udpai_hub *hub, size_t *position)
{
    return udpai_map_next(&hub->sessions, position);
}

size_t
udpai_hub_n_sessions(const udpai_hub *hub)
{
    return hub->sessions.n;
}

udpai_fanout *
udpai_hub_fanout(udpai_hub *hub)
{
    return hub->fanout;
}

udpai_wheel *
udpai_hub_wheel(udpai_hub *hub)
{
    return hub->wheel;
}

udpai_decoder *
udpai_hub_decoder(udpai_hub *hub)
{
    return &hub->decoder;
}

int64_t
udpai_hub_wall_us(const udpai_hub *hub)
{
    return hub->env.wall_us(hub->env.userdata);
}

udpai_access *
udpai_hub_access(udpai_hub *hub)
{
    return &hub->access;
}

udpai_client_log *
udpai_hub_client_log(udpai_hub *hub)
{
    return &hub->client_log;
}

udpa_bytes *
udpai_hub_introduce(const udpai_hub *hub, bool is_source)
{
    return udpai_introduction_compose(&hub->introduction, hub->options.info, is_source);
}

bool
udpai_hub_has_twins(const udpai_hub *hub)
{
    return hub->introduction.twins != NULL;
}

uint64_t
udpai_hub_commit(const udpai_hub *hub)
{
    return hub->introduction.epoch ? hub->introduction.commit : 0;
}

const udpai_hub_options *
udpai_hub_settings(const udpai_hub *hub)
{
    return &hub->options;
}

void
udpai_hub_set_fanout_options(udpai_hub *hub, const udpai_fanout_options *options)
{
    hub->options.fanout = *options;
    udpai_fanout_set_options(hub->fanout, options);
}

void
udpai_hub_set_debounce(udpai_hub *hub, udpai_debounce_rules *rules)
{
    udpai_fanout_set_debounce(hub->fanout, rules);
}

udpai_topic *
udpai_hub_topic(const udpai_hub *hub, size_t kind)
{
    const udpai_topics *topics = hub->options.topics;
    if (!topics)
        return NULL;
    return hub->options.is_worker && topics->copies[kind] ? topics->copies[kind]
                                                          : topics->topics[kind];
}

void
udpai_hub_report(udpai_hub *hub, udpai_report *report)
{
    hub->env.report(hub->env.userdata, report);
}

udpa_err
udpai_hub_check_share(udpai_session *session, uint64_t client, udpa_error **ret_error)
{
    const udpai_hub_env *env = &session->hub->env;
    return env->check_share ? env->check_share(env->userdata, session, client, ret_error) : UDPA_OK;
}

udpai_meters *
udpai_hub_meters(const udpai_hub *hub)
{
    return hub->meters;
}

udpai_memory *
udpai_hub_memory(udpai_hub *hub)
{
    return &hub->memory;
}

void
udpai_hub_show_memory(udpai_hub *hub)
{
    const udpai_fanout_memory fanout = udpai_fanout_memory_of(hub->fanout);
    udpai_meter_set(hub->fanout_memory, fanout.all);
    udpai_meter_set(hub->responses_memory, fanout.responses);
    udpai_meter_set(hub->sessions_memory, hub->memory.bytes);
}

udpai_debts *
udpai_hub_debts(udpai_hub *hub)
{
    return &hub->debts;
}

const udpai_traffic *
udpai_hub_traffic(udpai_hub *hub, udpai_str type_url)
{
    return udpai_traffic_table_find(&hub->traffic, type_url);
}

bool
udpai_hub_is_draining(const udpai_hub *hub)
{
    return hub->is_draining;
}

const udpai_trace *
udpai_hub_trace_of(udpai_hub *hub, const udpai_render *what)
{
    return hub->traces.n ? udpai_recent_traces_find(&hub->traces, what, hub->wheel->now_ms) : NULL;
}
