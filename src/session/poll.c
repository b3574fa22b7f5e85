/* SPDX-License-Identifier: Apache-2.0 */
#include "session/poll.h"

static void
on_timer(udpai_timer *timer)
{
    udpai_poll *poll = UDPAI_CONTAINER_OF(timer, udpai_poll, timer);
    poll->is_over = true;
    udpai_session_ready(poll->session);
}

void
udpai_poll_init(udpai_poll *poll, udpai_session *session, const udpai_poll_texts *texts)
{
    poll->session = session;
    poll->texts = texts;
    udpai_timer_init(&poll->timer, on_timer);
}

void
udpai_poll_done(udpai_poll *poll)
{
    udpai_timer_cancel(&poll->timer);
}

udpa_err
udpai_poll_begin(udpai_poll *poll, udpa_error **ret_error)
{
    udpai_wheel *wheel = udpai_hub_wheel(poll->session->hub);
    uint64_t patience_ms = poll->session->info.patience_ms;
    if (poll->has_request)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", poll->texts->one_request);
    poll->has_request = true;
    if (udpai_hub_is_draining(poll->session->hub))
        poll->is_over = true;
    else if (patience_ms)
        udpai_timer_set(wheel, &poll->timer, wheel->now_ms + patience_ms);
    return UDPA_OK;
}

void
udpai_poll_end_wait(udpai_poll *poll)
{
    udpai_timer_cancel(&poll->timer);
    if (poll->has_request)
        on_timer(&poll->timer);
}

void
udpai_poll_set_version(udpai_poll *poll, udpai_str version)
{
    poll->has_version = version.len == sizeof(poll->version);
    if (poll->has_version)
        memcpy(poll->version, version.data, sizeof(poll->version));
}

bool
udpai_poll_is_current(const udpai_poll *poll, udpai_str version)
{
    return poll->has_version &&
           udpai_str_eq(version, (udpai_str){poll->version, sizeof(poll->version)});
}

/* A client that has nothing cannot be answered that nothing has changed. */
static udpa_err
give_up(const udpai_poll *poll, udpa_error **ret_error)
{
    if (!poll->has_version)
        return udpai_fail(
            ret_error, UDPA_ERR_UNAVAILABLE,
            "it is not certain yet what %s: a source of this node has not synchronized; ask again",
            poll->texts->what);
    udpai_session_finish(poll->session, NULL);
    return UDPA_OK;
}

udpa_err
udpai_poll_next(udpai_poll *poll,
                udpai_poll_find_fn find,
                udpai_outgoing *out,
                bool *ret_any,
                udpa_error **ret_error)
{
    if (poll->is_sent) {
        udpai_session_finish(poll->session, NULL);
        return UDPA_OK;
    }
    udpa_err err = find(poll->session, out, ret_any, ret_error);
    if (err != UDPA_OK)
        return err;
    poll->is_sent = *ret_any;
    return poll->is_over && !*ret_any ? give_up(poll, ret_error) : UDPA_OK;
}

udpa_err
udpai_poll_ended(const udpai_poll *poll, udpa_error **ret_error)
{
    return poll->has_request ? UDPA_OK
                             : udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", poll->texts->no_request);
}
