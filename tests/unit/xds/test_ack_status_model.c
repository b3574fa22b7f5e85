/* SPDX-License-Identifier: Apache-2.0 */
/* Who has acknowledged what, against a plain definition: a client that notes of every answer it
 * gives which versions it was about. What is said to be acknowledged must be what it has
 * acknowledged; and when it has answered everything, nothing may be called unanswered.
 *
 * What a subscription takes is, one by one, what is said of each resource. Of what was refused, the
 * last good version is the one that the client has accepted last, or it is not known. A change was
 * answered if a response with its name was that was made after it. */
#include <stdio.h>

#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "tests/unit/session/acknowledgement_test.h"
#include "xds_test.h"

typedef Envoy__Service__Discovery__V3__DeltaDiscoveryResponse delta_response;

#define N_NAMES 6
#define N_STEPS 400
#define N_SEEDS 40
#define N_WAITING 64
#define N_CHANGES 32

/* What the client has said last of a name: "" is that it is gone. */
typedef struct verdict {
    char version[UDPAI_CONTENT_HASH_HEX + 1];
    bool is_given, is_refused;
    char good[UDPAI_CONTENT_HASH_HEX + 1]; /* that it accepted last, and has; "": none */
    bool is_moot; /* it has refused just that, when it was sent again; or its removal */
    size_t time;  /* so many changes had been made when it was sent that */
} verdict;

/* A response that it has not answered. */
typedef struct waiting {
    char nonce[32];

    struct {
        int name;
        char version[UDPAI_CONTENT_HASH_HEX + 1];
    } parts[2 * N_NAMES];

    size_t n;
    size_t time;
} waiting;

/* A change, and where the fan-out was then. */
typedef struct changed {
    int name;
    size_t time;
    uint64_t place;
    bool is_removal, is_void;
} changed;

typedef struct model {
    xds_world world;
    xds_client client;
    uint64_t random;
    waiting queue[N_WAITING];
    size_t n_waiting;
    verdict verdicts[N_NAMES];
    int values[N_NAMES]; /* that is there; 0: nothing */
    bool has_wildcard, has_name[N_NAMES];
    int last_value;
    size_t n_good;              /* refusals of which the last good version was known */
    changed changes[N_CHANGES]; /* the last ones, in a ring */
    size_t n_changes;
    size_t n_early; /* changes that were answered while a newer one was not */
} model;

static int
pick(model *self, int n)
{
    return (int)test_random_below(&self->random, (size_t)n);
}

/* ---- what comes ---- */

static void
note(waiting *response, const char *name, const char *version)
{
    size_t i = response->n++;
    assert_true(i < UDPAI_ARRAY_LEN(response->parts));
    response->parts[i].name = name[0] - 'a';
    snprintf(response->parts[i].version, sizeof(response->parts[i].version), "%s", version);
}

static void
take(model *self, udpa_bytes *message)
{
    delta_response *response = envoy__service__discovery__v3__delta_discovery_response__unpack(
        NULL, udpa_bytes_size(message), udpa_bytes_data(message));
    assert_non_null(response);
    assert_true(self->n_waiting < N_WAITING);
    waiting *one = &self->queue[self->n_waiting++];
    *one = (waiting){.time = self->n_changes};
    snprintf(one->nonce, sizeof(one->nonce), "%s", response->nonce);
    for (size_t i = 0; i < response->n_resources; i++)
        if (response->resources[i]->resource) /* a heartbeat says nothing of what it had before */
            note(one, response->resources[i]->name, response->resources[i]->version);
    for (size_t i = 0; i < response->n_removed_resources; i++)
        note(one, response->removed_resources[i], "");
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
}

/* At most n messages. */
static void
run(model *self, int n)
{
    for (int i = 0; i < n && self->n_waiting < N_WAITING; i++) {
        if (self->client.stream.is_writing)
            fake_stream_complete(&self->client.stream);
        udpai_hub_run(self->world.hub.hub);
        udpa_bytes *message = fake_stream_take(&self->client.stream);
        if (!message)
            return;
        take(self, message);
        udpa_bytes_unref(message);
    }
}

