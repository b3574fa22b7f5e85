/* SPDX-License-Identifier: Apache-2.0 */
/* A backend that is asked for its load, as a value. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/percent.h"
#include "base/strbuf.h"
#include "wire/entry.h"
#include "xds/orca_internal.h"

enum { /* field numbers of OrcaReport, and of OrcaLoadReportRequest */
    CLUSTER = 1,
    ADDRESS = 2,
    PORT = 3,
    METRICS = 4,
    REPORT_INTERVAL = 1,
};

udpai_orca_question *
udpai_orca_question_new(const udpai_orca_backend *backend)
{
    udpai_orca_question *question =
        udpai_alloc(sizeof(*question) + backend->cluster.len + backend->address.len);
    if (!question)
        return NULL;
    char *at = (char *)(question + 1);
    question->backend = *backend;
    question->backend.cluster = udpai_str_put(&at, backend->cluster);
    question->backend.address = udpai_str_put(&at, backend->address);
    question->name = udpai_orca_report_name(backend);
    if (question->name)
        return question;
    udpai_free(question);
    return NULL;
}

void
udpai_orca_question_drop(void *memory)
{
    udpai_orca_question *question = memory;
    if (!question)
        return;
    udpa_bytes_unref(question->name);
    udpai_free(question);
}

udpa_bytes *
udpai_orca_report_name(const udpai_orca_backend *backend)
{
    udpai_strbuf name = {0};
    char port[12];
    snprintf(port, sizeof(port), ":%" PRIu32, backend->port);
    udpai_strbuf_str(&name, backend->cluster);
    udpai_strbuf_putc(&name, '/');
    udpai_percent_encode_segment(&name, backend->address);
    udpai_percent_encode_segment(&name, udpai_str_from(port));
    return udpai_bytes_of(&name);
}

udpa_bytes *
udpai_orca_question_encode(const udpai_orca_question *question)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    udpai_duration_put(&writer, REPORT_INTERVAL, question->backend.interval_ms);
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (bytes) {
        writer = (udpai_proto_writer){room, 0};
        udpai_duration_put(&writer, REPORT_INTERVAL, question->backend.interval_ms);
    }
    return bytes;
}

static void
put_report(udpai_proto_writer *writer, const udpai_orca_backend *backend, udpai_str metrics)
{
    udpai_proto_put_bytes_opt(writer, CLUSTER, backend->cluster);
    udpai_proto_put_bytes_opt(writer, ADDRESS, backend->address);
    udpai_proto_put_varint_opt(writer, PORT, backend->port);
    udpai_proto_put_bytes(writer, METRICS, metrics);
}

udpa_err
udpai_orca_question_answer(const udpai_orca_question *question,
                           const udpai_orca_metrics *metrics,
                           udpa_resource **ret_resource)
{
    udpai_str bytes = udpai_bytes_view(udpai_orca_metrics_bytes(metrics, UDPAI_ORCA_V3));
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put_report(&writer, &question->backend, bytes);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_bytes_make(writer.size, &room);
    if (!body)
        return UDPA_ERR_NOMEM;
    writer = (udpai_proto_writer){room, 0};
    put_report(&writer, &question->backend, bytes);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_ORCA_REPORT), udpai_bytes_view(body));
    if (!any)
        return UDPA_ERR_NOMEM;
    const udpai_resource_parts parts = {
        .name = udpai_bytes_view(question->name),
        .any = any,
        .ttl_ms = 3 * question->backend.interval_ms + UDPAI_ORCA_TTL_SPARE_MS,
    };
    udpa_err err = udpai_resource_parts_check(&parts, NULL);
    return err == UDPA_OK ? udpai_resource_make(ret_resource, &parts) : err;
}
