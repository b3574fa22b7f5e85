/* SPDX-License-Identifier: Apache-2.0 */
/* Where names come from. A node takes a type from owners, each with its own word for each name, in
 * an order that may stop; of some names resources that a guide has say that they come from others
 * (delegations), and some of the owners are sources only as long as such a resource says so; one is
 * a server of xDS, another may not say everything. All of that changes while owners come and go.
 * In quiet the node has of each name the word of the first that may say it. */
#include <stdio.h>
#include <stdlib.h>

#include "seeds.h"
#include "sources_words.h"
#include "world.h"
#include "xds/upstream.h"
#include "xds/xds.h"

enum {
    N_SEEDS = 60,
    N_KEYS = 8,
    N_DELEGATED = 4, /* of the first names it may be said where they come from */
    NARROW = 8,      /* less than there is */
};

#define SECOND UINT64_C(1000000)
/* A source that was never there since a node began is given up after five minutes. */
#define QUIET_US (400 * SECOND)

typedef enum place {
    OWNER_A, /* sources by the configuration, in this order … */
    OWNER_B,
    OWNER_X, /* … by xDS, too */
    OWNER_C, /* by resources */
    OWNER_D,
    OWNERS,
    FIRST_DYNAMIC = OWNER_C,
    N_STATIC = OWNER_C,
    GUIDE = OWNERS,
    NODE,
    PLACES,
} place;

static const char *const ids[PLACES] = {"a", "b", "x", "c", "d", "guide", "node"};

/* Counted; a run in which one stays zero has not tested what it claims to. */
enum {
    DELEGATED_SEEN,
    DYNAMIC_SEEN,
    XDS_SEEN,
    SECOND_SEEN,
    REFUSED_SEEN,
    COUNTS,
};

static uint64_t counts[COUNTS];
static const char *const count_names[COUNTS] = {
    "names by a delegation",    "names of a source that is a resource", "names by xDS",
    "names of a second source", "names that the first may not say",
};

typedef struct member {
    struct scene *scene;
    sim_node *node;
    int versions[N_KEYS]; /* of an owner's files; 0: it does not have it */
    bool is_dynamic_now;  /* the guide says that it is a source */
} member;

typedef struct scene {
    sim_world world;
    member members[PLACES];
    sources_delegation delegations[N_DELEGATED];
    udpai_continuation order[N_STATIC];
    bool is_refused[N_KEYS]; /* owner A may not say it */
    bool is_narrow;          /* the node has little room */
    udpai_acl *acl;
    udpai_source_config sources[N_STATIC + 1];
    udpai_descriptor_config descriptors[N_STATIC], guided;
    udpai_provider_config providers[2];
    char seen_by[N_KEYS][8]; /* whose word the node has; "": it has none */
    int seen[N_KEYS];
    udpai_xds_audience audience;
    udpai_xds_server xds_server;
    udpai_upstream *upstream;
} scene;

static _Noreturn void
fail(const scene *self, const char *what, int key)
{
    fprintf(stderr, "FAIL at %llu ms: %s at node: r%d, which is %s %d here\n",
            (unsigned long long)sim_ms(&self->world), what, key, self->seen_by[key],
            self->seen[key]);
    exit(EXIT_FAILURE);
}

/* ---- files ---- */

static void
set_files(scene *self, place who)
{
    const member *at = &self->members[who];
    udpa_resource *resources[N_KEYS + N_DELEGATED + OWNERS];
    size_t n = 0;
    if (!at->node->is_up)
        return;
    for (int key = 0; who < OWNERS && key < N_KEYS; key++)
        if (at->versions[key])
            resources[n++] = sources_make_cluster(ids[who], key, at->versions[key]);
    for (int key = 0; who == GUIDE && key < N_DELEGATED; key++)
        if (self->delegations[key].n)
            resources[n++] = sources_make_delegation(ids[GUIDE], key, &self->delegations[key]);
    for (int owner = FIRST_DYNAMIC; who == GUIDE && owner < OWNERS; owner++)
        if (self->members[owner].is_dynamic_now)
            resources[n++] = sources_make_source(ids[GUIDE], ids[owner]);
    const udpai_directory directory = {.root = UDPAI_STR("/files"),
                                       .resources = resources,
                                       .n_resources = n,
                                       .max_withdrawal = 100};
    if (udpai_node_set_files(at->node->node, &directory, NULL) != UDPA_OK)
        abort();
    sim_touch(at->node);
    while (n-- > 0)
        udpa_resource_unref(resources[n]);
}

/* ---- rules ---- */