static void
answer(model *self, bool is_refusal)
{
    if (self->n_waiting == 0)
        return;
    waiting one = self->queue[0];
    memmove(self->queue, self->queue + 1, --self->n_waiting * sizeof(one));
    XDS_SEND(&self->client, "CDS", .nonce = one.nonce, .error = is_refusal ? "no" : NULL);
    for (size_t i = 0; i < one.n; i++) {
        if (one.parts[i].name < 0)
            continue;
        verdict *said = &self->verdicts[one.parts[i].name];
        memcpy(said->version, one.parts[i].version, sizeof(said->version));
        said->is_refused = is_refusal;
        said->is_given = true;
        said->time = one.time;
        if (!is_refusal)
            memcpy(said->good, said->version, sizeof(said->good));
        said->is_moot = is_refusal && (said->is_moot || !*said->version ||
                                       strcmp(said->good, said->version) == 0);
    }
}

/* ---- what it asks for ---- */

static bool
selects(const model *self, int name)
{
    return self->has_wildcard || self->has_name[name];
}

/* What it does not ask for any more it does not have any more. */
static void
forget(model *self, int name)
{
    if (selects(self, name))
        return;
    self->verdicts[name] = (verdict){0};
    for (size_t i = 0; i < N_CHANGES; i++)
        self->changes[i].is_void |= self->changes[i].name == name;
    for (size_t i = 0; i < self->n_waiting; i++)
        for (size_t k = 0; k < self->queue[i].n; k++)
            if (self->queue[i].parts[k].name == name)
                self->queue[i].parts[k].name = -1;
}

static void
ask(model *self)
{
    int name = pick(self, N_NAMES);
    char text[2] = {(char)('a' + name), '\0'};
    switch (pick(self, 4)) {
    case 0:
        xds_subscribe(&self->client, "CDS", text);
        self->has_name[name] = true;
        break;
    case 1:
        xds_unsubscribe(&self->client, "CDS", text);
        self->has_name[name] = false;
        forget(self, name);
        break;
    case 2:
        xds_subscribe(&self->client, "CDS", "*");
        self->has_wildcard = true;
        break;
    default:
        xds_unsubscribe(&self->client, "CDS", "*");
        self->has_wildcard = false;
        for (int i = 0; i < N_NAMES; i++)
            forget(self, i);
        break;
    }
}

/* ---- what there is ---- */

/* It has its place when all that comes with it was made. What is removed is another thing from then
 * on, and again when it is set. */
static void
note_change(model *self, int name, bool is_removal)
{
    for (size_t i = 0; i < N_CHANGES; i++)
        self->changes[i].is_void |=
            self->changes[i].name == name && self->changes[i].is_removal != is_removal;
    self->changes[self->n_changes % N_CHANGES] =
        (changed){name, self->n_changes + 1, UINT64_MAX, is_removal, !selects(self, name)};
    self->n_changes++;
}

static void
place_changes(model *self)
{
    for (size_t i = 0; i < N_CHANGES; i++)
        if (self->changes[i].place == UINT64_MAX)
            self->changes[i].place = udpai_fanout_place(udpai_hub_fanout(self->world.hub.hub));
}

static void
put_change(model *self, int name, char *text, size_t size)
{
    int *value = &self->values[name];
    size_t at = strlen(text);
    switch (pick(self, 4)) {
    case 0:
        snprintf(text + at, size - at, "-CDS/%c ", 'a' + name);
        if (*value)
            note_change(self, name, true);
        *value = 0;
        break;
    case 1:
        if (*value)
            snprintf(text + at, size - at, "~CDS/%c=%d#%%60000 ", 'a' + name, *value);
        break;
    default:
        *value = ++self->last_value;
        note_change(self, name, false);
        snprintf(text + at, size - at, "+CDS/%c=%d#%s ", 'a' + name, *value,
                 pick(self, 2) ? "%60000" : "");
        break;
    }
}

