/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/suite.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

static const udpai_cases *const groups[] = {
    &udpai_cases_subscribe, &udpai_cases_change, &udpai_cases_answer,      &udpai_cases_stream,
    &udpai_cases_sotw,      &udpai_cases_delta,  &udpai_cases_order,       &udpai_cases_envelope,
    &udpai_cases_fetch,     &udpai_cases_types,  &udpai_cases_alias,       &udpai_cases_demand,
    &udpai_cases_hosts,     &udpai_cases_urls,   &udpai_cases_collections, &udpai_cases_errors,
    &udpai_cases_rest,
};

static const struct way {
    const char *protocol, *transport;
} ways[] = {{"sotw", "aggregated"},
            {"sotw", "per-type"},
            {"delta", "aggregated"},
            {"delta", "per-type"},
            {NULL, NULL}};

static const struct way *
find_way(unsigned bit)
{
    size_t i = 0;
    while (bit >> (i + 1))
        i++;
    assert(i < UDPAI_ARRAY_LEN(ways));
    return &ways[i];
}

void
udpai_case_name(const udpai_case *that, unsigned way, char *room, size_t size)
{
    const struct way *words = find_way(way);
    if (!words->protocol)
        snprintf(room, size, "%s/%s", that->group, that->name);
    else if (that->group)
        snprintf(room, size, "%s/%s-%s/%s", that->group, words->protocol, words->transport,
                 that->name);
    else
        snprintf(room, size, "%s/%s/%s", words->protocol, words->transport, that->name);
}

void
udpai_suite_visit(void (*visit)(void *userdata, const udpai_case *that, unsigned way),
                  void *userdata)
{
    for (unsigned way = 1; way <= UDPAI_ONCE; way <<= 1)
        for (size_t group = 0; group < UDPAI_ARRAY_LEN(groups); group++)
            for (size_t i = 0; i < groups[group]->n; i++)
                if (groups[group]->items[i].ways & way)
                    visit(userdata, &groups[group]->items[i], way);
}

void
udpai_suite_init(udpai_suite *suite)
{
    udpai_xds_server_init(&suite->stage.methods);
}

/* ---- before and behind the cases ---- */

/* Types that the changer does not do are left out, and cases that need them are skipped. */
static udpa_err
put_resources(udpai_suite *suite, udpa_error **ret_error)
{
    udpai_world *world = &suite->stage.world;
    udpa_err err = UDPA_OK;
    for (size_t kind = 0; kind < UDPAI_KINDS && err == UDPA_OK; kind++) {
        udpai_strbuf why = {0};
        world->is_missing[kind] = udpai_kind_is((udpai_kind)kind, UDPAI_NAMED_BY_URL) &&
                                  !(world->changer.abilities & UDPAI_CAN_XDSTP);
        if (world->is_missing[kind])
            continue;
        udpai_world_stage_begin(world, (udpai_kind)kind);
        udpai_change_result result = udpai_world_commit(world, &why);
        world->is_missing[kind] = result != UDPAI_CHANGE_MADE;
        if (result == UDPAI_CHANGE_FAILED)
            err = udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "cannot put a %s on the server: %s",
                             udpai_kind_word((udpai_kind)kind), why.data ? why.data : "");
        udpai_strbuf_done(&why);
    }
    return err;
}

/* A stream of whichever variant there is: they are tried in turn. What has no name in its contents
 * comes in SotW at best in a wrapper. */
static udpai_test_session *
open_somehow(udpai_script *script, udpai_kind kind, size_t attempt)
{
    static const struct {
        bool is_aggregated;
        udpai_xds_variant variant;
    } attempts[] = {
        {true, UDPAI_XDS_STREAM_SOTW},
        {false, UDPAI_XDS_STREAM_SOTW},
        {true, UDPAI_XDS_STREAM_DELTA},
        {false, UDPAI_XDS_STREAM_DELTA},
    };

    if (udpai_kind_is(kind, UDPAI_DELTA_ONLY | UDPAI_NAMED_BY_URL))
        attempt += 2;
    if (attempt >= UDPAI_ARRAY_LEN(attempts))
        return NULL;
    return udpai_test_session_open_method(
        script, attempts[attempt].is_aggregated ? UDPAI_KINDS : kind, attempts[attempt].variant);
}