/* Of A what it may say; the others may say anything, and of servers of xDS rules do not speak. */
static udpai_acl *
make_acl(const scene *self)
{
    static const udpai_str all[] = {UDPAI_STR("*")};
    static const udpai_str some[] = {UDPAI_STR("a")};
    static const udpai_str others[] = {UDPAI_STR("b"), UDPAI_STR("c"), UDPAI_STR("d"),
                                       UDPAI_STR("guide")};
    char names[N_KEYS][32];
    udpai_str prefixes[N_KEYS + 1];
    udpai_acl_rule rules[] = {
        {.name = some[0],
         .identities = some,
         .n_identities = 1,
         .actions = UDPAI_ACL_PUBLISH,
         .prefixes = prefixes,
         .on_behalf_of = all,
         .n_on_behalf_of = 1},
        {.name = others[0],
         .identities = others,
         .n_identities = 4,
         .actions = UDPAI_ACL_PUBLISH,
         .on_behalf_of = all,
         .n_on_behalf_of = 1},
    };
    for (int key = 0; key < N_KEYS; key++) {
        snprintf(names[key], sizeof(names[key]), SOURCES_SPACE "/r%d", key);
        if (!self->is_refused[key])
            prefixes[rules[0].n_prefixes++] = udpai_str_from(names[key]);
    }
    prefixes[rules[0].n_prefixes++] = UDPAI_STR("org.nothing");
    const udpai_acl_options options = {.rules = rules, .n_rules = 2, .trusts_node_ids = true};
    udpai_acl *acl = NULL;
    if (udpai_acl_new(&acl, &options) != UDPA_OK)
        abort();
    return acl;
}

static void
set_rules(scene *self)
{
    sim_node *node = self->members[NODE].node;
    udpai_acl_unref(self->acl);
    self->acl = make_acl(self);
    if (!node->is_up)
        return;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    if (!order)
        abort();
    order->acl = udpai_acl_ref(self->acl);
    sim_order(node, order);
    udpai_node_set_acl(node->node, self->acl);
    sim_touch(node);
}

/* ---- members ---- */

static const udpai_str type[] = {UDPAI_STR(SOURCES_TYPE)};
static const udpai_str of_guide[] = {UDPAI_STR(SOURCES_DELEGATION), UDPAI_STR(SOURCES_SOURCE)};
static const udpai_str guides[] = {UDPAI_STR("guide")};

static udpa_err
make_target(void *userdata,
            const udpai_dynamic_source_config *source,
            void **ret_target,
            udpa_error **ret_error)
{
    (void)ret_error;
    scene *self = userdata;
    for (int i = 0; i < OWNERS; i++)
        if (udpai_str_eq(source->address, udpai_str_from(ids[i])))
            *ret_target = self->members[i].node;
    return UDPA_OK;
}

static void
source_ended(void *userdata, udpai_str name)
{
    (void)userdata;
    (void)name;
}

static void *
ref_target(void *target)
{
    return target;
}

static void
release_target(void *target)
{
    (void)target;
}

/* For so many names of a namespace. */
static udpai_store_options
room(size_t n)
{
    udpai_store_options options = {.remember_ms = 600000, .remember_max = 1000};
    options.max_resources_per_namespace = n;
    options.max_resources_per_publisher = options.max_resources = 1000000;
    options.max_bytes_per_namespace = options.max_bytes_per_publisher = 1 << 30;
    options.max_bytes = 1 << 30;
    return options;
}

static void
plan_owner(sim_node *node, sim_node_plan *ret_plan)
{
    ret_plan->is_management = true;
    ret_plan->files = UDPAI_STR("/files");
    ret_plan->config = (udpai_node_config){
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = room(1000000),
        .max_changes_ahead = 3,
        .is_durable = true,
    };
}

static void
plan_sources(scene *self)
{
    for (int i = 0; i <= N_STATIC; i++) {
        sim_node *from = self->members[i < N_STATIC ? i : GUIDE].node;
        self->sources[i] = (udpai_source_config){
            .name = udpai_str_from(from->id),
            .kind = i == OWNER_X ? UDPAI_SOURCE_XDS : UDPAI_SOURCE_UDPA,
            .max_withdrawal = 100,
        };
        sim_target(from, &self->sources[i]);
    }
    for (int i = 0; i < N_STATIC; i++)
        self->descriptors[i] = (udpai_descriptor_config){.source = udpai_str_from(ids[i]),
                                                         .continuation = self->order[i]};
    self->guided = (udpai_descriptor_config){.source = udpai_str_from(ids[GUIDE])};
    self->providers[0] = (udpai_provider_config){type, 1, self->descriptors, N_STATIC};
    self->providers[1] = (udpai_provider_config){of_guide, 2, &self->guided, 1};
}

