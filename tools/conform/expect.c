/* SPDX-License-Identifier: Apache-2.0 */
/* What is expected of the server, and the text for what it did instead. */
#include <stdio.h>

#include "tools/conform/session_internal.h"

#define RESPONSES_MAX 200 /* of one wait: a server that sends more does it for ever */

/* Has it come as it is now? What is not ours may be in any state. */
static bool
is_met(const udpai_test_session *session, udpai_kind kind, const char *name)
{
    const udpai_update *update = udpai_update_of(session, kind, name);
    if (!update || update->is_removal || (!update->has_payload && update->is_wrapped))
        return false;
    unsigned expected =
        udpai_world_variant(&session->script->stage->world, kind, udpai_str_from(update->name));
    return !expected || update->variant == expected;
}

/* ---- waiting ---- */

static uint64_t
now(const udpai_test_session *session)
{
    const udpai_peer *peer = session->script->stage->peer;
    return peer->now_ms(peer->self);
}

bool
udpai_wait_until(udpai_test_session *session,
                 udpai_met_fn met,
                 const udpai_expected *what,
                 uint64_t timeout_ms)
{
    if (!session || !udpai_is_running(session->script))
        return false;
    uint64_t deadline = now(session) + timeout_ms, at;
    size_t n_max = session->responses.n + RESPONSES_MAX;
    while (udpai_is_running(session->script) && !met(session, what)) {
        at = now(session);
        if (at >= deadline || session->responses.n >= n_max ||
            !udpai_receive(session, deadline - at))
            break;
    }
    return udpai_is_running(session->script) && met(session, what);
}

static bool
are_all_met(const udpai_test_session *session, const udpai_expected *what)
{
    for (udpai_names at = what->names; *at; at++)
        if (!is_met(session, what->kind, *at))
            return false;
    return true;
}

/* What was received instead, for people. */
static void
put_instead(udpai_strbuf *out, const udpai_test_session *session, udpai_kind kind, const char *name)
{
    const udpai_update *update = udpai_update_of(session, kind, name);
    if (!update)
        udpai_strbuf_puts(out, "nothing was received for it");
    else if (update->is_removal)
        udpai_strbuf_puts(out, "it was reported as removed");
    else
        udpai_strbuf_printf(out, "it arrived as v%u", update->variant);
    if (session->is_over)
        udpai_strbuf_puts(out, ", and the server ended the stream");
}

static void
fail_for(udpai_test_session *session, udpai_kind kind, const char *name, const char *what)
{
    const char *full = udpai_resolve(session->script, kind, name);
    udpai_strbuf instead = {0};
    if (!full || !udpai_is_running(session->script))
        return;
    unsigned variant =
        udpai_world_variant(&session->script->stage->world, kind, udpai_str_from(full));
    put_instead(&instead, session, kind, name);
    if (variant)
        udpai_fail_script(session->script, "%s %s v%u %s within %g s: %s", udpai_kind_word(kind),
                          full, variant, what, (double)session->script->stage->timeout_ms / 1000,
                          instead.data);
    else
        udpai_fail_script(session->script, "%s %s %s within %g s: %s", udpai_kind_word(kind), full,
                          what, (double)session->script->stage->timeout_ms / 1000, instead.data);
    udpai_strbuf_done(&instead);
}

void
udpai_expect(udpai_test_session *session, udpai_kind kind, udpai_names names)
{
    udpai_expected what = {kind, names, 0};
    if (!session ||
        udpai_wait_until(session, are_all_met, &what, session->script->stage->timeout_ms))
        return;
    for (udpai_names at = names; *at; at++)
        if (!is_met(session, kind, *at))
            fail_for(session, kind, *at, "was expected and did not arrive");
}

static bool
is_removed(const udpai_test_session *session, const udpai_expected *what)
{
    const udpai_response *last = udpai_last_response(session, what->kind);
    const udpai_update *update = udpai_update_of(session, what->kind, what->names[0]);
    if (session->is_delta)
        return update && update->is_removal;
    return last && (size_t)(last - session->responses.items) >= what->n_responses &&
           udpai_count_in_last(session, what->kind, what->names[0]) == 0;
}

void
udpai_expect_removed(udpai_test_session *session, udpai_kind kind, const char *name)
{
    if (!session)
        return;
    udpai_expected what = {kind, UDPAI_NAMES(name), session->response_mark};
    if (!udpai_wait_until(session, is_removed, &what, session->script->stage->timeout_ms))
        fail_for(session, kind, name,
                 session->is_delta ? "was expected in removed_resources and was not"
                                   : "was expected to be left out of the whole state and was not");
}

static bool
has_response(const udpai_test_session *session, const udpai_expected *what)
{
    const udpai_response *last = udpai_last_response(session, what->kind);
    return last && (size_t)(last - session->responses.items) >= what->n_responses;
}

void
udpai_expect_response(udpai_test_session *session, udpai_kind kind)
{
    udpai_expected what = {kind, UDPAI_NO_NAMES, session ? session->response_mark : 0};
    if (session &&
        !udpai_wait_until(session, has_response, &what, session->script->stage->timeout_ms))
        udpai_fail_script(session->script,
                          "a response with %ss was expected within %g s and did not arrive%s",
                          udpai_kind_word(kind), (double)session->script->stage->timeout_ms / 1000,
                          session->is_over ? "; the server ended the stream" : "");
}

