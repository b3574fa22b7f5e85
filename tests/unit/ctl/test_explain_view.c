/* SPDX-License-Identifier: Apache-2.0 */
/* Why a resource is served, or not, as text. */
#include "ctl/explain_view.h"

#include "base/alloc.h"
#include "tests/harness/resources.h"

typedef Udpa__Status__V1__OriginsStatus origins_message;
typedef Udpa__Status__V1__Contribution contribution_message;
typedef Udpa__Status__V1__AccessStatus access_message;

static udpai_cli_layout plain;

struct of {
    const char *origin, *authority;
    unsigned generation;
    bool effective, eligible, superseded;
};

static origins_message *
origins_of(const struct of *all, size_t n)
{
    contribution_message messages[4], *list[4];
    uint8_t room[1024];
    origins_message origins = UDPA__STATUS__V1__ORIGINS_STATUS__INIT;
    origins.contributions = list;
    origins.n_contributions = n;
    for (size_t i = 0; i < n; i++) {
        contribution_message *it = list[i] = &messages[i];
        *it = (contribution_message)UDPA__STATUS__V1__CONTRIBUTION__INIT;
        it->origin = (char *)(uintptr_t)all[i].origin;
        it->authority = (char *)(uintptr_t)all[i].authority;
        it->version = (char *)(uintptr_t) "v";
        it->generation = all[i].generation;
        it->effective = all[i].effective;
        it->eligible = all[i].eligible;
        it->superseded = all[i].superseded;
    }
    size_t size = udpa__status__v1__origins_status__pack(&origins, room);
    return udpa__status__v1__origins_status__unpack(NULL, size, room);
}

static udpai_cli_explanation
explained_of(const struct of *all, size_t n)
{
    return (udpai_cli_explanation){
        .type_url = TEST_CDS,
        .name = "com.acme/a",
        .origins = origins_of(all, n),
    };
}

/* Ends it. */
static void
expect(udpai_cli_explanation *explained, const char *wanted)
{
    udpai_strbuf out = {0};
    udpai_ctl_put_explained(&out, &plain, explained, 0);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    udpai_cli_explanation_done(explained);
}

/* The text behind the heads of the table and each row's state. */
static void
expect_because(const struct of *all, size_t n, const char *const *because)
{
    udpai_cli_explanation explained = explained_of(all, n);
    udpai_strbuf out = {0};
    udpai_cli_put_explanation_json(&out, &explained);
    const char *at = out.data;
    for (size_t i = 0; i < n; i++) {
        at = strstr(at, "\"because\":\"");
        assert_non_null(at);
        at += strlen("\"because\":\"");
        assert_memory_equal(at, because[i], strlen(because[i]));
        assert_int_equal(at[strlen(because[i])], '"');
    }
    udpai_strbuf_done(&out);
    udpai_cli_explanation_done(&explained);
}

static void
nothing_is_there(void **state)
{
    (void)state;
    udpai_cli_explanation explained = explained_of(NULL, 0);
    assert_false(udpai_cli_explanation_is_served(&explained));
    expect(&explained, "cluster com.acme/a is not served: no origin has it\n");
    explained = explained_of(NULL, 0);
    udpai_strbuf_puts(&explained.waits, "core, cloud");
    udpai_strbuf_puts(&explained.rejecting, "edge (3)");
    expect(&explained, "cluster com.acme/a is not served: no origin has it; the node still "
                       "waits for core, cloud, which may have it; the node has rejected resources "
                       "of edge (3): its log says which, and why\n");
}

static void
one_is_there(void **state)
{
    (void)state;
    const struct of all[] = {{"path:/etc", "acme", 7, true, true, false}};
    udpai_cli_explanation explained = explained_of(all, 1);
    assert_true(udpai_cli_explanation_is_served(&explained));
    expect(&explained,
           "cluster com.acme/a is served, from path:/etc\n"
           "\n"
           "ORIGIN      AUTHORITY   VERSION   GENERATION   IS          BECAUSE\n"
           "path:/etc   acme        v                  7   effective   it is the only one\n");
}

static void
one_is_held(void **state)
{
    (void)state;
    const struct of all[] = {{"source:core", "acme", 7, true, true, false},
                             {"source:edge", "acme", 6, false, true, false}};
    udpai_cli_explanation explained = explained_of(all, 2);
    for (size_t i = 0; i < 2; i++)
        explained.origins->contributions[i]->held = true;
    udpai_strbuf out = {0};
    udpai_cli_put_explanation_fact(&out, &explained);
    assert_str(udpai_strbuf_view(&out),
               "is served, from source:core; it is held: core does not name it any more, and has "
               "not removed it; if it is meant to be removed: udpactl sources accept core");
    udpai_strbuf_done(&out);
    explained.origins->contributions[0]->held_because = strdup("more is missing");
    expect(&explained,
           "cluster com.acme/a is served, from source:core; it is held: core does not name it any "
           "more, and has not removed it: more is missing; if it is meant to be removed: udpactl "
           "sources accept core\n"
           "\n"
           "ORIGIN        AUTHORITY   VERSION   GENERATION   IS                BECAUSE\n"
           "source:core   acme        v                  7   effective, held   it has the highest "
           "generation\n"
           "source:edge   acme        v                  6   shadowed, held    its generation is "
           "lower\n");
}

