/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/source_dynamic.h"

#include "federation/connection.h"
#include "federation/recovery.h"

udpai_dynamic_source *
udpai_source_dynamic(const udpai_source *source)
{
    return source->dynamic;
}

/* In the beginning the resource may be about to come. */
void
udpai_source_set_dynamic(udpai_source *source, udpai_dynamic_source *dynamic)
{
    source->dynamic = dynamic;
    if (!dynamic) {
        source->by = udpa_bytes_unref(source->by);
        return;
    }
    source->is_absent = true;
    source->is_decided = source->owner->context->is_started;
}

bool
udpai_source_is_absent(const udpai_source *source)
{
    return source->is_absent;
}

udpai_str
udpai_source_by(const udpai_source *source)
{
    return source->by ? udpai_bytes_view(source->by) : (udpai_str){0};
}

udpai_source_kind
udpai_source_kind_of(const udpai_source *source)
{
    return source->kind;
}

void
udpai_source_set_version(udpai_source *source, udpai_source_version *version)
{
    udpa_bytes_unref(source->by);
    udpa_bytes_unref(source->address);
    source->by = UDPAI_TAKE(version->by);
    source->address = UDPAI_TAKE(version->address);
    source->kind = version->kind;
    (void)udpai_servers_set(source, false); /* without memory the first of them is dialled */
}

void
udpai_source_appear(udpai_source *source, void *target)
{
    const udpai_context *context = source->owner->context;
    udpai_source_put_target(source, target);
    source->is_absent = source->is_reached = false;
    source->n_failures = 0;
    udpai_faults_done(source);
    UDPAI_LIST_FOREACH (at, &source->scopes) /* so that what is in use is noted again */
        if (source->is_void)
            (void)udpai_origin_set_eligible(
                context->store, source->origin,
                udpai_bytes_view(UDPAI_LIST_ENTRY(at, udpai_scope, in_source)->type), false);
    source->is_void = false;
    udpai_source_set_keeping(source);
}

void *
udpai_source_hold_target(const udpai_source *source, void *target)
{
    return source->ref_target(target);
}

void
udpai_source_move(udpai_source *source, void *target, bool is_quick)
{
    udpai_source_set_target(source, target);
    if (is_quick)
        source->is_renewed = false;
    else
        udpai_source_dial_now(source);
}

bool
udpai_source_follow_template(udpai_source *source,
                             udpai_str name_space,
                             const udpai_node_info *client)
{
    udpai_source_version version = {
        .kind = source->kind,
        .address = udpa_bytes_ref(source->template->address),
    };
    udpai_source_set_version(source, &version);
    if (!udpai_source_set_client(source, name_space, client))
        return false;
    udpai_source_dial_now(source);
    return true;
}

/* With another link, so that later reports of the former one are ignored. */
static void
leave(udpai_source *source, const char *why)
{
    udpai_source_disown_stream(source);
    udpai_sources_relink(source->owner, source);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(UDPA_ERR_CLOSED, NULL, "%s", why);
    source->is_absent = true;
    udpai_timer_cancel(&source->retry);
    udpai_timer_cancel(&source->grace);
    udpai_source_closed(source, error);
    source->is_decided = true;
    source->is_reached = false;
    udpai_source_put_target(source, NULL);
    source->by = udpa_bytes_unref(source->by);
}

bool
udpai_source_leave(udpai_source *source)
{
    if (!udpai_source_disconnect(source))
        return false;
    leave(source, "the resource that defined it was removed");
    return true;
}

void
udpai_source_leave_configuration(udpai_source *source, udpai_order *hang_up)
{
    udpai_source_disconnect_by(source, hang_up);
    source->may_ask = source->stays_connected = false;
    udpai_recovery_end(source);
    leave(source, "it is not configured any more");
}

static void
forget_knowledge(const udpai_source *source)
{
    UDPAI_LIST_FOREACH (in_source, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(in_source, udpai_scope, in_source);
        size_t at = 0;
        udpai_source_request *request;
        scope->is_known = false;
        while ((request = udpai_map_next(&scope->requests, &at)))
            request->is_known = false;
    }
}

void
udpai_source_make_void(udpai_source *source)
{
    udpai_context *context = source->owner->context;
    udpai_store_withdraw_all(context->store, source->origin, (udpai_str){0}, (udpai_str){0}, NULL,
                             NULL);
    forget_knowledge(source);
    source->is_void = true;
    udpai_context_touch(context);
}
