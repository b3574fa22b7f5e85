/* SPDX-License-Identifier: Apache-2.0 */
/* A client of delta that asks for resources in every way at once: by wildcard, by plain name, by
 * xdstp:// name and by collections, in two spellings. It answers in order, now and then with a
 * refusal.
 *
 * It is never said to have acknowledged a resource that it has not, as it is now and by each of
 * these ways; and in the end it has, but for what it refused. */
#include "base/alloc.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "model/types.h"
#include "session/acknowledgement.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/wire.h"
#include "xds/xds_internal.h"

#define N_NAMES 5
#define N_GLOBS 2
#define N_WAITING 100 /* more than are noted */
#define N_PARTS (2 * N_NAMES)
#define AT "/envoy.config.cluster.v3.Cluster/"

enum {
    PLAIN, /* by name or by wildcard */
    SPELLED,
    MEMBER, /* of a collection, by its first spelling */
    MEMBER_AGAIN,
    N_WAYS,
};

static const char *const names[N_NAMES] = {"a", "b", "m/a", "m/b", "m/c"};
static const char *const globs[N_GLOBS] = {"*", "m/*"};
static const char *const before[N_WAYS] = {"", "xdstp://" AT, "xdstp://local" AT,
                                           "xdstp://%6Cocal" AT};

/* What the client has answered last. */
typedef struct verdict {
    bool is_answered;
    unsigned content; /* 0: that it is gone */
} verdict;

/* A response that it has not answered. */
typedef struct waiting {
    char nonce[16];

    struct {
        size_t name, way;
        unsigned content;
        bool is_void; /* it is not asked for any more */
    } parts[N_PARTS];

    size_t n;
} waiting;

typedef struct bed {
    fake_hub hub;
    udpai_xds_server xds_server;
    udpai_xds_audience audience;
    fake_stream stream;
    unsigned content[N_NAMES];
    unsigned n_changes;
    bool is_all, has_name[N_NAMES][MEMBER];
    size_t glob_as[N_GLOBS]; /* a way; 0: it is not asked for */
    verdict verdicts[N_NAMES][N_WAYS];
    bool is_refused[N_NAMES]; /* by the last answer, whatever way it came */
    size_t n_refusals;
    waiting queue[N_WAITING];
    size_t n_waiting;
} bed;

/* ---- the world ---- */

