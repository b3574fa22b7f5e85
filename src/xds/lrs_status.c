/* SPDX-License-Identifier: Apache-2.0 */
/* A session, described as udpa.status.v1.SessionStatus. */
#include "session/status.h"
#include "wire/entry.h"
#include "xds/lrs_internal.h"

#define LOAD_REPORTING 20 /* field number in SessionStatus */

enum { /* in LoadReportingStatus */
    ALL_CLUSTERS = 1,
    CLUSTERS = 2,
    N_REPORTS = 3,
    N_COUNTED = 4,
    N_UNASKED = 5,
    N_REFUSED = 6,
    LAST_ERROR = 7,
    REFUSED = 8,
    INTERVAL = 9,
    PER_ENDPOINT = 10,
};

static void
put_reporting(udpai_proto_writer *writer, const udpai_lrs *lrs)
{
    udpai_proto_put_varint_opt(writer, ALL_CLUSTERS, lrs->asked.all);
    for (size_t i = 0; i < lrs->asked.clusters.n; i++)
        udpai_proto_put_bytes(writer, CLUSTERS, udpai_bytes_view(lrs->asked.clusters.items[i]));
    udpai_proto_put_varint_opt(writer, N_REPORTS, lrs->n_reports);
    udpai_proto_put_varint_opt(writer, N_COUNTED, lrs->clusters.n);
    udpai_proto_put_varint_opt(writer, N_UNASKED, lrs->n_unasked);
    udpai_proto_put_varint_opt(writer, N_REFUSED, lrs->n_refused);
    if (lrs->last_error)
        udpai_proto_put_bytes(writer, LAST_ERROR,
                              udpai_str_from(udpa_error_message(lrs->last_error)));
    if (lrs->refused_us)
        udpai_timestamp_put(writer, REFUSED, lrs->refused_us);
    udpai_duration_put(writer, INTERVAL, lrs->asked.setting.interval_ms);
    udpai_proto_put_varint_opt(writer, PER_ENDPOINT, lrs->asked.setting.per_endpoint);
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const udpai_lrs *lrs = what;
    udpai_status_put_session(writer, &lrs->session, lrs->peer, lrs->n_received);
    if (lrs->belonging.audience)
        udpai_xds_audience_put(writer, lrs->belonging.audience);
    udpai_proto_writer size = {0};
    put_reporting(&size, lrs);
    udpai_proto_put_head(writer, LOAD_REPORTING, size.size);
    put_reporting(writer, lrs);
}

udpa_bytes *
udpai_lrs_describe(const udpai_session *session)
{
    return udpai_proto_encode(put, UDPAI_CONTAINER_OF(session, const udpai_lrs, session));
}
