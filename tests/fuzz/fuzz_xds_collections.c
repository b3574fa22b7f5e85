/* SPDX-License-Identifier: Apache-2.0 */
/* Two clients of delta that name everything by xdstp:// names and collections by glob, each in more
 * than one spelling, and a world that changes under them.
 *
 * In the end, when everything is known and written, each client holds, in the spelling that it used
 * last, what there is of all that it has asked for, and nothing else. */
#include "base/alloc.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "model/types.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/wire.h"
#include "xds/xds_internal.h"

#define N_NAMES 8
#define N_GLOBS 4
#define N_SPELLINGS 2
#define N_HELD 128
#define AT "/envoy.config.cluster.v3.Cluster/"

/* In UDPA, and as clients spell them. */
static const char *const names[N_NAMES][1 + N_SPELLINGS] = {
    {"com.acme/a", "xdstp://com.acme" AT "a", "xdstp://com.acme" AT "%61"},
    {"com.acme/b", "xdstp://com.acme" AT "b", "xdstp://com.acme" AT "b?"},
    {"com.acme/m/a", "xdstp://com.acme" AT "m/a", "xdstp://com.acme" AT "%6D/a"},
    {"com.acme/m/b", "xdstp://com.acme" AT "m/b", "xdstp://com.acm%65" AT "m/b"},
    {"com.acme/m/n/a", "xdstp://com.acme" AT "m/n/a", "xdstp://com.acme" AT "m/n/%61"},
    {"com.acme/m/a?j=1&k=2", "xdstp://com.acme" AT "m/a?j=1&k=2",
     "xdstp://com.acme" AT "m/a?k=2&j=1"},
    {"com.acme/m/b?j=1&k=2", "xdstp://com.acme" AT "m/b?j=1&k=2",
     "xdstp://com.acme" AT "m/b?k=%32&j=1"},
    {"local/a", "xdstp://" AT "a", "xdstp://local" AT "a"},
};

/* What stands before and behind a member; which names are members. */
static const struct {
    const char *spellings[N_SPELLINGS][2];
    unsigned members;
} globs[N_GLOBS] = {
    {{{"xdstp://com.acme" AT, ""}, {"xdstp://%63om.acme" AT, ""}}, 1u << 0 | 1u << 1},
    {{{"xdstp://com.acme" AT "m/", ""}, {"xdstp://com.acme" AT "%6D/", ""}}, 1u << 2 | 1u << 3},
    {{{"xdstp://com.acme" AT "m/", "?j=1&k=2"}, {"xdstp://com.acme" AT "m/", "?k=2&j=1"}},
     1u << 5 | 1u << 6},
    {{{"xdstp://" AT, ""}, {"xdstp://local" AT, ""}}, 1u << 7},
};

typedef struct held {
    char name[128];
    unsigned content;
} held;

typedef struct client {
    fake_stream stream;
    unsigned name_as[N_NAMES], glob_as[N_GLOBS]; /* spelling, from 1; 0: not asked for */
    held held[N_HELD];
    size_t n_held;
} client;

typedef struct bed {
    fake_hub hub;
    udpai_xds_server xds_server;
    udpai_xds_audience audience;
    unsigned content[N_NAMES];
    unsigned n_changes;
    client clients[2];
} bed;

/* ---- the world ---- */

static void
change(bed *self, uint8_t what)
{
    size_t i = what % N_NAMES;
    bool is_removal = what & 16;
    if (is_removal && !self->content[i])
        return;
    self->content[i] = is_removal ? 0 : 1 + ++self->n_changes % 5;
    const udpai_resource_parts parts = {
        .name = udpai_str_from(names[i][0]),
        .any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLUSTER), W_VARINT(1000, self->content[i])),
    };
    udpai_change one = {.kind = is_removal ? UDPAI_CHANGE_REMOVE : UDPAI_CHANGE_SET};
    udpai_change_set *set = udpai_change_set_new();
    FUZZ_CHECK(set && parts.any && udpai_resource_make(&one.resource, &parts) == UDPA_OK);
    FUZZ_CHECK(udpai_change_set_add(set, &one) == UDPA_OK);
    udpa_resource_unref(one.resource);
    udpa_bytes_unref(parts.any);
    fake_hub_apply(&self->hub, set);
    wire_free_all();
}

