/* SPDX-License-Identifier: Apache-2.0 */
/* Variants against a plain definition, over random histories: whoever has been sent everything
 * holds, by constraints, what each of his locators leads to, and nothing else. */
#include <stdio.h>

#include "tests/unit/fanout/fanout_test.h"

#define N_BASES 2
#define N_VARIANTS 5
#define N_STEPS 400

static const char *const bases[N_BASES] = {"a", "b"};
static const char *const tests[] = {
    "env~prod", "env~test", "env", "!env", "env~prod&zone~1", "zone~1", "!zone&env~prod",
};
static const char *const parameters[] = {
    "", "env~prod", "env~test&zone~1", "zone~1", "env~prod&zone~1", "env~qa",
};

#define N_TESTS UDPAI_ARRAY_LEN(tests)
#define N_PARAMETERS UDPAI_ARRAY_LEN(parameters)

/* Values are numbers, 0: not there. */
typedef struct variant {
    unsigned value;
    size_t base, test;
} variant;

typedef struct model {
    uint64_t random;
    unsigned n_changes;
    unsigned plain[N_BASES];
    variant variants[N_VARIANTS];
    bool asked[N_BASES][N_PARAMETERS];
    unsigned held[N_BASES][N_TESTS + 1]; /* what the client has; the last: without constraints */
    bool lost[N_BASES][N_TESTS + 1];     /* by the present response */
} model;

/* ---- the definition ---- */

static bool
has_word(const char *text, const char *word, size_t len)
{
    for (const char *at = text; *at; at += strcspn(at, "&"), at += *at == '&')
        if (strncmp(at, word, len) == 0 && (at[len] == '&' || !at[len]))
            return true;
    return false;
}

static bool
has_key(const char *text, const char *key, size_t len)
{
    for (const char *at = text; *at; at += strcspn(at, "&"), at += *at == '&')
        if (strncmp(at, key, len) == 0 && at[len] == '~')
            return true;
    return false;
}

static bool
matches(const char *test, const char *having)
{
    for (const char *at = test; *at; at += *at == '&') {
        size_t len = strcspn(at, "&");
        bool passes = *at == '!'             ? !has_key(having, at + 1, len - 1)
                      : memchr(at, '~', len) ? has_word(having, at, len)
                                             : has_key(having, at, len);
        if (!passes)
            return false;
        at += len;
    }
    return true;
}

static size_t
n_keys(const char *test)
{
    size_t n = 1;
    for (const char *at = test; *at; at++)
        n += *at == '&';
    return n;
}

/* The test of what a locator leads to (N_TESTS: what has no constraints), and its value. */
static unsigned
lead(const model *self, size_t base, size_t having, size_t *ret_test)
{
    const variant *best = NULL;
    for (size_t i = 0; i < N_VARIANTS; i++) {
        const variant *one = &self->variants[i];
        if (one->value && one->base == base && matches(tests[one->test], parameters[having]) &&
            (!best || n_keys(tests[one->test]) > n_keys(tests[best->test])))
            best = one;
    }
    *ret_test = best ? best->test : N_TESTS;
    return best ? best->value : self->plain[base];
}

static void
check(const model *self)
{
    unsigned wanted[N_BASES][N_TESTS + 1] = {{0}};
    for (size_t base = 0; base < N_BASES; base++)
        for (size_t having = 0; having < N_PARAMETERS; having++) {
            size_t test;
            unsigned value = lead(self, base, having, &test);
            if (self->asked[base][having] && value)
                wanted[base][test] = value;
        }
    for (size_t base = 0; base < N_BASES; base++)
        for (size_t test = 0; test <= N_TESTS; test++)
            if (wanted[base][test] != self->held[base][test])
                fail_msg("after %u changes: of %s with '%s' %u is held, not %u", self->n_changes,
                         bases[base], test < N_TESTS ? tests[test] : "", self->held[base][test],
                         wanted[base][test]);
}

/* ---- the client ---- */

static size_t
base_of(const char *name)
{
    return name[0] == 'a' ? 0 : 1;
}

static void
lose(model *self, const char *word)
{
    const char *test = strchr(word, ';');
    assert_non_null(test);
    for (size_t i = 0; i <= N_TESTS; i++)
        if (strcmp(i < N_TESTS ? tests[i] : "", test + 1) == 0) {
            self->held[base_of(word)][i] = 0;
            self->lost[base_of(word)][i] = true;
        }
}