/* What is known of the server is lost with the process. */
static void
begin_upstream(scene *self)
{
    const udpai_upstream_options options = {
        .name_space = UDPAI_STR(SOURCES_SPACE),
        .authority = UDPAI_STR("server-x"),
        .node = UDPAI_STR("\x0a\x04node"), /* Node: id (field 1) */
        .is_delta = true,
    };
    self->upstream = udpai_upstream_free(self->upstream);
    if (udpai_upstream_new(&self->upstream, &options) != UDPA_OK)
        abort();
}

static void
plan_node(sim_node *node, sim_node_plan *ret_plan)
{
    scene *self = ((member *)node->userdata)->scene;
    begin_upstream(self);
    plan_owner(node, ret_plan);
    plan_sources(self);
    ret_plan->files = (udpai_str){0};
    udpai_node_config *config = &ret_plan->config;
    config->sources = self->sources;
    config->n_sources = N_STATIC + 1;
    config->providers = self->providers;
    config->n_providers = 2;
    config->acl = self->acl;
    config->delegation = (udpai_delegation_config){.authorities = guides, .n_authorities = 1};
    config->delivery = (udpai_dynamic_sources_config){
        .authorities = guides,
        .n_authorities = 1,
        .max = 16,
        .make_target = make_target,
        .ended = source_ended,
        .ref_target = ref_target,
        .release_target = release_target,
        .userdata = self,
    };
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    scene *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        int key = (int)strtol(strchr(udpa_resource_name(change->resource), '/') + 2, NULL, 10);
        udpai_str said = udpai_proto_last_bytes(udpai_resource_value(change->resource), 28);
        self->seen_by[key][0] = '\0';
        if (self->world.trace)
            fprintf(stderr, "%9llu the node has %.*s of r%d\n",
                    (unsigned long long)sim_ms(&self->world),
                    change->is_removed ? 1 : (int)said.len, change->is_removed ? "0" : said.data,
                    key);
        if (change->is_removed)
            continue;
        char text[32];
        snprintf(text, sizeof(text), "%.*s", (int)said.len, said.data);
        if (sscanf(text, "%7s %d", self->seen_by[key], &self->seen[key]) != 2)
            abort();
    }
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

static void
started(sim_node *node)
{
    member *at = node->userdata;
    scene *self = at->scene;
    const udpai_selection selection = {.type_url = type[0], .prefix = UDPAI_STR(SOURCES_SPACE)};
    const udpai_local_ops ops = {on_update, on_complete, self};
    udpai_local_subscription *subscription;
    if (at != &self->members[NODE]) {
        set_files(self, (place)(at - self->members));
        return;
    }
    self->is_narrow = false;
    memset(self->seen_by, 0, sizeof(self->seen_by));
    if (udpai_node_subscribe(node->node, &selection, &ops, &subscription) != UDPA_OK)
        abort();
}

/* ---- xDS, of one of the owners ---- */

static udpa_err
dialled(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    info->context = ((member *)side->node->userdata)->scene->upstream;
    return udpai_upstream_session_new(ret_session, side->hub, info);
}

static udpa_err
accepted(sim_side *side, udpai_session **ret_session, udpai_stream_info *info)
{
    scene *self = ((member *)side->node->userdata)->scene;
    info->context =
        udpai_xds_method_find(&self->xds_server, (udpai_str){0}, UDPAI_XDS_STREAM_DELTA);
    return udpai_xds_session_new(ret_session, side->hub, info);
}

static const sim_protocol xds = {dialled, accepted};

static void
begin_xds(scene *self)
{
    self->audience.default_namespace = UDPAI_STR(SOURCES_SPACE);
    self->xds_server.audiences = &self->audience;
    self->xds_server.n_audiences = 1;
    udpai_xds_server_init(&self->xds_server);
    self->members[OWNER_X].node->speaks = &xds;
}

/* ---- the reference ---- */

static bool
may_say(const scene *self, place owner, int key)
{
    if (owner >= FIRST_DYNAMIC && owner < OWNERS && !self->members[owner].is_dynamic_now)
        return false;
    return self->members[owner].versions[key] && !(self->is_refused[key] && owner == OWNER_A);
}

static bool
is_there(const scene *self, place owner)
{
    return owner < FIRST_DYNAMIC || self->members[owner].is_dynamic_now;
}