static void
none_can_be_used(void **state)
{
    (void)state;
    const struct of all[] = {{"source:a", "acme", 7, false, false, false}};
    udpai_cli_explanation explained = explained_of(all, 1);
    assert_false(udpai_cli_explanation_is_served(&explained));
    expect(&explained, "cluster com.acme/a is not served: none of its contributions can be used\n"
                       "\n"
                       "ORIGIN     AUTHORITY   VERSION   GENERATION   IS         BECAUSE\n"
                       "source:a   acme        v                  7   shadowed   its provider does "
                       "not use this source now\n");
}

static void
each_has_its_reason(void **state)
{
    (void)state;
    const struct of generations[] = {{"source:a", "acme", 7, true, true, false},
                                     {"source:b", "acme", 6, false, true, false},
                                     {"source:c", "acme", 9, false, true, true},
                                     {"source:d", "acme", 9, false, false, false}};
    expect_because(generations, 4,
                   (const char *const[]){"it has the highest generation", "its generation is lower",
                                         "something newer of its authority is known",
                                         "its provider does not use this source now"});
    const struct of origins[] = {{"path:/etc", "acme", 7, true, true, false},
                                 {"source:b", "acme", 7, false, true, false}};
    expect_because(origins, 2,
                   (const char *const[]){"its origin goes before the others",
                                         "another origin, or a shorter path, goes before it"});
    const struct of authorities[] = {{"path:/etc", "acme", 7, true, true, false},
                                     {"source:b", "other", 9, false, true, false}};
    expect_because(authorities, 2,
                   (const char *const[]){"its origin goes before those of other authorities",
                                         "another authority goes before it: the node's own, files, "
                                         "publishers, sources in order"});
    udpai_cli_explanation stopped = explained_of(generations, 4);
    udpai_strbuf why = {0};
    stopped.origins->contributions[3]->stopped_at = strdup("mesh");
    stopped.origins->contributions[3]->continuation = strdup("STOP_ON_SUCCESS");
    udpai_cli_put_explanation_why(&why, &stopped, stopped.origins->contributions[3]);
    assert_str(udpai_strbuf_view(&why),
               "its provider stops at mesh, which goes before it (STOP_ON_SUCCESS)");
    udpai_strbuf_done(&why);
    udpai_cli_explanation_done(&stopped);
    const struct of useless[] = {{"path:/etc", "acme", 7, true, true, false},
                                 {"source:b", "acme", 9, false, false, false}};
    expect_because(
        useless, 2,
        (const char *const[]){"no other can be used", "its provider does not use this source now"});
}

static void
expect_client(access_message access, const char *wanted)
{
    uint8_t room[256];
    size_t size = udpa__status__v1__access_status__pack(&access, room);
    udpai_cli_explanation explained = explained_of(NULL, 0);
    explained.client = "edge";
    explained.access = udpa__status__v1__access_status__unpack(NULL, size, room);
    udpai_strbuf out = {0};
    udpai_ctl_put_explained(&out, &plain, &explained, 0);
    const char *line = strchr(out.data, '\n') + 1;
    assert_string_equal(line, wanted);
    udpai_strbuf_done(&out);
    udpai_cli_explanation_done(&explained);
}

static void
a_client_may_or_may_not(void **state)
{
    (void)state;
    access_message access = UDPA__STATUS__V1__ACCESS_STATUS__INIT;
    expect_client(access, "client edge does not subscribe to it; the node has no rules, so every "
                          "peer may see it\n");
    access.has_rules = true;
    access.reason = (char *)(uintptr_t) "no rule is for it";
    expect_client(access, "client edge does not subscribe to it; it may not see it: no rule is for "
                          "it\n");
    access.dry_run = true;
    expect_client(access, "client edge does not subscribe to it; it may not see it: no rule is for "
                          "it (a dry run: it sees it all the same)\n");
    access.allowed = true;
    access.rule = (char *)(uintptr_t) "edges";
    expect_client(access, "client edge does not subscribe to it; rule 'edges' lets it see it\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there),    cmocka_unit_test(one_is_there),
        cmocka_unit_test(one_is_held),         cmocka_unit_test(none_can_be_used),
        cmocka_unit_test(each_has_its_reason), cmocka_unit_test(a_client_may_or_may_not),
    };
    return cmocka_run_group_tests_name("ctl/explain_view", tests, NULL, NULL);
}
