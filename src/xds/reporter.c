/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/reporter.h"

#include "base/percent.h"

udpa_err
udpai_xds_reporter_segment(const udpai_node_info *client, udpa_bytes **ret_segment)
{
    udpai_strbuf text = {0};
    udpai_percent_encode_segment(&text, udpai_node_info_parts(client)->id);
    udpa_err err = udpai_strbuf_failed(&text) ? UDPA_ERR_NOMEM
                                              : udpa_bytes_new(ret_segment, text.data, text.len);
    udpai_strbuf_done(&text);
    return err;
}

udpa_err
udpai_xds_reporter_introduce(udpai_session *session,
                             const udpai_node_info *client,
                             const udpai_str *features,
                             size_t n_features,
                             udpai_report **ret_closed)
{
    udpai_node_parts parts = *udpai_node_info_parts(client);
    parts.features = features;
    parts.n_features = n_features;
    UDPA_AUTO(udpai_report_free) udpai_report *closed = udpai_report_new(UDPAI_REPORT_CLOSED);
    UDPA_AUTO(udpai_report_free)
    udpai_report *node = udpai_session_report_new(session, UDPAI_REPORT_NODE);
    udpa_err err = closed && node ? udpai_node_info_new(&node->info, &parts) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_session_report_opened(session);
    if (err != UDPA_OK)
        return err;
    udpai_hub_report(session->hub, UDPAI_TAKE(node));
    *ret_closed = UDPAI_TAKE(closed);
    return UDPA_OK;
}

void
udpai_xds_reporter_end(udpai_session *session, udpai_report *closed)
{
    if (closed)
        udpai_session_report_closed(session, closed);
}