static void
settle(bed *self, bool all)
{
    const udpai_unsettled missing = {.prefix = UDPAI_STR("com.acme/m"), .source = UDPAI_STR("s")};
    const udpai_settled_facts facts = {.missing = &missing, .n_missing = !all};
    fake_hub_settle(&self->hub, &facts);
}

/* ---- what a client asks for ---- */

static const char *
last_segment(size_t name)
{
    return strchr(names[name][0], '?') ? (name == 5 ? "a" : "b") : strrchr(names[name][0], '/') + 1;
}

static void
spell_member(char text[128], size_t glob, unsigned as, const char *segment)
{
    const char *const *around = globs[glob].spellings[as - 1];
    (void)snprintf(text, 128, "%s%s%s", around[0], segment, around[1]);
}

/* The name that this text is of, through something that is asked for; N_NAMES: none. */
static size_t
find_asked(const client *self, const char *text)
{
    char member[128];
    for (size_t i = 0; i < N_NAMES; i++)
        if (self->name_as[i] && strcmp(names[i][self->name_as[i]], text) == 0)
            return i;
    for (size_t glob = 0; glob < N_GLOBS; glob++)
        for (size_t i = 0; self->glob_as[glob] && i < N_NAMES; i++) {
            if (!(globs[glob].members >> i & 1))
                continue;
            spell_member(member, glob, self->glob_as[glob], last_segment(i));
            if (strcmp(member, text) == 0)
                return i;
        }
    return N_NAMES;
}

/* Of what it holds, a client keeps what it still asks for. */
static void
forget_rest(client *self)
{
    for (size_t i = self->n_held; i-- > 0;)
        if (find_asked(self, self->held[i].name) == N_NAMES)
            self->held[i] = self->held[--self->n_held];
}

static held *
find_held(client *self, const char *name)
{
    for (size_t i = 0; i < self->n_held; i++)
        if (strcmp(self->held[i].name, name) == 0)
            return &self->held[i];
    return NULL;
}

static void
ask(client *self, uint8_t what, uint8_t how)
{
    char text[128];
    bool is_glob = what & 1, ends = how & 1;
    unsigned as = 1 + (how >> 1 & 1);
    size_t i = (what >> 1) % (is_glob ? N_GLOBS : N_NAMES);
    if (is_glob)
        spell_member(text, i, as, "*");
    else
        (void)snprintf(text, sizeof(text), "%s", names[i][as]);
    *(is_glob ? &self->glob_as[i] : &self->name_as[i]) = ends ? 0 : as;
    forget_rest(self);
    udpai_str request = W_JOIN(W_TEXT(2, UDPAI_TYPE_CLUSTER), W_TEXT(ends ? 4 : 3, text));
    fake_stream_receive(&self->stream, request.data, request.len);
    wire_free_all();
}

/* ---- responses ---- */

static unsigned
content_of(const Envoy__Service__Discovery__V3__Resource *resource)
{
    FUZZ_CHECK(resource->resource);
    udpai_proto_reader reader = udpai_proto_read(
        (udpai_str){(const char *)resource->resource->value.data, resource->resource->value.len});
    udpai_proto_field field;
    FUZZ_CHECK(udpai_proto_next(&reader, &field) && field.number == 1000 && field.value);
    return (unsigned)field.value;
}

static void
take(client *self, const char *name, unsigned content)
{
    if (find_asked(self, name) == N_NAMES)
        return; /* given up meanwhile */
    held *known = find_held(self, name);
    if (!known) {
        FUZZ_CHECK(self->n_held < N_HELD && strlen(name) < sizeof(known->name));
        known = &self->held[self->n_held++];
        memcpy(known->name, name, strlen(name) + 1);
    }
    known->content = content;
}

static bool
is_glob_asked_for(const client *self, const char *name)
{
    char text[128];
    for (size_t glob = 0; glob < N_GLOBS; glob++) {
        if (!self->glob_as[glob])
            continue;
        spell_member(text, glob, self->glob_as[glob], "*");
        if (strcmp(text, name) == 0)
            return true;
    }
    return false;
}

