/* SPDX-License-Identifier: Apache-2.0 */
/* Fail-over step by step. A node takes a type from three sources in an order that may stop. Each of
 * them has a source of its own: one that lost its disk while that is away cannot say that it has
 * said all, and is not complete. The last may be a directory, which cannot be read at times. One
 * thing happens at a time; a minute later the node has of each name the word of the first source
 * whose words count, by the rules of the design page "Federation"
 * ("Active", "Eligible"), which are written down here anew. */
#include <stdio.h>
#include <stdlib.h>

#include "seeds.h"
#include "sources_words.h"
#include "world.h"

enum {
    N_SEEDS = 80,
    N_STEPS = 60,
    N_KEYS = 4,
    N_SOURCES = 3,
    DIRECTORY = N_SOURCES - 1, /* of some seeds */
    NODE = 2 * N_SOURCES,      /* behind the sources, and those behind them */
    PLACES,
};

#define SECOND UINT64_C(1000000)
#define SETTLED_US (60 * SECOND)
/* One that waits is opened to before it gives up waiting by itself, which takes five minutes. */
#define WAITS_AT_MOST_US (180 * SECOND)

static const char *const ids[PLACES] = {"a", "b", "c", "behind-a", "behind-b", "behind-c", "node"};

/* Counted; a run in which one stays zero has not tested what it claims to. */
enum {
    FAILED_OVER,
    FAILED_BACK,
    KEPT,
    NOT_WHOLE,
    NOT_REACHED,
    STAYS,
    COUNTS,
};

static uint64_t counts[COUNTS];
static const char *const count_names[COUNTS] = {
    "sources replaced",
    "sources that count again",
    "words of one that has died",
    "words of one that is not complete",
    "words of one that is not reached",
    "words that stay until all have been heard",
};

/* A source, as the rules see it. */
typedef struct expected {
    int has[N_KEYS]; /* what the node has from it; 0: not */
    bool is_whole;   /* it can say that it has said all */
    bool is_known;   /* the node has had all of it, once */
    bool is_reached; /* the walk has come to it */
    bool is_cut_off; /* the walk has stopped before it, at one that counts */
    bool is_used;    /* its words count */
    bool is_hung;    /* nothing is known of it for too long */
} expected;

typedef struct scene {
    sim_world world;
    sim_node *nodes[PLACES];
    int files[N_SOURCES][N_KEYS];
    uint64_t began_us[N_SOURCES];
    udpai_continuation order[N_SOURCES];
    expected expected[N_SOURCES];
    size_t n_openings;       /* that are still to come */
    bool has_directory;      /* the last source is one … */
    bool is_readable;        /* … and reading finds no mistake */
    bool is_late[N_SOURCES]; /* it has been dialled, and its connection is not there yet */
    udpai_source_config sources[N_SOURCES];
    udpai_descriptor_config descriptors[N_SOURCES];
    udpai_provider_config provider;
    char seen_by[N_KEYS][8]; /* whose word the node has; "": it has none */
    int seen[N_KEYS];
} scene;

static const udpai_str type[] = {UDPAI_STR(SOURCES_TYPE)};

static bool
is_directory(const scene *self, int source)
{
    return self->has_directory && source == DIRECTORY;
}

static bool
is_up(const scene *self, int source)
{
    if (is_directory(self, source))
        return self->is_readable;
    return self->nodes[source]->is_up && !self->is_late[source];
}

/* Nothing is missing that it can learn. */
static bool
hears_all(const scene *self, int source)
{
    return is_up(self, source) &&
           (is_directory(self, source) || self->nodes[N_SOURCES + source]->is_up);
}

/* ---- the rules ---- */

/* It has said all. Of a directory what was read last without a mistake is all. */
static bool
is_complete(const scene *self, int at)
{
    return self->expected[at].is_whole && (is_up(self, at) || is_directory(self, at));
}