static void
learn_from(udpai_world *world, const udpai_test_session *session)
{
    for (size_t i = 0; i < session->updates.n; i++) {
        const udpai_update *update = &session->updates.items[i];
        udpai_world_learn(world, update->kind, udpai_str_from(update->name));
        if (update->endpoints)
            udpai_world_learn(world, UDPAI_ENDPOINTS, udpai_str_from(update->endpoints));
    }
}

/* The first answer to a wildcard, and what clusters refer to. Nothing is checked here. */
static void
learn_of(udpai_suite *suite, udpai_kind kind)
{
    bool is_served = false, is_open = true;
    for (size_t attempt = 0; is_open && !is_served; attempt++) {
        udpai_script script;
        udpai_script_init(&script, &suite->stage);
        udpai_test_session *session = open_somehow(&script, kind, attempt);
        udpai_subscribe(session, kind, UDPAI_NO_NAMES);
        udpai_expect_response(session, kind);
        if (session)
            learn_from(&suite->stage.world, session);
        is_open = session != NULL;
        is_served = script.verdict != UDPAI_SKIPPED;
        udpai_script_done(&script);
    }
}

udpa_err
udpai_suite_begin(udpai_suite *suite, udpa_error **ret_error)
{
    if (udpai_world_can_change(&suite->stage.world))
        return put_resources(suite, ret_error);
    learn_of(suite, UDPAI_CLUSTER);
    learn_of(suite, UDPAI_LISTENER);
    return UDPA_OK;
}

void
udpai_suite_end(udpai_suite *suite)
{
    udpai_strbuf why = {0};
    if (!udpai_world_can_change(&suite->stage.world))
        return;
    udpai_world_stage_end(&suite->stage.world);
    (void)udpai_world_commit(&suite->stage.world, &why);
    udpai_strbuf_done(&why);
}

void
udpai_suite_done(udpai_suite *suite)
{
    for (size_t i = 0; i < suite->results.n; i++) {
        udpai_free(suite->results.items[i].why);
        udpai_free(suite->results.items[i].transcript);
    }
    udpai_vector_done(&suite->results);
    udpai_world_done(&suite->stage.world);
}

/* ---- between two cases ---- */

/* A new stream is asked until it has what was put back last. */
static void
see_restored(udpai_suite *suite, udpai_kind kind)
{
    bool is_served = false, is_open = true;
    for (size_t attempt = 0; is_open && !is_served; attempt++) {
        udpai_script script;
        udpai_script_init(&script, &suite->stage);
        udpai_test_session *session = open_somehow(&script, kind, attempt);
        udpai_subscribe(session, kind, UDPAI_NAMES("s0"));
        udpai_expect(session, kind, UDPAI_NAMES("s0"));
        is_open = session != NULL;
        is_served = script.verdict != UDPAI_SKIPPED;
        udpai_script_done(&script);
    }
}

static void
restore(udpai_suite *suite, udpai_script *script)
{
    udpai_world *world = &suite->stage.world;
    udpai_strbuf why = {0};
    udpai_world_drop_staged(world); /* of a script that ended before its commit */
    unsigned kinds = udpai_world_stage_restore(world);
    if (kinds && udpai_world_commit(world, &why) != UDPAI_CHANGE_MADE)
        udpai_fail_script(script, "what the case has changed cannot be put back: %s",
                          why.data ? why.data : "");
    udpai_strbuf_done(&why);
    for (size_t kind = 0; kind < UDPAI_KINDS; kind++)
        if (kinds & 1U << kind)
            see_restored(suite, (udpai_kind)kind);
}

/* ---- a case ---- */