static void
show(const scene *self, int key)
{
    static const char *const continuations[] = {"unless it is there", "if it is there", "and"};
    for (int i = 0; i < OWNERS; i++)
        fprintf(stderr, "%s says %d%s%s\n", ids[i], self->members[i].versions[key],
                is_there(self, (place)i) ? "" : ", is no source",
                self->members[i].versions[key] && !may_say(self, (place)i, key) ? ", may not" : "");
    for (int i = 0; i < N_STATIC; i++)
        fprintf(stderr, "%s %s, ", ids[i], continuations[self->order[i]]);
    for (size_t i = 0; key < N_DELEGATED && i < self->delegations[key].n; i++)
        fprintf(stderr, "%s%s %s", i ? ", " : "by a delegation ",
                ids[self->delegations[key].owners[i]],
                continuations[self->delegations[key].continuations[i]]);
    fprintf(stderr, "\n");
}

/* All are up: an order stops at the first that is there and says so. OWNERS: nobody says it. */
static place
first_of(
    const scene *self, const int *list, const udpai_continuation *continuations, size_t n, int key)
{
    for (size_t i = 0; i < n; i++) {
        if (may_say(self, (place)list[i], key))
            return (place)list[i];
        if (continuations[i] ==
            (is_there(self, (place)list[i]) ? UDPAI_STOP_ON_SUCCESS : UDPAI_STOP_ON_FAILURE))
            break;
    }
    return OWNERS;
}

/* A delegation is in force when one of its sources has spoken; and behind one that fails, and must
 * not, what was there before stays. */
static bool
is_decided(const scene *self, const sources_delegation *said)
{
    bool is_heard = false;
    for (size_t i = 0; i < said->n; i++) {
        bool is_here = is_there(self, (place)said->owners[i]);
        if (!is_here && said->continuations[i] == UDPAI_STOP_ON_FAILURE)
            return false;
        is_heard |= is_here;
        if (is_here && said->continuations[i] == UDPAI_STOP_ON_SUCCESS)
            break;
    }
    return is_heard;
}

static void
check(scene *self, int key)
{
    static const int in_order[] = {OWNER_A, OWNER_B, OWNER_X};
    const sources_delegation *said = key < N_DELEGATED ? &self->delegations[key] : NULL;
    bool is_delegated = said && said->n;
    if (is_delegated && !is_decided(self, said))
        return;
    place who = is_delegated ? first_of(self, said->owners, said->continuations, said->n, key)
                             : first_of(self, in_order, self->order, N_STATIC, key);
    const char *expected = who == OWNERS ? "" : ids[who];
    if (strcmp(self->seen_by[key], expected) != 0 ||
        (who < OWNERS && self->seen[key] != self->members[who].versions[key])) {
        show(self, key);
        fprintf(stderr, "expected '%s' %d\n", expected,
                who < OWNERS ? self->members[who].versions[key] : 0);
        fail(self, "the word of another", key);
    }
    counts[DELEGATED_SEEN] += is_delegated && who < OWNERS;
    counts[DYNAMIC_SEEN] += who >= FIRST_DYNAMIC && who < OWNERS;
    counts[XDS_SEEN] += who == OWNER_X;
    counts[SECOND_SEEN] += who == OWNER_B;
    counts[REFUSED_SEEN] += self->is_refused[key] && who < OWNERS;
}

/* ---- the scene ---- */

static udpai_continuation
any_continuation(sim_random *random)
{
    static const udpai_continuation all[] = {UDPAI_CONTINUE, UDPAI_CONTINUE, UDPAI_STOP_ON_SUCCESS,
                                             UDPAI_STOP_ON_FAILURE};
    return all[sim_below(random, UDPAI_ARRAY_LEN(all))];
}

static void
delegate(scene *self)
{
    sim_random *random = &self->world.random;
    sources_delegation *said = &self->delegations[sim_below(random, N_DELEGATED)];
    said->n = sim_below(random, SOURCES_LIST_MAX + 1);
    for (size_t i = 0; i < said->n; i++) {
        said->owners[i] = (int)sim_below(random, OWNERS);
        said->ids[i] = ids[said->owners[i]];
        said->continuations[i] = i + 1 < said->n ? any_continuation(random) : UDPAI_CONTINUE;
        if (said->owners[i] ==
            OWNER_X) /* silent where nothing is new, it might be dead: what stands in stays */
            said->continuations[i] = UDPAI_CONTINUE;
        for (size_t k = 0; k < i; k++)
            if (said->owners[k] == said->owners[i])
                said->n = i; /* once is enough */
    }
    if (self->world.trace)
        show(self, (int)(said - self->delegations));
    set_files(self, GUIDE);
}