static bool
holds(const expected *source)
{
    bool any = false;
    for (int key = 0; key < N_KEYS; key++)
        any |= source->has[key] != 0;
    return any;
}

/* It was replaced, and what replaced it counts still. */
static bool
is_returning(const scene *self, int at)
{
    bool is_replaced = false;
    for (int i = at + 1; i < N_SOURCES; i++)
        is_replaced |= self->expected[i].is_used;
    return self->order[at] == UDPAI_STOP_ON_SUCCESS && !self->expected[at].is_used && is_replaced;
}

static bool
succeeds(const scene *self, int at)
{
    const expected *source = &self->expected[at];
    return source->is_reached && is_up(self, at) && !source->is_hung &&
           (source->is_whole || !is_returning(self, at));
}

static void
walk(scene *self)
{
    bool goes_on = true, has_stopped_at_success = false;
    for (int i = 0; i < N_SOURCES; i++) {
        self->expected[i].is_reached = goes_on;
        self->expected[i].is_cut_off = has_stopped_at_success;
        if (!goes_on)
            continue;
        bool success = succeeds(self, i);
        has_stopped_at_success = success && self->order[i] == UDPAI_STOP_ON_SUCCESS;
        goes_on = !has_stopped_at_success && (success || self->order[i] != UDPAI_STOP_ON_FAILURE);
    }
}

/* One that stops the walk where it succeeds, and has failed, keeps its place until another is
 * complete. */
static bool
may_begin(const scene *self, int at)
{
    bool must_be_whole = is_returning(self, at);
    for (int i = 0; i < at; i++)
        must_be_whole |= self->order[i] == UDPAI_STOP_ON_SUCCESS && self->expected[i].is_used &&
                         !succeeds(self, i) && holds(&self->expected[i]);
    return self->expected[at].is_reached && (!must_be_whole || is_complete(self, at));
}

static bool
must_end(const scene *self, int at)
{
    const expected *source = &self->expected[at];
    bool is_replaced = false;
    for (int i = at + 1; i < N_SOURCES; i++)
        is_replaced |=
            self->expected[i].is_reached && self->expected[i].is_used && is_complete(self, i);
    return source->is_cut_off || (source->is_reached && self->order[at] == UDPAI_STOP_ON_SUCCESS &&
                                  !succeeds(self, at) && is_replaced);
}

/* Else a source that has never been heard may have what nobody has, and it does not go. */
static bool
is_settled(const scene *self)
{
    bool is_replaced = false;
    for (int i = N_SOURCES; i-- > 0;) {
        const expected *source = &self->expected[i];
        bool is_read_again = is_directory(self, i) && source->is_used;
        bool is_ruled_out = (!source->is_reached && !is_read_again) ||
                            (source->is_reached && self->order[i] == UDPAI_STOP_ON_SUCCESS &&
                             !succeeds(self, i) && is_replaced);
        if (!source->is_known && !is_ruled_out)
            return false;
        is_replaced |= succeeds(self, i) && source->is_whole;
    }
    return true;
}

static bool
set(bool *flag, bool value)
{
    bool changes = *flag != value;
    *flag = value;
    return changes;
}

static bool
hear(scene *self)
{
    bool changes = false;
    for (int i = 0; i < N_SOURCES; i++) {
        expected *source = &self->expected[i];
        bool is_asked = source->is_reached || is_directory(self, i);
        changes |= set(&source->is_whole, source->is_whole || hears_all(self, i));
        source->is_known |= source->is_whole && is_asked && is_up(self, i);
        if (source->is_known)
            changes |= set(&source->is_hung, false);
        if (is_asked && is_up(self, i))
            memcpy(source->has, self->files[i], sizeof(source->has));
    }
    return changes;
}

