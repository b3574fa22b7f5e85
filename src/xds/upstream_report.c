/* SPDX-License-Identifier: Apache-2.0 */
/* What an upstream session reports to the loop side, and how far it reads ahead of that. */
#include "xds/upstream_internal.h"

/* Responses with an ACK that the server has not taken. */
#define UNREAD_MAX 256
#define UNREAD_PATIENCE_MS 30000

void
udpai_upstream_check(udpai_upstream_session *session, udpa_err result)
{
    if (result != UDPA_OK)
        udpai_session_finish(&session->session,
                             udpa_error_new(result, NULL,
                                            "cannot go on with what the server sends: "
                                            "%s",
                                            udpa_err_text(result)));
}

void
udpai_upstream_pace(udpai_upstream_session *session)
{
    const udpai_hub_options *options = udpai_hub_settings(session->session.hub);
    udpai_wheel *wheel = udpai_hub_wheel(session->session.hub);
    bool is_unread = session->n_responses >= options->max_pending + UNREAD_MAX;
    if (!is_unread)
        udpai_timer_cancel(&session->unread);
    else if (!udpai_timer_is_set(&session->unread))
        udpai_timer_set(wheel, &session->unread, wheel->now_ms + UNREAD_PATIENCE_MS);
    udpai_session_pause(&session->session,
                        is_unread || session->n_pending >= options->max_pending ||
                            session->pending_bytes >= options->max_pending_bytes);
}

/* Two that wait for each other to read would wait for ever. */
void
udpai_upstream_on_unread(udpai_timer *timer)
{
    udpai_upstream_session *session = UDPAI_CONTAINER_OF(timer, udpai_upstream_session, unread);
    if (!session->session.is_writing) { /* it is not the server that is waited for */
        udpai_upstream_pace(session);
        return;
    }
    udpai_session_finish(&session->session,
                         udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                        "the server does not read: %zu of its responses wait to be "
                                        "acknowledged",
                                        session->n_responses));
}

udpa_err
udpai_upstream_publish(udpai_upstream_session *session, udpai_publication *publication)
{
    size_t n = publication->entries.n, size = publication->size_bytes;
    udpa_err err = udpai_session_report_publication(&session->session, publication);
    if (err != UDPA_OK)
        return err;
    session->n_received += n;
    session->n_pending++;
    session->pending_bytes += size;
    udpai_upstream_pace(session);
    return UDPA_OK;
}

udpa_err
udpai_upstream_publish_or_free(udpai_upstream_type *type,
                               udpai_publication *publication,
                               udpa_err err)
{
    bool any = publication->entries.n + publication->removals.n;
    if (err == UDPA_OK && any)
        err = udpai_publication_set(&publication->type_url, udpai_bytes_view(type->type));
    if (err == UDPA_OK && any)
        return udpai_upstream_publish(type->session, publication);
    udpai_publication_free(publication);
    return err;
}

void
udpai_upstream_touch(udpai_upstream_type *type)
{
    if (!udpai_list_linked(&type->in_due))
        udpai_list_append(&type->session->due, &type->in_due);
    udpai_session_ready(&type->session->session);
}
