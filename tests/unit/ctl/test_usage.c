/* SPDX-License-Identifier: Apache-2.0 */
/* What may come next by the usage lines of a verb. */
#include "ctl/usage.h"

#include <stdio.h>

#include "ctl/verbs.h"
#include "tests/harness/test.h"

#define WORDS_MAX 8

static void
note(void *userdata, udpai_str next, const char *type)
{
    char *text = userdata;
    size_t len = strlen(text);
    snprintf(text + len, 256 - len, "%s%.*s%s%s", len ? " " : "", UDPAI_SHOWN(next),
             type ? " of " : "", type ? type : "");
}

/* @p words: with a space behind each. */
static const char *
next_of(const char *usage, const char *words)
{
    static char text[256];
    char room[128];
    const char *all[WORDS_MAX];
    size_t n = 0;
    snprintf(room, sizeof(room), "%s", words);
    for (char *at = room, *end; n < WORDS_MAX && (end = strchr(at, ' ')); at = end + 1) {
        *end = '\0';
        all[n++] = at;
    }
    *text = '\0';
    udpai_ctl_usage_visit(usage, all, n, note, text);
    return text;
}

static void
what_may_come_next(void **state)
{
    static const struct {
        const char *usage, *words, *next;
    } cases[] = {
        {"get [TYPE [NAME...]]", "", "TYPE"},
        {"get [TYPE [NAME...]]", "cluster ", "NAME of cluster"},
        {"get [TYPE [NAME...]]", "cluster a b ", "NAME of cluster"},
        {"clients", "", ""},
        {"clients", "x ", ""},
        {"status [sources|replicas]", "", "sources replicas"},
        {"status [sources|replicas]", "sources ", ""},
        {"xds get|watch TYPE [NAME...]", "watch ", "TYPE"},
        {"xds get|watch TYPE [NAME...]", "wat ", ""},
        {"xds get|watch TYPE [NAME...]", "get listener ", "NAME of listener"},
        {"backup FILE\nbackup status FILE", "", "FILE status"},
        {"backup FILE\nbackup status FILE", "status ", "FILE"},
        {"freeze [NAMESPACE] --because TEXT", "", "NAMESPACE"},
        {"freeze [NAMESPACE] --because TEXT", "com.acme ", ""},
        {"restore FILE --state DIRECTORY", "a ", ""},
        {"apply -f FILE [--dry-run]\napply -f FILE --prune -n NAMESPACE", "", ""},
        {"top [--interval SECONDS] [--once]", "", ""},
        {"wait [--gone] TYPE NAME...\nwait -f FILE", "", "TYPE"},
        {"auth can-i PEER publish|admin TYPE NAME", "can-i me admin cds ", "NAME of cds"},
        {"", "", ""},
        {"get  [", "", ""},
        {"get ...", "", "..."},
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        assert_string_equal(next_of(cases[i].usage, cases[i].words), cases[i].next);
}

/* Whatever is written there, something may come behind each verb that takes words. */
static void
the_lines_of_all_verbs_can_be_read(void **state)
{
    const udpai_ctl_verb *verb;
    (void)state;
    for (size_t i = 0; (verb = udpai_ctl_verb_at(i)); i++) {
        const char *next = next_of(verb->usage, "");
        assert_null(strpbrk(next, "[]-|") == next ? next : NULL);
        assert_null(strstr(next, "..."));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_come_next),
        cmocka_unit_test(the_lines_of_all_verbs_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