static void
read_one(client *self, const udpa_bytes *bytes)
{
    Envoy__Service__Discovery__V3__DeltaDiscoveryResponse *response =
        envoy__service__discovery__v3__delta_discovery_response__unpack(
            NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    FUZZ_CHECK(response);
    for (size_t i = 0; i < response->n_resources; i++) {
        for (size_t k = 0; k < i; k++)
            FUZZ_CHECK(strcmp(response->resources[i]->name, response->resources[k]->name));
        take(self, response->resources[i]->name, content_of(response->resources[i]));
    }
    for (size_t i = 0; i < response->n_removed_resources; i++)
        if (!is_glob_asked_for(self, response->removed_resources[i]))
            take(self, response->removed_resources[i], 0);
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
}

static void
run(bed *self)
{
    udpai_hub_run(self->hub.hub);
    for (size_t i = 0; i < 2; i++) {
        udpa_bytes *message;
        while ((message = fake_stream_take(&self->clients[i].stream))) {
            read_one(&self->clients[i], message);
            udpa_bytes_unref(message);
        }
    }
}

/* ---- the whole ---- */

static void
begin(bed *self, uint8_t kind)
{
    static const udpai_str shown[] = {{"com.acme", 8}};
    udpai_hub_options options = fake_hub_options();
    options.fanout.response_bytes = kind & 2 ? 1 << 20 : 200;
    options.fanout.body_cache_bytes = kind & 4 ? 1 << 20 : 0;
    fake_hub_init(&self->hub, &options);
    self->audience.default_namespace = UDPAI_STR("local");
    self->audience.namespaces = shown;
    self->audience.n_namespaces = 1;
    self->xds_server.audiences = &self->audience;
    self->xds_server.n_audiences = 1;
    udpai_xds_server_init(&self->xds_server);
    settle(self, kind & 1);
    const udpai_stream_info info = {
        .context = udpai_xds_method_find(&self->xds_server, (udpai_str){0}, UDPAI_XDS_STREAM_DELTA),
    };
    for (size_t i = 0; i < 2; i++)
        fake_stream_open(&self->clients[i].stream, &self->hub, udpai_xds_session_new, &info);
}

static void
command(bed *self, udpai_str *input)
{
    uint8_t which = fuzz_take_byte(input), what = fuzz_take_byte(input);
    client *one = &self->clients[which >> 7];
    if ((which & 7) < 3)
        change(self, what);
    else if ((which & 7) < 5)
        ask(one, what, which >> 3);
    else if ((which & 7) == 5)
        settle(self, what & 1);
    else if (one->stream.is_writing)
        fake_stream_complete(&one->stream);
    run(self);
}

static void
come_to_rest(bed *self)
{
    run(self);
    for (int i = 0; self->clients[0].stream.is_writing || self->clients[1].stream.is_writing; i++) {
        FUZZ_CHECK(i < 10000);
        if (self->clients[i & 1].stream.is_writing)
            fake_stream_complete(&self->clients[i & 1].stream);
        run(self);
    }
}

static void
check(const bed *self, client *one, const char *name, size_t i)
{
    const held *found = find_held(one, name);
    FUZZ_CHECK((found ? found->content : 0) == self->content[i]);
}

static void
check_client(const bed *self, client *one)
{
    char text[128];
    FUZZ_CHECK(!one->stream.is_finished);
    for (size_t i = 0; i < N_NAMES; i++)
        if (one->name_as[i])
            check(self, one, names[i][one->name_as[i]], i);
    for (size_t glob = 0; glob < N_GLOBS; glob++)
        for (size_t i = 0; one->glob_as[glob] && i < N_NAMES; i++) {
            if (!(globs[glob].members >> i & 1))
                continue;
            spell_member(text, glob, one->glob_as[glob], last_segment(i));
            check(self, one, text, i);
        }
}

static void
end(bed *self)
{
    settle(self, true);
    come_to_rest(self);
    for (size_t i = 0; i < 2; i++) {
        check_client(self, &self->clients[i]);
        udpai_session *session = self->clients[i].stream.session;
        udpa_bytes_unref(session->ops->describe(session));
        fake_stream_close(&self->clients[i].stream);
    }
    fake_hub_done(&self->hub);
    wire_free_all();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, udpai_min_size(size, 4096)};
    unsigned long before = udpai_alloc_live();
    bed *self = calloc(1, sizeof(*self));
    FUZZ_CHECK(self);
    begin(self, fuzz_take_byte(&input));
    while (input.len)
        command(self, &input);
    end(self);
    free(self);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