static bool
choose(scene *self)
{
    walk(self);
    bool changes = hear(self);
    for (int i = 0; i < N_SOURCES; i++)
        if (!self->expected[i].is_used && may_begin(self, i))
            changes |= set(&self->expected[i].is_used, true);
    for (int i = 0; i < N_SOURCES; i++)
        if (self->expected[i].is_used && must_end(self, i)) {
            changes |= set(&self->expected[i].is_used, false);
            counts[FAILED_OVER] += !is_up(self, i);
        }
    return changes;
}

static bool
notice_hung(scene *self)
{
    bool changes = false;
    for (int i = 0; i < N_SOURCES; i++) {
        expected *source = &self->expected[i];
        if (source->is_reached && is_up(self, i) && !source->is_known)
            changes |= set(&source->is_hung, true);
    }
    return changes;
}

static void
choose_all(scene *self)
{
    for (int i = 0; choose(self); i++)
        if (i == 100)
            abort();
}

/* What follows from what has happened. */
static void
expect(scene *self)
{
    do
        choose_all(self);
    while (notice_hung(self));
}

/* Sources that nobody has asked for a while are dialled together with what stands behind them, and
 * may be later than that. */
static void
expect_late(scene *self, const expected *before)
{
    for (int i = 0; i < N_SOURCES; i++)
        self->is_late[i] = self->expected[i].is_reached && !before[i].is_reached;
    memcpy(self->expected, before, sizeof(self->expected));
    choose_all(self);
    memset(self->is_late, 0, sizeof(self->is_late));
    expect(self);
}

/* ---- what is seen ---- */

static void
show(const scene *self)
{
    static const char *const continuations[] = {"stop on success", "stop on failure", "continue"};
    for (int i = 0; i < N_SOURCES; i++) {
        const expected *source = &self->expected[i];
        fprintf(stderr, "%s (%s):%s%s%s%s%s", ids[i], continuations[self->order[i]],
                is_up(self, i) ? "" : " away", source->is_whole ? "" : " not complete",
                source->is_reached ? "" : " not reached", source->is_hung ? " hung" : "",
                source->is_used ? " counts" : "");
        for (int key = 0; key < N_KEYS; key++)
            fprintf(stderr, " %d", source->has[key]);
        fprintf(stderr, "\n");
    }
}

/* The first source whose word of it counts; N_SOURCES: there is none. */
static int
owner_of(const scene *self, int key)
{
    int who = 0;
    while (who < N_SOURCES && !(self->expected[who].is_used && self->expected[who].has[key]))
        who++;
    return who;
}

static bool
is_right(const scene *self, int key)
{
    int who = owner_of(self, key);
    if (who == N_SOURCES)
        return self->seen_by[key][0] == '\0' || !is_settled(self);
    return strcmp(self->seen_by[key], ids[who]) == 0 &&
           self->seen[key] == self->expected[who].has[key];
}

static int
first_wrong(const scene *self)
{
    int key = 0;
    while (key < N_KEYS && is_right(self, key))
        key++;
    return key;
}

static void
count(const scene *self)
{
    for (int key = 0; key < N_KEYS; key++) {
        int who = owner_of(self, key);
        if (who == N_SOURCES) {
            counts[STAYS] += self->seen_by[key][0] != '\0';
            continue;
        }
        counts[KEPT] += !is_up(self, who);
        counts[NOT_WHOLE] += !self->expected[who].is_whole;
        counts[NOT_REACHED] += !self->expected[who].is_reached;
    }
}

static void
check(scene *self, const expected *before)
{
    if (first_wrong(self) < N_KEYS)
        expect_late(self, before);
    int wrong = first_wrong(self);
    if (wrong < N_KEYS) {
        show(self);
        fprintf(stderr,
                "FAIL at %llu ms: the word of another at node: r%d, which is '%s' %d here\n",
                (unsigned long long)sim_ms(&self->world), wrong, self->seen_by[wrong],
                self->seen[wrong]);
        exit(EXIT_FAILURE);
    }
    count(self);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    scene *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        int key = (int)strtol(strchr(udpa_resource_name(change->resource), '/') + 2, NULL, 10);
        udpai_str said = udpai_proto_last_bytes(udpai_resource_value(change->resource), 28);
        char text[32];
        self->seen_by[key][0] = '\0';
        snprintf(text, sizeof(text), "%.*s", (int)said.len, said.data);
        if (!change->is_removed &&
            sscanf(text, "%7s %d", self->seen_by[key], &self->seen[key]) != 2)
            abort();
    }
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