static void
change(model *self)
{
    char text[256] = "";
    int first = pick(self, N_NAMES);
    for (int i = pick(self, 3); i >= 0; i--) /* of each name one */
        put_change(self, (first + i) % N_NAMES, text, sizeof(text));
    if (*text) {
        text[strlen(text) - 1] = '\0'; /* a space */
        xds_change(&self->world, text);
        place_changes(self);
    }
}

/* ---- what is said of it ---- */

static void
check_acknowledged(const model *self, int name)
{
    const verdict *said = &self->verdicts[name];
    char resource[32], hash[UDPAI_CONTENT_HASH_HEX + 1];
    if (!self->values[name]) {
        assert_true(!said->is_given || !*said->version);
        return;
    }
    snprintf(resource, sizeof(resource), "CDS/%c=%d#", 'a' + name, self->values[name]);
    assert_true(said->is_given && !said->is_refused);
    assert_string_equal(said->version, xds_hash(resource, hash));
}

static void
check(const model *self, bool is_quiet)
{
    for (int name = 0; name < N_NAMES; name++) {
        char full[16];
        snprintf(full, sizeof(full), "local/%c", 'a' + name);
        const char *text = acknowledgement_of(self->world.hub.hub, xds_type_url("CDS"), full);
        bool is_acknowledged = strstr(text, "1 of 1") != NULL;
        assert_int_equal(strncmp(text, "gone: ", 6) == 0, !self->values[name]);
        assert_int_equal(strstr(text, "of 1") != NULL, selects(self, name));
        if (is_acknowledged)
            check_acknowledged(self, name);
        const verdict *said = &self->verdicts[name];
        /* What it had refused before it did not ask for it any more, is so until it answers anew.
         */
        if (strstr(text, " refused"))
            assert_true(said->is_refused || !said->is_given);
        if (is_quiet && selects(self, name) && self->values[name])
            assert_int_equal(is_acknowledged, said->is_given && !said->is_refused);
        if (is_quiet && (strstr(text, "behind") || strstr(text, "unanswered")))
            fail_msg("%s: %s", full, text);
    }
}

/* ---- the other way round ---- */

struct taken_check {
    model *self;
    bool is_seen[N_NAMES];
};

static const char *const state_words[UDPAI_ACKNOWLEDGEMENT_STATES] = {
    [UDPAI_ACKNOWLEDGEMENT_BEHIND] = "behind",   [UDPAI_ACKNOWLEDGEMENT_UNANSWERED] = "unanswered",
    [UDPAI_ACKNOWLEDGEMENT_REFUSED] = "refused", [UDPAI_ACKNOWLEDGEMENT_DOUBTFUL] = "in doubt",
    [UDPAI_ACKNOWLEDGEMENT_GIVEN] = "1 of 1",
};

static void
check_good(model *self, int name, udpai_str good)
{
    const verdict *said = &self->verdicts[name];
    if (good.len == 0 || said->is_moot)
        return;
    assert_str(good, said->good);
    self->n_good++;
}

static bool
check_taken(void *userdata, const udpai_taken *taken)
{
    struct taken_check *check = userdata;
    const udpai_session *session = check->self->client.stream.session;
    udpai_acknowledgement said;
    char called[UDPAI_SESSION_CALLED_MAX];
    udpai_str name;
    session->ops->ack_status(session, &taken->ack, &said);
    assert_true(session->ops->call(session, &taken->ack, taken->name, called, &name));
    int index = name.data[0] - 'a';
    assert_false(check->is_seen[index]);
    check->is_seen[index] = true;
    assert_int_equal(taken->ack.resource != NULL, check->self->values[index] != 0);
    const char *text = acknowledgement_of(check->self->world.hub.hub, xds_type_url("CDS"),
                                          (char[]){'l', 'o', 'c', 'a', 'l', '/', name.data[0], 0});
    if (taken->ack.resource && !strstr(text, state_words[said.state]))
        fail_msg("%s: it is %s", text, state_words[said.state]);
    if (taken->ack.resource && said.state == UDPAI_ACKNOWLEDGEMENT_REFUSED)
        check_good(check->self, index, said.good);
    return test_random_below(&check->self->random, 3) > 0; /* slices of any size */
}