/* What one response takes away it does not bring. */
static void
get(model *self, const char *word)
{
    const variant *one = word[0] == 'v' ? &self->variants[word[1] - '0'] : NULL;
    size_t base = one ? one->base : base_of(word), test = one ? one->test : N_TESTS;
    assert_false(self->lost[base][test]);
    self->held[base][test] = (unsigned)strtoul(strchr(word, '=') + 1, NULL, 10);
}

/* Of "CDS[v1=3 -a;env~prod]". */
static void
apply(model *self, const char *response, bool ends)
{
    for (const char *at = response + 4; *at && *at != ']'; at += *at == ' ') {
        char word[64];
        size_t len = strcspn(at, " ]");
        (void)snprintf(word, sizeof(word), "%.*s", (int)len, at);
        if (ends && *word == '-')
            lose(self, word + 1);
        else if (!ends && *word != '-')
            get(self, word);
        at += len;
    }
}

/* As a whole: what goes, then what comes. */
static bool
read_one(model *self, fanout_reader *reader)
{
    const char *response = fanout_next(reader);
    if (!*response)
        return false;
    memset(self->lost, 0, sizeof(self->lost));
    apply(self, response, true);
    apply(self, response, false);
    return true;
}

/* What it gives back it forgets, but for what another locator leads to. */
static void
forget_others(model *self)
{
    bool kept[N_BASES][N_TESTS + 1] = {{false}};
    for (size_t base = 0; base < N_BASES; base++)
        for (size_t having = 0; having < N_PARAMETERS; having++) {
            size_t test;
            (void)lead(self, base, having, &test);
            kept[base][test] |= self->asked[base][having];
        }
    for (size_t base = 0; base < N_BASES; base++)
        for (size_t test = 0; test <= N_TESTS; test++)
            if (!kept[base][test])
                self->held[base][test] = 0;
}

/* ---- histories ---- */

static void
change_world(model *self, fanout_bed *bed)
{
    char text[128];
    size_t i = test_random_below(&self->random, N_VARIANTS + N_BASES);
    bool is_removal = test_random_below(&self->random, 3) == 0;
    unsigned value = is_removal ? 0 : ++self->n_changes;
    if (i < N_VARIANTS) {
        variant *one = &self->variants[i];
        *one = (variant){value, test_random_below(&self->random, N_BASES),
                         test_random_below(&self->random, N_TESTS)};
        (void)snprintf(text, sizeof(text), is_removal ? "-CDS/v%zu" : "+CDS/v%zu=%u^%s;%s", i,
                       value, bases[one->base], tests[one->test]);
    } else {
        self->plain[i - N_VARIANTS] = value;
        (void)snprintf(text, sizeof(text), is_removal ? "-CDS/%s" : "+CDS/%s=%u",
                       bases[i - N_VARIANTS], value);
    }
    fanout_change(bed, text);
}

static void
change_wishes(model *self, fanout_reader *reader)
{
    char text[64];
    size_t base = test_random_below(&self->random, N_BASES),
           having = test_random_below(&self->random, N_PARAMETERS);
    bool *asked = &self->asked[base][having];
    (void)snprintf(text, sizeof(text), "%s%s%s", bases[base], *parameters[having] ? ";" : "",
                   parameters[having]);
    while (read_one(self, reader))
        ;
    if (*asked)
        fanout_drop_name(reader, "CDS", text);
    else
        fanout_ask(reader, "CDS", text);
    *asked = !*asked;
    forget_others(self);
}

static void
live(fanout_bed *bed, uint64_t seed)
{
    static fanout_reader reader;
    static fanout_renderer telling;
    model self = {.random = seed};
    if (seed % 2) /* responses of one item, or of any number */
        fanout_bed_page(bed, 1);
    else
        fanout_bed_page(bed, 1000);
    fanout_settle(bed);
    telling = bed->renderer;
    telling.base.selects_variants = true;
    fanout_open_with(&reader, bed, &telling);
    reader.checks_refreshes = false;
    assert_ok(udpai_subscription_distinguish_variants(fanout_of(&reader, "CDS")));
    for (int step = 0; step < N_STEPS; step++) {
        if (test_random_below(&self.random, 4) == 0)
            change_wishes(&self, &reader);
        else
            change_world(&self, bed);
        if (test_random_below(&self.random, 3) == 0)
            (void)read_one(&self, &reader);
        if (test_random_below(&self.random, 4))
            continue;
        while (read_one(&self, &reader))
            ;
        check(&self);
    }
    fanout_close(&reader);
}

static void
test_each_locator_has_its_variant_whatever_has_happened(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        live(*state, seed);
}

int
main(void)
{
    const struct CMUnitTest all[] = {
        fanout_test(test_each_locator_has_its_variant_whatever_has_happened),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