/* ---- members ---- */

static void
set_files(scene *self, int source)
{
    udpa_resource *resources[N_KEYS];
    bool is_source = is_directory(self, source);
    sim_node *node = self->nodes[is_source ? NODE : source];
    size_t n = 0;
    const int *said =
        is_source && !self->is_readable ? self->expected[source].has : self->files[source];
    for (int key = 0; key < N_KEYS; key++)
        if (said[key])
            resources[n++] = sources_make_cluster(ids[source], key, said[key]);
    const udpai_directory directory = {.root = UDPAI_STR("/files"),
                                       .source = udpai_str_from(is_source ? ids[source] : ""),
                                       .authority = udpai_str_from(is_source ? ids[source] : ""),
                                       .resources = resources,
                                       .n_resources = n,
                                       .max_withdrawal = 100,
                                       .has_errors = is_source && !self->is_readable};
    if (udpai_node_set_files(node->node, &directory, NULL) != UDPA_OK)
        abort();
    sim_touch(node);
    while (n-- > 0)
        udpa_resource_unref(resources[n]);
}

/* The node takes from the sources in their order, and each of them from the one behind it. */
static void
plan_provider(scene *self, int who, udpai_node_config *config)
{
    static udpai_source_config behind[N_SOURCES];
    static udpai_descriptor_config behind_descriptors[N_SOURCES];
    static udpai_provider_config behind_providers[N_SOURCES];
    udpai_source_config *sources = who == NODE ? self->sources : &behind[who];
    udpai_descriptor_config *descriptors =
        who == NODE ? self->descriptors : &behind_descriptors[who];
    udpai_provider_config *provider = who == NODE ? &self->provider : &behind_providers[who];
    int n = who == NODE ? N_SOURCES : 1;
    for (int i = 0; i < n; i++) {
        sim_node *from = self->nodes[who == NODE ? i : N_SOURCES + who];
        bool is_read = who == NODE && is_directory(self, i);
        sources[i] = (udpai_source_config){.name = udpai_str_from(from->id),
                                           .kind = is_read ? UDPAI_SOURCE_PATH : UDPAI_SOURCE_UDPA,
                                           .max_withdrawal = 100};
        if (is_read)
            sources[i].address = UDPAI_STR("/files");
        else
            sim_target(from, &sources[i]);
        descriptors[i] = (udpai_descriptor_config){.source = udpai_str_from(from->id),
                                                   .continuation = who == NODE ? self->order[i]
                                                                               : UDPAI_CONTINUE};
    }
    *provider = (udpai_provider_config){type, 1, descriptors, (size_t)n};
    config->sources = sources;
    config->n_sources = (size_t)n;
    config->providers = provider;
    config->n_providers = 1;
}

static int
place_of(const scene *self, const sim_node *node)
{
    int at = 0;
    while (self->nodes[at] != node)
        at++;
    return at;
}

static void
plan(sim_node *node, sim_node_plan *ret_plan)
{
    scene *self = node->userdata;
    int at = place_of(self, node);
    ret_plan->is_management = true;
    ret_plan->config = (udpai_node_config){
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .max_changes_ahead = 3,
        .is_durable = true,
    };
    if (at < N_SOURCES)
        ret_plan->files = UDPAI_STR("/files");
    if (at < N_SOURCES || at == NODE)
        plan_provider(self, at, &ret_plan->config);
}