static void
check_all_taken(model *self)
{
    struct taken_check check = {.self = self};
    const udpai_session *session = self->client.stream.session;
    const udpai_subscriber *subscriber = session->ops->subscriber(session);
    for (size_t i = 0; i < subscriber->subscriptions.n; i++) {
        udpai_taken_place place = {0};
        while (udpai_subscription_visit_taken(subscriber->subscriptions.items[i], &place,
                                              check_taken, &check))
            continue;
    }
    for (int name = 0; name < N_NAMES; name++)
        assert_int_equal(check.is_seen[name],
                         self->has_name[name] || (self->has_wildcard && self->values[name]));
}

/* ---- changes ---- */

static void
check_change(model *self, const changed *one, bool is_quiet)
{
    const udpai_session *session = self->client.stream.session;
    const udpai_subscriber *subscriber = session->ops->subscriber(session);
    const verdict *said = &self->verdicts[one->name];
    bool is_there = self->values[one->name] != 0;
    if (one->time == 0 || one->is_void)
        return;
    for (size_t i = 0; i < subscriber->subscriptions.n; i++) {
        const udpai_subscription *subscription = subscriber->subscriptions.items[i];
        udpai_ack_position unanswered;
        assert_true(session->ops->unanswered(session, subscription, &unanswered));
        bool is_answered =
            udpai_subscription_has_answered(subscription, unanswered, one->place, one->is_removal);
        if (is_quiet)
            assert_true(is_answered);
        if (is_answered && !is_there) /* it may never have had it */
            assert_true(!said->is_given || !*said->version || said->time >= one->time);
        if (is_answered && is_there)
            assert_true(said->is_given && said->time >= one->time);
        if (is_answered && is_there && one->time < self->n_changes)
            self->n_early += self->n_waiting > 0;
    }
}

static void
check_changes(model *self, bool is_quiet)
{
    for (size_t i = 0; i < N_CHANGES; i++)
        check_change(self, &self->changes[i], is_quiet);
}

/* Everything comes, and is accepted. */
static void
settle_down(model *self)
{
    do {
        while (self->n_waiting)
            answer(self, false);
        run(self, N_WAITING);
    } while (self->n_waiting);
    check(self, true);
    check_changes(self, true);
}

static void
step(model *self)
{
    int what = pick(self, 20);
    if (what < 6)
        change(self);
    else if (what < 8)
        ask(self);
    else if (what < 12)
        run(self, 1 + pick(self, 3));
    else if (what < 18)
        answer(self, what == 17);
    else if (what == 18 && pick(self, 4) == 0)
        settle_down(self);
    check(self, false);
    check_all_taken(self);
    check_changes(self, false);
}

static void
what_is_said_is_what_the_client_has_said(void **state)
{
    (void)state;
    size_t n_good = 0, n_early = 0;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        model *self = calloc(1, sizeof(*self));
        self->random = seed;
        udpai_hub_options options = fake_hub_options();
        if (seed % 2) /* two or three in a response: it runs behind, and takes the newest first */
            options.fanout.response_bytes = 400;
        xds_world_init_with(&self->world, &options);
        xds_settle(&self->world);
        xds_client_open(&self->client, &self->world, true);
        xds_subscribe(&self->client, "CDS", "a");
        self->has_name[0] = true;
        for (int i = 0; i < N_STEPS; i++)
            step(self);
        settle_down(self);
        n_good += self->n_good;
        n_early += self->n_early;
        xds_client_close(&self->client);
        xds_world_done(&self->world);
        free(self);
    }
    assert_true(n_good > 100); /* else it is never known */
    assert_true(n_early > 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_is_what_the_client_has_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