static void
change(bed *self, uint8_t what)
{
    char full[64];
    size_t i = what % N_NAMES;
    bool is_removal = what & 128;
    if (is_removal && !self->content[i])
        return;
    self->content[i] = is_removal ? 0 : ++self->n_changes;
    (void)snprintf(full, sizeof(full), "local/%s", names[i]);
    const udpai_resource_parts parts = {
        .name = udpai_str_from(full),
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
    const udpai_unsettled missing = {.prefix = UDPAI_STR("local/m"), .source = UDPAI_STR("s")};
    const udpai_settled_facts facts = {.missing = &missing, .n_missing = !all};
    fake_hub_settle(&self->hub, &facts);
}

/* ---- what it asks for ---- */

static bool
is_asked_for(const bed *self, size_t name, size_t way)
{
    if (way < MEMBER)
        return self->has_name[name][way] || (way == PLAIN && self->is_all);
    return self->glob_as[name >= 2] == way;
}

static bool
is_selected(const bed *self, size_t name)
{
    for (size_t way = 0; way < N_WAYS; way++)
        if (is_asked_for(self, name, way))
            return true;
    return false;
}

/* What it does not ask for any more it does not have any more. */
static void
forget_rest(bed *self)
{
    for (size_t i = 0; i < N_NAMES; i++)
        for (size_t way = 0; way < N_WAYS; way++)
            if (!is_asked_for(self, i, way))
                self->verdicts[i][way] = (verdict){0};
    for (size_t i = 0; i < self->n_waiting; i++)
        for (size_t k = 0; k < self->queue[i].n; k++)
            if (!is_asked_for(self, self->queue[i].parts[k].name, self->queue[i].parts[k].way))
                self->queue[i].parts[k].is_void = true;
}

static void
ask(bed *self, uint8_t what)
{
    char text[128];
    bool ends = what & 128;
    size_t way = what & 3, i = what >> 2 & 7;
    if (way < MEMBER && i < N_NAMES) {
        self->has_name[i][way] = !ends;
        (void)snprintf(text, sizeof(text), "%s%s", before[way], names[i]);
    } else if (way < MEMBER) {
        self->is_all = !ends;
        (void)snprintf(text, sizeof(text), "*");
    } else {
        self->glob_as[i % N_GLOBS] = ends ? 0 : way;
        (void)snprintf(text, sizeof(text), "%s%s", before[way], globs[i % N_GLOBS]);
    }
    forget_rest(self);
    udpai_str request = W_JOIN(W_TEXT(2, UDPAI_TYPE_CLUSTER), W_TEXT(ends ? 4 : 3, text));
    fake_stream_receive(&self->stream, request.data, request.len);
    wire_free_all();
}

static void
answer(bed *self, bool refuses)
{
    if (self->n_waiting == 0)
        return;
    const waiting one = self->queue[0];
    memmove(self->queue, self->queue + 1, --self->n_waiting * sizeof(one));
    for (size_t i = 0; i < one.n; i++) {
        self->is_refused[one.parts[i].name] = refuses;
        if (!one.parts[i].is_void)
            self->verdicts[one.parts[i].name][one.parts[i].way] =
                (verdict){.is_answered = true, .content = one.parts[i].content};
        self->n_refusals += refuses;
    }
    udpai_str request = W_JOIN(W_TEXT(2, UDPAI_TYPE_CLUSTER), W_TEXT(6, one.nonce),
                               refuses ? W_MESSAGE(7, W_TEXT(2, "no")) : W_NOTHING);
    fake_stream_receive(&self->stream, request.data, request.len);
    wire_free_all();
}

/* ---- what comes ---- */

static void
note(const bed *self, waiting *response, const char *text, unsigned content)
{
    char known[128];
    for (size_t i = 0; i < N_NAMES; i++)
        for (size_t way = 0; way < N_WAYS; way++) {
            (void)snprintf(known, sizeof(known), "%s%s", before[way], names[i]);
            if (strcmp(text, known))
                continue;
            FUZZ_CHECK(response->n < N_PARTS);
            response->parts[response->n].name = i;
            response->parts[response->n].way = way;
            response->parts[response->n].content = content;
            response->parts[response->n++].is_void = !is_asked_for(self, i, way);
        }
}

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
take(bed *self, const udpa_bytes *bytes)
{
    Envoy__Service__Discovery__V3__DeltaDiscoveryResponse *response =
        envoy__service__discovery__v3__delta_discovery_response__unpack(
            NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    FUZZ_CHECK(response);
    if (self->n_waiting == N_WAITING)
        answer(self, false);
    waiting *one = &self->queue[self->n_waiting++];
    one->n = 0;
    FUZZ_CHECK(strlen(response->nonce) < sizeof(one->nonce));
    memcpy(one->nonce, response->nonce, strlen(response->nonce) + 1);
    for (size_t i = 0; i < response->n_resources; i++)
        note(self, one, response->resources[i]->name, content_of(response->resources[i]));
    for (size_t i = 0; i < response->n_removed_resources; i++)
        note(self, one, response->removed_resources[i], 0);
    envoy__service__discovery__v3__delta_discovery_response__free_unpacked(response, NULL);
}

static void
run(bed *self)
{
    udpa_bytes *message;
    udpai_hub_run(self->hub.hub);
    while ((message = fake_stream_take(&self->stream))) {
        take(self, message);
        udpa_bytes_unref(message);
    }
}

/* ---- what is said of it ---- */

static bool
has_acknowledged(const bed *self, size_t name)
{
    unsigned content = self->content[name];
    for (size_t way = 0; way < N_WAYS; way++) {
        const verdict *said = &self->verdicts[name][way];
        bool is_it = said->is_answered && said->content == content && !self->is_refused[name],
             is_nothing = !content && !said->is_answered;
        if (is_asked_for(self, name, way) && !is_it && !is_nothing)
            return false;
    }
    return true;
}

static bool
is_called_acknowledged(bed *self, size_t name)
{
    char question[256];
    (void)snprintf(question, sizeof(question), UDPAI_ACKNOWLEDGEMENT_PREFIX "t/%s/local/%s",
                   UDPAI_TYPE_CLUSTER, names[name]);
    udpa_bytes *status = udpai_acknowledgement_describe(self->hub.hub, udpai_str_from(question));
    FUZZ_CHECK(status);
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    uint64_t n_subscribed = 0, n_given = 0;
    bool exists = false;
    while (udpai_proto_next(&reader, &field)) {
        exists |= field.number == 3;
        n_subscribed = field.number == 6 ? field.value : n_subscribed;
        n_given = field.number == 7 ? field.value : n_given;
    }
    FUZZ_CHECK(!reader.failed && exists == (self->content[name] != 0));
    FUZZ_CHECK(n_subscribed == is_selected(self, name) && n_given <= n_subscribed);
    udpa_bytes_unref(status);
    return n_given;
}

static void
check(bed *self)
{
    for (size_t i = 0; i < N_NAMES; i++)
        FUZZ_CHECK(!is_called_acknowledged(self, i) || has_acknowledged(self, i));
}

/* Of more refusals than are noted one by one, others may be in doubt. */
static void
check_all_is_said(bed *self)
{
    for (size_t i = 0; i < N_NAMES && self->n_refusals < UDPAI_REFUSED_KEPT; i++)
        if (self->content[i] && is_selected(self, i))
            FUZZ_CHECK(is_called_acknowledged(self, i) == !self->is_refused[i]);
}

/* ---- the whole ---- */

static void
begin(bed *self, uint8_t kind)
{
    udpai_hub_options options = fake_hub_options();
    options.fanout.tombstones_min = 64;
    options.fanout.response_bytes = kind & 2 ? 1 << 20 : 200;
    options.fanout.body_cache_bytes = kind & 4 ? 1 << 20 : 0;
    fake_hub_init(&self->hub, &options);
    self->audience.default_namespace = UDPAI_STR("local");
    self->xds_server.audiences = &self->audience;
    self->xds_server.n_audiences = 1;
    udpai_xds_server_init(&self->xds_server);
    settle(self, kind & 1);
    const udpai_stream_info info = {
        .context = udpai_xds_method_find(&self->xds_server, (udpai_str){0}, UDPAI_XDS_STREAM_DELTA),
    };
    fake_stream_open(&self->stream, &self->hub, udpai_xds_session_new, &info);
    ask(self, 0);
}

static void
command(bed *self, udpai_str *input)
{
    uint8_t which = fuzz_take_byte(input), what = fuzz_take_byte(input);
    if ((which & 7) < 2)
        change(self, what);
    else if ((which & 7) < 4)
        ask(self, what);
    else if ((which & 7) == 4)
        settle(self, what & 1);
    else if ((which & 7) == 5)
        answer(self, (what & 7) == 7);
    else if (self->stream.is_writing)
        fake_stream_complete(&self->stream);
    run(self);
    if ((which & 7) == 5)
        check(self);
}

static void
end(bed *self)
{
    settle(self, true);
    run(self);
    for (int i = 0; self->stream.is_writing || self->n_waiting; i++) {
        FUZZ_CHECK(i < 10000);
        bool answers = !self->stream.is_writing;
        if (answers)
            answer(self, false);
        else
            fake_stream_complete(&self->stream);
        run(self);
        if (answers && self->n_waiting < 8)
            check(self);
    }
    FUZZ_CHECK(!self->stream.is_finished);
    check_all_is_said(self);
    fake_stream_close(&self->stream);
    fake_hub_done(&self->hub);
    wire_free_all();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, udpai_min_size(size, 512)};
    unsigned long live = udpai_alloc_live();
    bed *self = calloc(1, sizeof(*self));
    FUZZ_CHECK(self);
    begin(self, fuzz_take_byte(&input));
    while (input.len)
        command(self, &input);
    end(self);
    free(self);
    FUZZ_CHECK(udpai_alloc_live() == live);
    return 0;
}