static void
started(sim_node *node)
{
    scene *self = node->userdata;
    const udpai_selection selection = {.type_url = type[0], .prefix = UDPAI_STR(SOURCES_SPACE)};
    const udpai_local_ops ops = {on_update, on_complete, self};
    udpai_local_subscription *subscription;
    int at = place_of(self, node);
    if (at < N_SOURCES) {
        self->began_us[at] = self->world.now_us;
        set_files(self, at);
    }
    if (at != NODE)
        return;
    memset(self->seen_by, 0, sizeof(self->seen_by));
    if (self->has_directory) {
        self->expected[DIRECTORY] = (expected){.is_used = self->expected[DIRECTORY].is_used};
        set_files(self, DIRECTORY);
    }
    if (udpai_node_subscribe(node->node, &selection, &ops, &subscription) != UDPA_OK)
        abort();
}

/* ---- what happens ---- */

static void
trace(const scene *self, const char *what, int who)
{
    if (self->world.trace)
        fprintf(stderr, "%9llu %s %s\n", (unsigned long long)sim_ms(&self->world), ids[who], what);
}

/* Only what the node hears, for what is removed unheard may be held. */
static void
change_files(scene *self, int source)
{
    sim_random *random = &self->world.random;
    int *file = &self->files[source][sim_below(random, N_KEYS)];
    if (!is_up(self, source) || !self->expected[source].is_reached || !self->nodes[NODE]->is_up)
        return;
    *file = *file && sim_once_in(random, 2) ? 0 : 1 + (int)sim_below(random, 1000);
    trace(self, "says something else", source);
    set_files(self, source);
}

static void
come_back(scene *self, int who, bool is_wiped)
{
    trace(self, is_wiped ? "comes back without its disk" : "comes back", who);
    if (is_wiped) { /* it had it still */
        sim_start_node(self->nodes[who]);
        sim_crash_node(self->nodes[who], false);
    }
    sim_start_node(self->nodes[who]);
    if (who < N_SOURCES)
        self->expected[who].is_whole &= !is_wiped;
    for (int i = 0; who == NODE && i < N_SOURCES; i++) {
        expected *source = &self->expected[i];
        source->is_hung = false;
        if (is_wiped)
            *source = (expected){.is_whole = source->is_whole};
    }
}

static void
read_again(scene *self)
{
    self->is_readable = !self->is_readable;
    trace(self, self->is_readable ? "can be read" : "cannot be read", DIRECTORY);
    if (self->nodes[NODE]->is_up)
        set_files(self, DIRECTORY);
}

static void
die_or_come_back(scene *self, int who, unsigned wiped_once_in)
{
    if (is_directory(self, who) || (self->has_directory && who == N_SOURCES + DIRECTORY)) {
        read_again(self);
        return;
    }
    if (!self->nodes[who]->is_up) {
        come_back(self, who, sim_once_in(&self->world.random, wiped_once_in));
        return;
    }
    trace(self, "dies", who);
    sim_crash_node(self->nodes[who], true);
}

/* Those that have waited for long for what is behind them. */
static bool
open_to_one(scene *self)
{
    for (int i = 0; i < N_SOURCES; i++)
        if (is_up(self, i) && !is_directory(self, i) && !hears_all(self, i) &&
            !self->expected[i].is_whole &&
            self->world.now_us - self->began_us[i] > WAITS_AT_MOST_US) {
            come_back(self, N_SOURCES + i, false);
            return true;
        }
    return false;
}

/* Too rare to wait for: a directory that has begun to count unread, and is not reached when it can
 * be read, does not replace a source that has nothing; so that one counts when it comes back,
 * complete or not. The source between them is never complete, and so not asked any more. */
static const int opening[] = {0, DIRECTORY, 0};

static void
prepare_opening(scene *self)
{
    self->n_openings = UDPAI_ARRAY_LEN(opening);
    self->has_directory = true;
    self->is_readable = false;
    self->order[0] = UDPAI_STOP_ON_SUCCESS;
    self->order[1] = UDPAI_STOP_ON_FAILURE;
    memset(self->files[0], 0, sizeof(self->files[0]));
}

