/* SPDX-License-Identifier: Apache-2.0 */
/* What is expected of the server, and the words for what it did instead. */
#include <stdio.h>

#include "tools/conform/talk_internal.h"

#define RESPONSES_MAX 200 /* of one wait: who sends more does it for ever */

/* Has it come as it is now? What is not ours may be in any state. */
static bool
is_met(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    const udpai_news *news = udpai_heard_of(talk, kind, name);
    if (!news || news->is_removal || (!news->has_payload && news->is_wrapped))
        return false;
    unsigned wanted =
        udpai_world_variant(&talk->script->stage->world, kind, udpai_str_from(news->name));
    return !wanted || news->variant == wanted;
}

/* ---- waiting ---- */

static uint64_t
now(const udpai_talk *talk)
{
    const udpai_peer *peer = talk->script->stage->peer;
    return peer->now_ms(peer->self);
}

bool
udpai_wait_until(udpai_talk *talk,
                 udpai_met_fn met,
                 const udpai_expected *what,
                 uint64_t timeout_ms)
{
    if (!talk || !udpai_is_running(talk->script))
        return false;
    uint64_t deadline = now(talk) + timeout_ms, at;
    size_t n_max = talk->responses.n + RESPONSES_MAX;
    while (udpai_is_running(talk->script) && !met(talk, what)) {
        at = now(talk);
        if (at >= deadline || talk->responses.n >= n_max || !udpai_hear(talk, deadline - at))
            break;
    }
    return udpai_is_running(talk->script) && met(talk, what);
}

static bool
are_all_met(const udpai_talk *talk, const udpai_expected *what)
{
    for (udpai_names at = what->names; *at; at++)
        if (!is_met(talk, what->kind, *at))
            return false;
    return true;
}

/* What came of it, for people. */
static void
put_instead(udpai_strbuf *out, const udpai_talk *talk, udpai_kind kind, const char *name)
{
    const udpai_news *news = udpai_heard_of(talk, kind, name);
    if (!news)
        udpai_strbuf_puts(out, "nothing was said of it");
    else if (news->is_removal)
        udpai_strbuf_puts(out, "it was told as removed");
    else
        udpai_strbuf_printf(out, "it came as v%u", news->variant);
    if (talk->is_over)
        udpai_strbuf_puts(out, ", and the server ended the stream");
}

static void
fail_for(udpai_talk *talk, udpai_kind kind, const char *name, const char *what)
{
    const char *full = udpai_resolve(talk->script, kind, name);
    udpai_strbuf instead = {0};
    if (!full || !udpai_is_running(talk->script))
        return;
    unsigned variant = udpai_world_variant(&talk->script->stage->world, kind, udpai_str_from(full));
    put_instead(&instead, talk, kind, name);
    if (variant)
        udpai_fail_script(talk->script, "%s %s v%u %s within %g s: %s", udpai_kind_word(kind), full,
                          variant, what, (double)talk->script->stage->timeout_ms / 1000,
                          instead.data);
    else
        udpai_fail_script(talk->script, "%s %s %s within %g s: %s", udpai_kind_word(kind), full,
                          what, (double)talk->script->stage->timeout_ms / 1000, instead.data);
    udpai_strbuf_done(&instead);
}

void
udpai_expect(udpai_talk *talk, udpai_kind kind, udpai_names names)
{
    udpai_expected what = {kind, names, 0};
    if (!talk || udpai_wait_until(talk, are_all_met, &what, talk->script->stage->timeout_ms))
        return;
    for (udpai_names at = names; *at; at++)
        if (!is_met(talk, kind, *at))
            fail_for(talk, kind, *at, "was expected and did not come");
}

static bool
is_gone(const udpai_talk *talk, const udpai_expected *what)
{
    const udpai_response *last = udpai_last_response(talk, what->kind);
    const udpai_news *news = udpai_heard_of(talk, what->kind, what->names[0]);
    if (talk->is_delta)
        return news && news->is_removal;
    return last && (size_t)(last - talk->responses.items) >= what->n_responses &&
           udpai_count_in_last(talk, what->kind, what->names[0]) == 0;
}

void
udpai_expect_gone(udpai_talk *talk, udpai_kind kind, const char *name)
{
    if (!talk)
        return;
    udpai_expected what = {kind, UDPAI_NAMES(name), talk->response_mark};
    if (!udpai_wait_until(talk, is_gone, &what, talk->script->stage->timeout_ms))
        fail_for(talk, kind, name,
                 talk->is_delta ? "was expected in removed_resources and was not"
                                : "was expected to be left out of the whole state and was not");
}

static bool
has_response(const udpai_talk *talk, const udpai_expected *what)
{
    const udpai_response *last = udpai_last_response(talk, what->kind);
    return last && (size_t)(last - talk->responses.items) >= what->n_responses;
}

void
udpai_expect_response(udpai_talk *talk, udpai_kind kind)
{
    udpai_expected what = {kind, UDPAI_NO_NAMES, talk ? talk->response_mark : 0};
    if (talk && !udpai_wait_until(talk, has_response, &what, talk->script->stage->timeout_ms))
        udpai_fail_script(talk->script,
                          "a response with %ss was expected within %g s and did not "
                          "come%s",
                          udpai_kind_word(kind), (double)talk->script->stage->timeout_ms / 1000,
                          talk->is_over ? "; the server ended the stream" : "");
}