/* ---- what must not come ---- */

/* The first of these with an update. */
static const udpai_update *
find_disturbing(const udpai_test_session *session, const udpai_expected *what)
{
    const udpai_update *update = NULL;
    for (udpai_names at = what->names; at && *at && !update; at++)
        update = udpai_update_of(session, what->kind, *at);
    return update;
}

/* Whether one of these has an update, or, without names, whether there was a response. */
static bool
is_disturbed(const udpai_test_session *session, const udpai_expected *what)
{
    return what->names ? find_disturbing(session, what) != NULL : has_response(session, what);
}

/* Something else is asked for on the same stream: when the answer is there, the server has seen
 * what was sent before. Two names in turn, since what is new must be answered. If the server does
 * not answer that either, time alone must do. */
static void
exchange_sentinel(udpai_test_session *session, udpai_kind kind)
{
    udpai_kind other = kind == UDPAI_ROUTES ? UDPAI_ENDPOINTS : UDPAI_ROUTES;
    const udpai_stage *stage = session->script->stage;
    if (session->only != UDPAI_KINDS || !udpai_world_can_change(&stage->world) ||
        (session->subscriptions[other].n_responses && !session->n_sentinels))
        return;
    size_t mark = session->mark, response_mark = session->response_mark;
    udpai_names names = session->n_sentinels++ % 2 ? UDPAI_NAMES("s2") : UDPAI_NAMES("s1");
    udpai_subscribe(session, other, names);
    (void)udpai_wait_until(session, are_all_met, &(udpai_expected){other, names, 0},
                           stage->quiet_ms);
    session->mark = mark;
    session->response_mark = response_mark;
}

void
udpai_expect_nothing_of(udpai_test_session *session, udpai_kind kind, udpai_names names)
{
    if (!session || !udpai_is_running(session->script))
        return;
    udpai_expected what = {kind, names, session->response_mark};
    exchange_sentinel(session, kind);
    if (!udpai_wait_until(session, is_disturbed, &what, session->script->stage->quiet_ms)) {
        if (session->is_over)
            udpai_fail_script(session->script, "the server ended the stream, where nothing was "
                                               "expected to happen");
        return;
    }
    const udpai_update *update = find_disturbing(session, &what);
    udpai_fail_script(session->script, "a response with %ss arrived, where none was expected%s%s",
                      udpai_kind_word(kind), update ? ": it has " : "", update ? update->name : "");
}

static bool
is_over(const udpai_test_session *session, const udpai_expected *what)
{
    (void)what;
    return session->is_over;
}

void
udpai_expect_end(udpai_test_session *session, int code)
{
    if (!session)
        return;
    if (!udpai_wait_until(session, is_over, &(udpai_expected){0},
                          session->script->stage->timeout_ms)) {
        udpai_fail_script(session->script,
                          "the server was expected to end the stream within %g s, and "
                          "did not",
                          (double)session->script->stage->timeout_ms / 1000);
        return;
    }
    udpai_call_status status = session->script->stage->peer->status(session->call);
    udpai_require(session->script, code < 0 ? status.code != 0 : status.code == code,
                  "the server ended the stream with status %d (%.*s), not with %s %d", status.code,
                  UDPAI_SHOWN(status.text), code < 0 ? "an error, other than" : "",
                  code < 0 ? 0 : code);
}

static bool
never(const udpai_test_session *session, const udpai_expected *what)
{
    (void)session, (void)what;
    return false;
}

void
udpai_wait_until_quiet(udpai_test_session *session)
{
    if (!session || !udpai_is_running(session->script))
        return;
    exchange_sentinel(session, session->script->kind);
    (void)udpai_wait_until(session, never, &(udpai_expected){0}, session->script->stage->quiet_ms);
    udpai_test_session_mark(session);
}

/* ---- resource_errors ---- */

static bool
has_update(const udpai_test_session *session, const udpai_expected *what)
{
    return udpai_update_of_any_name(session, what->kind, what->names[0]) != NULL;
}

void
udpai_expect_update(udpai_test_session *session, udpai_kind kind, const char *name)
{
    if (!session)
        return;
    udpai_expected what = {kind, UDPAI_NAMES(name), 0};
    if (!udpai_wait_until(session, has_update, &what, session->script->stage->timeout_ms))
        udpai_fail_script(session->script,
                          "%s %s was requested, and nothing was received for it within %g s%s",
                          udpai_kind_word(kind), udpai_resolve(session->script, kind, name),
                          (double)session->script->stage->timeout_ms / 1000,
                          session->is_over ? "; the server ended the stream" : "");
}

static bool
has_update_or_error(const udpai_test_session *session, const udpai_expected *what)
{
    return udpai_update_of_any_name(session, what->kind, what->names[0]) ||
           udpai_error_of(session, what->kind, what->names[0]);
}

void
udpai_wait_for_error(udpai_test_session *session, udpai_kind kind, const char *name)
{
    if (session)
        (void)udpai_wait_until(session, has_update_or_error,
                               &(udpai_expected){kind, UDPAI_NAMES(name), 0},
                               session->script->stage->quiet_ms);
}
