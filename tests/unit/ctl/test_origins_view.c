/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the contributions to a name. */
#include "ctl/origins.h"

#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

typedef Udpa__Status__V1__OriginsStatus origins_message;
typedef Udpa__Status__V1__Contribution contribution_message;

static udpai_cli_layout plain;

static contribution_message
said_by(const char *origin, bool effective, bool eligible, bool superseded)
{
    contribution_message said = UDPA__STATUS__V1__CONTRIBUTION__INIT;
    said.origin = (char *)(uintptr_t)origin;
    said.authority = (char *)(uintptr_t) "acme";
    said.version = (char *)(uintptr_t) "v";
    said.generation = 7;
    said.effective = effective;
    said.eligible = eligible;
    said.superseded = superseded;
    return said;
}

static udpa_resource *
answer(contribution_message *all, size_t n)
{
    contribution_message *list[8];
    uint8_t room[1024];
    origins_message origins = UDPA__STATUS__V1__ORIGINS_STATUS__INIT;
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    for (size_t i = 0; i < n; i++)
        list[i] = &all[i];
    origins.type_url = (char *)(uintptr_t)TEST_CDS;
    origins.name = (char *)(uintptr_t) "com.acme/a";
    origins.contributions = list;
    origins.n_contributions = n;
    spec.name = "udpa.node/origins/x/com.acme/a";
    spec.type_url = "type.googleapis.com/udpa.status.v1.OriginsStatus";
    spec.payload = room;
    spec.payload_size = udpa__status__v1__origins_status__pack(&origins, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

static void
expect(const udpa_resource *resource, const char *wanted)
{
    udpa_resource *one = (udpa_resource *)(uintptr_t)resource;
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    udpai_ctl_put_origins(&out, &plain, &one, 1);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
}

static void
each_says_what_it_is_worth(void **state)
{
    (void)state;
    char *way[] = {(char *)(uintptr_t) "core", (char *)(uintptr_t) "mid",
                   (char *)(uintptr_t) "here"};
    contribution_message all[] = {
        said_by("path:/etc", true, true, false),
        said_by("publisher:/p", false, true, false),
        said_by("source:a", false, false, false),
        said_by("source:b", false, true, true),
    };
    all[2].way = way;
    all[2].n_way = 3;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = answer(all, 4);
    assert_true(udpai_ctl_has_origins(resource));
    expect(resource,
           "TYPE      NAME         ORIGIN         AUTHORITY   VERSION   GENERATION   STATE        "
           "PATH\n"
           "cluster   com.acme/a   path:/etc      acme        v                  7   effective    "
           "-\n"
           "cluster   com.acme/a   publisher:/p   acme        v                  7   shadowed     "
           "-\n"
           "cluster   com.acme/a   source:a       acme        v                  7   not active   "
           "core > mid\n"
           "cluster   com.acme/a   source:b       acme        v                  7   outdated     "
           "-\n");
}

static void
of_nothing_there_is_no_table(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = answer(NULL, 0);
    assert_false(udpai_ctl_has_origins(resource));
    expect(resource, "");
}

/* A node may say anything. */
static void
what_is_no_answer_is_left_out(void **state)
{
    (void)state;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("com.acme/a", .value = "\xff\xff");
    assert_false(udpai_ctl_has_origins(resource));
    expect(resource, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_says_what_it_is_worth),
        cmocka_unit_test(of_nothing_there_is_no_table),
        cmocka_unit_test(what_is_no_answer_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