/* ---- what must not come ---- */

/* The first of these that something was said of. */
static const udpai_news *
find_disturbing(const udpai_talk *talk, const udpai_expected *what)
{
    const udpai_news *news = NULL;
    for (udpai_names at = what->names; at && *at && !news; at++)
        news = udpai_heard_of(talk, what->kind, *at);
    return news;
}

/* Whether something was said of these, or, if there are no names, whether there was a response. */
static bool
is_disturbed(const udpai_talk *talk, const udpai_expected *what)
{
    return what->names ? find_disturbing(talk, what) != NULL : has_response(talk, what);
}

/* Something else is asked for on the same stream: when the answer is there, the server has seen
 * what was said before. Two names in turn, since what is new must be answered. If the server does
 * not answer that either, time alone must do. */
static void
exchange_sentinel(udpai_talk *talk, udpai_kind kind)
{
    udpai_kind other = kind == UDPAI_ROUTES ? UDPAI_ENDPOINTS : UDPAI_ROUTES;
    const udpai_stage *stage = talk->script->stage;
    if (talk->only != UDPAI_KINDS || !udpai_world_can_change(&stage->world) ||
        (talk->topics[other].n_responses && !talk->n_sentinels))
        return;
    size_t mark = talk->mark, response_mark = talk->response_mark;
    udpai_names names = talk->n_sentinels++ % 2 ? UDPAI_NAMES("s2") : UDPAI_NAMES("s1");
    udpai_want(talk, other, names);
    (void)udpai_wait_until(talk, are_all_met, &(udpai_expected){other, names, 0}, stage->quiet_ms);
    talk->mark = mark;
    talk->response_mark = response_mark;
}

void
udpai_expect_nothing_of(udpai_talk *talk, udpai_kind kind, udpai_names names)
{
    if (!talk || !udpai_is_running(talk->script))
        return;
    udpai_expected what = {kind, names, talk->response_mark};
    exchange_sentinel(talk, kind);
    if (!udpai_wait_until(talk, is_disturbed, &what, talk->script->stage->quiet_ms)) {
        if (talk->is_over)
            udpai_fail_script(talk->script, "the server ended the stream, where nothing was "
                                            "expected to happen");
        return;
    }
    const udpai_news *news = find_disturbing(talk, &what);
    udpai_fail_script(talk->script, "a response with %ss came, where none was expected%s%s",
                      udpai_kind_word(kind), news ? ": it speaks of " : "", news ? news->name : "");
}

static bool
is_over(const udpai_talk *talk, const udpai_expected *what)
{
    (void)what;
    return talk->is_over;
}

void
udpai_expect_end(udpai_talk *talk, int code)
{
    if (!talk)
        return;
    if (!udpai_wait_until(talk, is_over, &(udpai_expected){0}, talk->script->stage->timeout_ms)) {
        udpai_fail_script(talk->script,
                          "the server was expected to end the stream within %g s, and "
                          "did not",
                          (double)talk->script->stage->timeout_ms / 1000);
        return;
    }
    udpai_call_status status = talk->script->stage->peer->status(talk->call);
    udpai_require(talk->script, code < 0 ? status.code != 0 : status.code == code,
                  "the server ended the stream with status %d (%.*s), not with %s %d", status.code,
                  UDPAI_SHOWN(status.text), code < 0 ? "an error, other than" : "",
                  code < 0 ? 0 : code);
}

static bool
never(const udpai_talk *talk, const udpai_expected *what)
{
    (void)talk, (void)what;
    return false;
}

void
udpai_let_settle(udpai_talk *talk)
{
    if (!talk || !udpai_is_running(talk->script))
        return;
    exchange_sentinel(talk, talk->script->kind);
    (void)udpai_wait_until(talk, never, &(udpai_expected){0}, talk->script->stage->quiet_ms);
    udpai_talk_mark(talk);
}

/* ---- resource_errors ---- */

static bool
is_told(const udpai_talk *talk, const udpai_expected *what)
{
    return udpai_told_of(talk, what->kind, what->names[0]) != NULL;
}

void
udpai_expect_told(udpai_talk *talk, udpai_kind kind, const char *name)
{
    if (!talk)
        return;
    udpai_expected what = {kind, UDPAI_NAMES(name), 0};
    if (!udpai_wait_until(talk, is_told, &what, talk->script->stage->timeout_ms))
        udpai_fail_script(talk->script,
                          "%s %s was asked for, and nothing was said of it within %g s%s",
                          udpai_kind_word(kind), udpai_resolve(talk->script, kind, name),
                          (double)talk->script->stage->timeout_ms / 1000,
                          talk->is_over ? "; the server ended the stream" : "");
}

static bool
is_told_somehow(const udpai_talk *talk, const udpai_expected *what)
{
    return udpai_told_of(talk, what->kind, what->names[0]) ||
           udpai_error_of(talk, what->kind, what->names[0]);
}

void
udpai_await_error(udpai_talk *talk, udpai_kind kind, const char *name)
{
    if (talk)
        (void)udpai_wait_until(talk, is_told_somehow, &(udpai_expected){kind, UDPAI_NAMES(name), 0},
                               talk->script->stage->quiet_ms);
}
