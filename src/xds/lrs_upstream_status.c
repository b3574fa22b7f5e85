/* SPDX-License-Identifier: Apache-2.0 */
/* A session that reports to a server, described as udpa.status.v1.SessionStatus. */
#include "session/status.h"
#include "wire/entry.h"
#include "xds/lrs_upstream_internal.h"

enum { /* field number in SessionStatus */
    LOAD_REPORTING = 20,
};

enum { /* in LoadReportingStatus */
    ALL_CLUSTERS = 1,
    CLUSTERS = 2,
    N_REPORTS = 3,
    N_COUNTED = 4,
    N_REFUSED = 6,
    LAST_ERROR = 7,
    REFUSED = 8,
    INTERVAL = 9,
    PER_ENDPOINT = 10,
    SOURCE = 11,
};

static void
put_clusters(udpai_proto_writer *writer, const udpai_lrs_upstream *upstream)
{
    size_t at = 0, n = 0;
    const udpai_lrs_account *account;
    while (n < UDPAI_LRS_UPSTREAM_NAMES_MAX && (account = udpai_map_next(&upstream->accounts, &at)))
        if (account->is_named) {
            udpai_proto_put_bytes(writer, CLUSTERS, udpai_lrs_account_name(upstream, account));
            n++;
        }
}

static size_t
count_begun(const udpai_lrs_upstream *upstream)
{
    size_t at = 0, n = 0;
    const udpai_lrs_account *account;
    while ((account = udpai_map_next(&upstream->accounts, &at)))
        n += account->has_begun;
    return n;
}

static void
put_reporting(udpai_proto_writer *writer, const udpai_lrs_upstream_session *self)
{
    udpai_proto_put_varint_opt(writer, ALL_CLUSTERS, self->upstream->subscribes_all);
    put_clusters(writer, self->upstream);
    udpai_proto_put_varint_opt(writer, N_REPORTS, self->n_reports);
    udpai_proto_put_varint_opt(writer, N_COUNTED, count_begun(self->upstream));
    udpai_proto_put_varint_opt(writer, N_REFUSED, self->n_refused);
    if (self->last_error)
        udpai_proto_put_bytes(writer, LAST_ERROR,
                              udpai_str_from(udpa_error_message(self->last_error)));
    if (self->refused_us)
        udpai_timestamp_put(writer, REFUSED, self->refused_us);
    if (self->is_asked)
        udpai_duration_put(writer, INTERVAL, self->interval_ms);
    udpai_proto_put_varint_opt(writer, PER_ENDPOINT, self->per_endpoint);
    udpai_proto_put_bytes_opt(writer, SOURCE, self->upstream->options.source);
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const udpai_lrs_upstream_session *self = what;
    udpai_status_put_session(writer, &self->session, NULL, 0);
    udpai_proto_writer size = {0};
    put_reporting(&size, self);
    udpai_proto_put_head(writer, LOAD_REPORTING, size.size);
    put_reporting(writer, self);
}

udpa_bytes *
udpai_lrs_upstream_describe(const udpai_session *session)
{
    return udpai_proto_encode(
        put, UDPAI_CONTAINER_OF(session, const udpai_lrs_upstream_session, session));
}
