/* SPDX-License-Identifier: Apache-2.0 */
/* What sessions of all protocols report to the loop side about themselves. */
#include "session/hub.h"

udpai_report *
udpai_session_report_new(const udpai_session *session, udpai_report_kind kind)
{
    udpai_report *report = udpai_report_new(kind);
    if (!report)
        return NULL;
    report->session = session->id;
    report->link = session->info.link;
    return report;
}

void
udpai_session_report_closed(const udpai_session *session, udpai_report *closed)
{
    closed->session = session->id;
    closed->link = session->info.link;
    closed->is_disowned = session->is_disowned;
    closed->error = udpa_error_ref((udpa_error *)(uintptr_t)session->why);
    udpai_hub_report(session->hub, closed);
}

udpa_err
udpai_session_report_opened(udpai_session *session)
{
    udpai_report *report = udpai_session_report_new(session, UDPAI_REPORT_OPENED);
    if (!report)
        return UDPA_ERR_NOMEM;
    report->identity = udpai_identity_ref(session->info.identity);
    report->address = udpa_bytes_ref(session->info.address);
    report->is_client = session->ops->is_client;
    udpai_hub_report(session->hub, report);
    return UDPA_OK;
}

udpa_err
udpai_session_report_alive(udpai_session *session)
{
    if (session->is_alive)
        return UDPA_OK;
    udpai_report *report = udpai_session_report_new(session, UDPAI_REPORT_ALIVE);
    if (!report)
        return UDPA_ERR_NOMEM;
    session->is_alive = true;
    udpai_hub_report(session->hub, report);
    return UDPA_OK;
}

udpa_err
udpai_session_report_publication(udpai_session *session, udpai_publication *publication)
{
    udpai_report *report = udpai_session_report_new(session, UDPAI_REPORT_PUBLICATION);
    if (!report) {
        udpai_publication_free(publication);
        return UDPA_ERR_NOMEM;
    }
    report->publication = publication;
    udpai_hub_report(session->hub, report);
    return UDPA_OK;
}

udpa_err
udpai_session_report_subscription_error(udpai_session *session,
                                        const udpai_subscription_message *message)
{
    udpai_report *report = udpai_session_report_new(session, UDPAI_REPORT_SUBSCRIPTION_ERROR);
    udpai_str names[UDPAI_ECHOED_NAMES];
    const udpai_subscription_message error = udpai_subscription_error_cut(message, names);
    if (report)
        report->subscription = udpai_subscription_message_copy(&error);
    if (!report || !report->subscription) {
        udpai_report_free(report);
        return UDPA_ERR_NOMEM;
    }
    udpai_hub_report(session->hub, report);
    return UDPA_OK;
}