static void
happen(scene *self)
{
    sim_random *random = &self->world.random;
    int who = (int)sim_below(random, N_SOURCES);
    if (self->n_openings) {
        if (self->n_openings == UDPAI_ARRAY_LEN(opening))
            die_or_come_back(self, N_SOURCES, 1); /* what is behind the first one */
        die_or_come_back(self, opening[UDPAI_ARRAY_LEN(opening) - self->n_openings--], 1);
        return;
    }
    if (open_to_one(self))
        return;
    if (!self->nodes[NODE]->is_up || sim_once_in(random, 10))
        die_or_come_back(self, NODE, 4);
    else if (sim_once_in(random, 4))
        change_files(self, who);
    else if (sim_once_in(random, 4))
        die_or_come_back(self, N_SOURCES + who, 1000);
    else
        die_or_come_back(self, who, 2);
}

static udpai_continuation
any_continuation(sim_random *random)
{
    static const udpai_continuation all[] = {UDPAI_CONTINUE, UDPAI_STOP_ON_SUCCESS,
                                             UDPAI_STOP_ON_SUCCESS, UDPAI_STOP_ON_FAILURE};
    return all[sim_below(random, UDPAI_ARRAY_LEN(all))];
}

static void
begin(scene *self, uint64_t seed, bool is_traced)
{
    sim_random *random = &self->world.random;
    sim_world_init(&self->world, seed);
    self->world.trace = is_traced;
    for (int i = 0; i < PLACES; i++) {
        self->nodes[i] = sim_add_node(&self->world, ids[i]);
        self->nodes[i]->plan = plan;
        self->nodes[i]->started = started;
        self->nodes[i]->userdata = self;
    }
    self->has_directory = sim_once_in(random, 3);
    self->is_readable = sim_once_in(random, 2);
    for (int i = 0; i < N_SOURCES; i++) {
        bool is_empty = sim_once_in(random, 4);
        self->order[i] = i + 1 < N_SOURCES ? any_continuation(random) : UDPAI_CONTINUE;
        for (int key = 0; key < N_KEYS; key++)
            self->files[i][key] = is_empty || sim_once_in(random, 3) ? 0 : 1;
    }
    if (seed % 20 == 0)
        prepare_opening(self);
    for (int i = 0; i < PLACES; i++)
        if (i == NODE || ((!self->has_directory || i % N_SOURCES != DIRECTORY) &&
                          (!self->n_openings || i != N_SOURCES + 1)))
            sim_start_node(self->nodes[i]);
}

static void
play(uint64_t seed, bool is_traced)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    begin(self, seed, is_traced);
    for (int step = 0; step < N_STEPS; step++) {
        expected before[N_SOURCES];
        bool is_there = self->nodes[NODE]->is_up;
        memcpy(before, self->expected, sizeof(before));
        for (int i = 0; i < N_SOURCES; i++) /* also while nobody asks */
            self->expected[i].is_whole |= !is_directory(self, i) && hears_all(self, i);
        if (is_there)
            expect(self);
        sim_run_until(&self->world, self->world.now_us + SETTLED_US);
        if (is_there)
            check(self, before);
        for (int i = 0; i < N_SOURCES; i++)
            counts[FAILED_BACK] += step && self->expected[i].is_used && !before[i].is_used;
        happen(self);
    }
    sim_world_done(&self->world);
    free(self);
}

int
main(int argc, char **argv)
{
    int result = EXIT_SUCCESS;
    sim_play_seeds(argc, argv, N_SEEDS, play);
    for (int i = 0; i < COUNTS; i++) {
        printf("%-40s %llu\n", count_names[i], (unsigned long long)counts[i]);
        if (argc == 1 && counts[i] == 0) {
            fprintf(stderr, "FAIL: never happened: %s\n", count_names[i]);
            result = EXIT_FAILURE;
        }
    }
    return result;
}
