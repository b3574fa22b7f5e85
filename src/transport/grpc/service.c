/* SPDX-License-Identifier: Apache-2.0 */
/* What is served, by path: the protocols that the thread was made with, health and reflection. */
#include "base/bytes.h"
#include "base/strbuf.h"
#include "transport/grpc/grpc_internal.h"

static const struct built_in {
    const char *path;
    udpa_err (*open)(udpai_stream *stream, udpa_error **ret_error);
} built_ins[] = {
    {"/grpc.health.v1.Health/Check", udpai_health_check_open},
    {"/grpc.health.v1.Health/Watch", udpai_health_watch_open},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", udpai_reflection_open},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", udpai_reflection_open},
};

/* "/package.Service/Method" */
static udpai_str
service_of(const char *path)
{
    const char *end = strrchr(path, '/');
    return (udpai_str){path + 1, end > path ? (size_t)(end - path - 1) : 0};
}

void
udpai_service_visit(const udpai_stream_thread *thread,
                    void (*visit)(void *userdata, udpai_str service),
                    void *userdata)
{
    udpai_str last = {0};
    size_t n = thread->n_methods + UDPAI_ARRAY_LEN(built_ins);
    for (size_t i = 0; i < n; i++) {
        const udpai_grpc_method *method = i < thread->n_methods ? &thread->methods[i] : NULL;
        if (method && !method->open)
            continue;
        udpai_str service =
            service_of(method ? method->path : built_ins[i - thread->n_methods].path);
        if (!udpai_str_eq(service, last)) /* methods of one service are adjacent */
            visit(userdata, service);
        last = service;
    }
}

struct search {
    udpai_str service;
    bool found;
};

static void
compare(void *userdata, udpai_str service)
{
    struct search *search = userdata;
    search->found |= udpai_str_eq(search->service, service);
}

bool
udpai_service_exists(const udpai_stream_thread *thread, udpai_str service)
{
    struct search search = {service, false};
    udpai_service_visit(thread, compare, &search);
    return search.found;
}

static void
append_name(void *userdata, udpai_str service)
{
    udpai_strbuf *text = userdata;
    if (text->len)
        udpai_strbuf_puts(text, ", ");
    udpai_strbuf_str(text, service);
}

/* What clients of a version that has ended ask for, which only need to be sent that. */
static bool
is_xds_v2(udpai_str path)
{
    static const char *const packages[] = {
        "/envoy.api.v2.",
        "/envoy.service.discovery.v2.",
        "/envoy.service.load_stats.v2.",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(packages); i++)
        if (udpai_str_starts(path, udpai_str_from(packages[i])))
            return true;
    return false;
}

static udpa_err
fail_unknown(const udpai_stream_thread *thread, udpai_str path, udpa_error **ret_error)
{
    if (is_xds_v2(path))
        return udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED,
                          "%.*s is version 2 of xDS, and here is version 3: set "
                          "transport_api_version and resource_api_version to V3 in the client",
                          UDPAI_SHOWN(path));
    udpai_strbuf names = {0};
    udpai_service_visit(thread, append_name, &names);
    udpa_err err = udpai_fail(
        ret_error, UDPA_ERR_UNIMPLEMENTED,
        "there is no method %.*s here: this server has the services %s", UDPAI_SHOWN(path),
        udpai_strbuf_failed(&names) ? "that grpc.reflection.v1 lists" : names.data);
    udpai_strbuf_done(&names);
    return err;
}

/* ---- taking streams ---- */

static udpa_err
admit(udpai_stream *stream, const udpai_caller *caller, udpa_error **ret_error)
{
    const udpai_client client = {.identity = caller->identity,
                                 .address = udpai_bytes_view(caller->address)};
    return udpai_admission_enter(&stream->thread->admission, &client, &stream->admitted, ret_error);
}

udpa_err
udpai_service_open(udpai_stream *stream,
                   udpai_str path,
                   const udpai_caller *caller,
                   udpa_error **ret_error)
{
    const udpai_stream_thread *thread = stream->thread;
    udpa_err err = admit(stream, caller, ret_error);
    if (err != UDPA_OK)
        return err;
    for (size_t i = 0; i < thread->n_methods; i++) {
        const udpai_grpc_method *method = &thread->methods[i];
        if (!udpai_str_eq(path, udpai_str_from(method->path)))
            continue;
        if (!method->open)
            return udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED, "%s",
                              (const char *)method->context);
        err = udpai_drain_check(stream, ret_error);
        if (err == UDPA_OK)
            err = udpai_session_stream_open(stream, method, caller, ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_spread_enter(stream, method);
        udpai_drain_enter(stream, method);
        return UDPA_OK;
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(built_ins); i++)
        if (udpai_str_eq(path, udpai_str_from(built_ins[i].path)))
            return built_ins[i].open(stream, ret_error);
    return fail_unknown(thread, path, ret_error);
}

void
udpai_service_refuse(udpai_stream *stream, udpa_err err, udpa_error *error)
{
    udpai_stream_thread *thread = stream->thread;
    atomic_fetch_add_explicit(&thread->stat_refused, 1, memory_order_relaxed);
    if (err == UDPA_ERR_LIMIT)
        udpai_hub_note(thread->hub, UDPAI_NOTE_LIMIT_REACHED, UDPA_LOG_WARNING,
                       UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code_of(err)}),
                       "a stream is rejected: %s",
                       error ? udpa_error_message(error) : udpa_err_text(err));
    if (stream->admitted)
        udpai_admission_leave(&thread->admission, UDPAI_TAKE(stream->admitted));
    if (thread->n_refusals < UDPAI_REFUSALS_MAX) {
        stream->is_refusal = true;
        thread->n_refusals++;
        if (!error)
            error = udpa_error_new(err, NULL, "%s", udpa_err_text(err));
        udpai_stream_finish(stream, error);
    } else {
        stream->carrier->cut(stream);
    }
    udpa_error_unref(error);
}