static void
change_owner(scene *self)
{
    sim_random *random = &self->world.random;
    place who = (place)sim_below(random, OWNERS);
    int key = (int)sim_below(random, N_KEYS);
    int *version = &self->members[who].versions[key];
    *version = *version && sim_once_in(random, 4) ? 0 : 1 + (int)sim_below(random, 1000);
    if (self->world.trace)
        fprintf(stderr, "%9llu %s says %d of r%d\n", (unsigned long long)sim_ms(&self->world),
                ids[who], *version, key);
    set_files(self, who);
}

static void
restart(sim_world *world, void *userdata)
{
    (void)world;
    sim_node *node = userdata;
    if (!node->is_up)
        sim_start_node(node);
}

static void
crash(scene *self, place who)
{
    sim_node *node = self->members[who].node;
    if (!node->is_up)
        return;
    if (self->world.trace)
        fprintf(stderr, "%9llu %s crashes\n", (unsigned long long)sim_ms(&self->world), node->id);
    sim_crash_node(node, true);
    sim_after(&self->world, sim_below(&self->world.random, 10 * SECOND), restart, node);
}

static void
refuse(scene *self, int key)
{
    self->is_refused[key] = !self->is_refused[key];
    if (self->world.trace)
        fprintf(stderr, "%9llu a %s say r%d\n", (unsigned long long)sim_ms(&self->world),
                self->is_refused[key] ? "may not" : "may", key);
    set_rules(self); /* what was refused is asked for then */
}

/* What does not find room is refused; when there is room again, and another stream, it comes. */
static void
set_room(scene *self, bool is_narrow)
{
    const udpai_store_options options = room(is_narrow ? NARROW : 1000000);
    sim_node *node = self->members[NODE].node;
    if (!node->is_up || is_narrow == self->is_narrow)
        return;
    self->is_narrow = is_narrow;
    udpai_node_set_store_options(node->node, &options);
    if (!is_narrow)
        sim_cut_streams_of(node);
}

static void
disturb(scene *self)
{
    sim_random *random = &self->world.random;
    place dynamic = (place)(FIRST_DYNAMIC + sim_below(random, OWNERS - FIRST_DYNAMIC));
    switch (sim_below(random, 12)) {
    case 0:
    case 1:
    case 2:
        delegate(self);
        break;
    case 3:
        self->members[dynamic].is_dynamic_now = !self->members[dynamic].is_dynamic_now;
        set_files(self, GUIDE);
        break;
    case 4:
        refuse(self, (int)sim_below(random, N_KEYS));
        break;
    case 5:
        (void)sim_cut_something(&self->world);
        break;
    case 6:
        crash(self, (place)sim_below(random, PLACES));
        break;
    case 7:
        set_room(self, !self->is_narrow);
        break;
    default:
        change_owner(self);
        break;
    }
}

static void
begin(scene *self, uint64_t seed, bool trace)
{
    sim_random *random = &self->world.random;
    sim_world_init(&self->world, seed);
    self->world.trace = trace;
    for (int i = 0; i < PLACES; i++) {
        member *at = &self->members[i];
        at->scene = self;
        at->node = sim_add_node(&self->world, ids[i]);
        at->node->plan = i == NODE ? plan_node : plan_owner;
        at->node->started = started;
        at->node->userdata = at;
        for (int key = 0; i < OWNERS && key < N_KEYS; key++)
            at->versions[key] = sim_once_in(random, 4) ? 0 : 1;
    }
    for (int i = 0; i < N_STATIC; i++)
        self->order[i] = i + 1 < N_STATIC ? any_continuation(random) : UDPAI_CONTINUE;
    self->acl = make_acl(self);
    begin_xds(self);
    for (int i = 0; i < PLACES; i++)
        sim_start_node(self->members[i].node);
}

static void
play(uint64_t seed, bool trace)
{
    scene *self = calloc(1, sizeof(*self));
    if (!self)
        abort();
    begin(self, seed, trace);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 15; i++) {
            disturb(self);
            sim_run_until(&self->world,
                          self->world.now_us + sim_below(&self->world.random, 4 * SECOND));
        }
        set_room(self, false);
        sim_run_until(&self->world, self->world.now_us + QUIET_US);
        for (int key = 0; key < N_KEYS; key++)
            check(self, key);
    }
    sim_world_done(&self->world);
    udpai_upstream_free(self->upstream);
    udpai_acl_unref(self->acl);
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