/* Of a changer; without one names that it needs can be given. */
static void
check_abilities(unsigned needs, udpai_script *script)
{
    static const struct {
        unsigned ability;
        const char *what;
    } all[] = {
        {UDPAI_CAN_ATOMIC, "several changes at once"},
        {UDPAI_CAN_TTL, "resources with a ttl"},
        {UDPAI_CAN_ALIAS, "resources with aliases"},
        {UDPAI_CAN_XDSTP, "names of the form xdstp://AUTHORITY/TYPE/ID"},
        {UDPAI_CAN_GLOB, "collections by glob"},
        {UDPAI_CAN_LAZY, "resources that do not come by wildcard"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        if (needs & all[i].ability & ~script->stage->world.changer.abilities)
            udpai_skip_script(script, "it needs %s, which the changer cannot do", all[i].what);
}

static void
check_needs(const udpai_case *that, udpai_script *script)
{
    const udpai_world *world = &script->stage->world;
    if (that->needs & UDPAI_NEEDS_CHANGES && !udpai_world_can_change(world))
        udpai_skip_script(script, "it needs to change resources: give --change or --apply-to");
    if (udpai_world_can_change(world))
        check_abilities(that->needs, script);
    if (udpai_world_can_change(world) && world->is_missing[that->kind])
        udpai_skip_script(script, "the changer does not do %ss", udpai_kind_word(that->kind));
}

static void
check_time(udpai_suite *suite, udpai_script *script, uint64_t now_ms)
{
    bool is_late = suite->limit_ms && now_ms - suite->begin_ms >= suite->limit_ms;
    if (!is_late || !udpai_is_running(script))
        return;
    suite->n_out_of_time++;
    udpai_skip_script(script, "the time for all cases, %g s, is over (--time-limit)",
                      (double)suite->limit_ms / 1000);
}

static void
keep(udpai_suite *suite, udpai_script *script, udpai_result *result)
{
    result->verdict = script->verdict == UDPAI_RUNNING ? UDPAI_PASSED : script->verdict;
    result->why = script->why.len ? udpai_strbuf_take(&script->why) : NULL;
    if (result->verdict == UDPAI_FAILED)
        result->transcript = udpai_strbuf_take(&script->transcript);
    if (!udpai_vector_push(&suite->results, *result)) {
        udpai_free(result->why);
        udpai_free(result->transcript);
        suite->stage.world.failed = true;
    } else if (suite->report_one) {
        suite->report_one(suite->userdata, result);
    }
}

static void
run(void *userdata, const udpai_case *that, unsigned way)
{
    udpai_suite *suite = userdata;
    const udpai_peer *peer = suite->stage.peer;
    udpai_result result = {.that = that};
    udpai_script script;
    udpai_case_name(that, way, result.name, sizeof(result.name));
    if (suite->is_selected && !suite->is_selected(suite->userdata, result.name))
        return;
    uint64_t begin = peer->now_ms(peer->self);
    udpai_script_init(&script, &suite->stage);
    script.kind = that->kind;
    script.is_delta = (way & UDPAI_DELTA) != 0;
    script.is_aggregated = (way & UDPAI_AGGREGATED) != 0;
    check_needs(that, &script);
    check_time(suite, &script, begin);
    if (udpai_is_running(&script))
        that->run(&script);
    restore(suite, &script);
    result.took_ms = peer->now_ms(peer->self) - begin;
    keep(suite, &script, &result);
    udpai_script_done(&script);
}

void
udpai_suite_run(udpai_suite *suite)
{
    const udpai_peer *peer = suite->stage.peer;
    suite->begin_ms = peer->now_ms(peer->self);
    udpai_suite_visit(run, suite);
}

struct counting {
    const udpai_suite *suite;
    size_t n;
};

static void
count(void *userdata, const udpai_case *that, unsigned way)
{
    struct counting *counting = userdata;
    const udpai_suite *suite = counting->suite;
    char name[sizeof(((udpai_result *)0)->name)];
    udpai_case_name(that, way, name, sizeof(name));
    counting->n += !suite->is_selected || suite->is_selected(suite->userdata, name);
}

size_t
udpai_suite_n_cases(const udpai_suite *suite)
{
    struct counting counting = {suite, 0};
    udpai_suite_visit(count, &counting);
    return counting.n;
}

bool
udpai_result_is_good(const udpai_result *result, bool is_strict)
{
    return result->verdict != UDPAI_FAILED || (result->that->level == UDPAI_SHOULD && !is_strict);
}
