/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/readers.h"

#include "base/alloc.h"
#include "base/log.h"
#include "model/removal.h"

#define LOOK_MS 250 /* so often: is this the elected replica, is the source there? */
/* What changes within this is handed over together. All of it is compared then, which takes two
 * milliseconds for a thousand resources: after so long again, it is a fifth of the loop's time at
 * most. */
#define SOON_MS 10
#define RESOURCES_PER_MS 100
#define REMOVALS_MAX 1024

/* What one source has sent; of one type, below one prefix. */
typedef struct scope {
    struct reader *reader;
    udpai_str type_url, prefix;
    udpai_local_subscription *subscription;
} scope;

typedef struct reader {
    udpai_readers *owner;
    const udpai_source_config *source;
    UDPAI_VECTOR(udpai_provider_config) providers; /* of its endpoint */
    UDPAI_VECTOR(scope) scopes;
    udpa_endpoint *endpoint;                /* NULL: another replica is the elected one */
    uint64_t next_ms;                       /* nothing is handed over before this, by the loop */
    UDPAI_VECTOR(udpa_resource *) removals; /* by authorities, the last ones */
    size_t n_removals;                      /* that have replaced older ones */
    udpa_error *fault;                      /* that was handed over; NULL: none */
    bool has_news, was_lost;
    bool is_given;    /* all of it was handed over, since this is the elected one */
    bool is_reviewed; /* other rules or keys hold since then */
} reader;

struct udpai_readers {
    udpai_readers_env env;
    udpai_acl *acl;
    udpai_keyring *keyring;
    uv_timer_t look, soon;
    size_t n_open; /* handles and endpoints */
    size_t n;
    reader items[];
};

/* ---- what it has ---- */

typedef struct gathering {
    UDPAI_VECTOR(udpa_resource *) resources;
    bool has_failed;
} gathering;

static bool
gather(void *userdata, const udpai_contribution *held)
{
    gathering *all = userdata;
    all->has_failed |= !udpai_vector_push(&all->resources, held->resource);
    return !all->has_failed;
}

static void
give(const reader *self, const udpai_directory *directory)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_endpoint *to = self->owner->env.endpoint;
    if (udpai_node_set_files(udpai_endpoint_node(to), directory, &error) != UDPA_OK)
        udpai_log_about(UDPA_LOG_ERROR, "federation",
                        UDPAI_ABOUT({UDPAI_LOG_SOURCE, self->source->name},
                                    {UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "source %.*s: rejected in part: %s", UDPAI_SHOWN(self->source->name),
                        error ? udpa_error_message(error) : "out of memory");
    udpai_endpoint_touch(to);
}

/* Overlapping scopes name a resource twice; that is no harm. What is lost stays, but for what rules
 * reject. */
static void
give_all(reader *self)
{
    gathering all = {0};
    udpai_store *store = udpai_node_store(udpai_endpoint_node(self->endpoint));
    for (size_t i = 0; i < self->scopes.n; i++)
        udpai_store_visit_effective(store, self->scopes.items[i].type_url,
                                    self->scopes.items[i].prefix, gather, &all);
    const udpai_directory directory = {
        .source = self->source->name,
        .resources = all.resources.items,
        .n_resources = all.resources.n,
        .fault = self->was_lost ? self->fault : NULL,
        .is_partial = all.has_failed,
        .has_errors = all.has_failed || self->was_lost,
        .is_received = true,
        .keeps_generations = self->source->kind == UDPAI_SOURCE_UDPA,
        .removals = self->removals.items,
        .n_removals = self->removals.n,
        .is_reviewed = self->is_reviewed,
        .doubt = all.has_failed ? NULL
                                : udpai_node_take_doubt(udpai_endpoint_node(self->endpoint),
                                                        self->source->name),
    };
    give(self, &directory);
    self->is_given = true;
    self->next_ms = uv_now(self->owner->env.loop) + all.resources.n / RESOURCES_PER_MS;
    udpai_vector_done(&all.resources);
}

static udpa_error *
fault_of(const reader *self)
{
    const udpai_node *node = udpai_endpoint_node(self->endpoint);
    return (udpa_error *)(uintptr_t)udpai_node_source_fault(node, self->source->name);
}

/* Each attempt to connect ends with an error of its own. */
static bool
has_other_fault(const reader *self)
{
    return strcmp(udpa_error_message(fault_of(self)), udpa_error_message(self->fault)) != 0;
}

/* All keep what they have of it, and fail over. */
static void
give_up(const reader *self)
{
    const udpai_directory nothing = {
        .source = self->source->name,
        .fault = self->fault,
        .is_partial = true,
        .has_errors = true,
        .is_received = true,
    };
    give(self, &nothing);
}

static void
note_fault(reader *self)
{
    udpa_error_unref(self->fault);
    self->fault = udpa_error_ref(fault_of(self));
}

static bool
is_complete(const reader *self)
{
    for (size_t i = 0; i < self->scopes.n; i++)
        if (!udpai_local_is_complete(self->scopes.items[i].subscription))
            return false;
    return true;
}

/* While it is not known whether all of it is there, what was handed over before counts. */
static void
hand_over(reader *self)
{
    const udpai_node *node = udpai_endpoint_node(self->endpoint);
    bool is_lost = udpai_node_source_has_failed(node, self->source->name);
    bool is_whole = !is_lost && is_complete(self);
    bool is_other = is_lost ? !self->was_lost || has_other_fault(self)
                            : is_whole && (self->has_news || self->was_lost);
    if (is_lost && is_other)
        note_fault(self);
    self->was_lost = is_lost || (self->was_lost && !is_whole);
    if ((is_whole || self->is_given) && (is_other || self->is_reviewed))
        give_all(self);
    else if (is_other)
        give_up(self);
    self->is_reviewed = false;
    self->has_news &= !is_whole;
}

static void
on_soon(uv_timer_t *timer)
{
    const udpai_readers *all = timer->data;
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].endpoint && all->items[i].has_news)
            hand_over((reader *)&all->items[i]);
}

static void
note_news(reader *self)
{
    uv_timer_t *soon = &self->owner->soon;
    uint64_t now_ms = uv_now(self->owner->env.loop);
    uint64_t wait_ms = self->next_ms > now_ms + SOON_MS ? self->next_ms - now_ms : SOON_MS;
    self->has_news = true;
    if (!uv_is_active((uv_handle_t *)soon))
        uv_timer_start(soon, on_soon, wait_ms, 0); /* cannot fail */
}

/* Without memory it is removed here alone. */
static void
note_removal(reader *self, const udpa_resource *removed)
{
    const udpai_store *store = udpai_node_store(udpai_endpoint_node(self->endpoint));
    uint64_t generation = udpai_store_removal_generation(store, removed);
    if (generation < udpa_resource_generation(removed))
        return; /* its authority has not removed it */
    udpa_resource *removal = udpai_removal_of(removed, generation);
    if (removal && self->removals.n == REMOVALS_MAX) {
        udpa_resource **oldest = &self->removals.items[self->n_removals++ % REMOVALS_MAX];
        udpa_resource_unref(*oldest);
        *oldest = removal;
    } else if (removal && !udpai_vector_push(&self->removals, removal)) {
        udpa_resource_unref(removal);
    }
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    reader *self = ((scope *)userdata)->reader;
    bool is_nodes = self->source->kind == UDPAI_SOURCE_UDPA;
    for (size_t i = 0; i < udpai_local_update_size(update) && is_nodes; i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        if (change->is_removed)
            note_removal(self, change->resource);
    }
    note_news(self);
}

static void
on_complete(void *userdata)
{
    note_news(((scope *)userdata)->reader);
}

/* ---- connected ---- */

static udpa_err
subscribe(reader *self)
{
    udpai_node *node = udpai_endpoint_node(self->endpoint);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < self->scopes.n && err == UDPA_OK; i++) {
        scope *at = &self->scopes.items[i];
        const udpai_selection selection = {.type_url = at->type_url, .prefix = at->prefix};
        const udpai_local_ops ops = {on_update, on_complete, at};
        err = udpai_node_subscribe(node, &selection, &ops, &at->subscription);
    }
    return err;
}

static void
settings_of(const reader *self, udpai_endpoint_settings *settings)
{
    const udpai_readers *all = self->owner;
    const udpai_endpoint_settings *plan = &all->env.plan->settings;
    udpai_endpoint_settings_init(settings);
    settings->node.id = plan->node.id;
    settings->node.authority = plan->node.authority;
    settings->node.instance = plan->node.instance;
    settings->node.timing = plan->node.timing;
    settings->node.store = plan->node.store;
    settings->node.is_endpoint = true;
    settings->node.sources = self->source;
    settings->node.n_sources = 1;
    settings->node.providers = self->providers.items;
    settings->node.n_providers = self->providers.n;
    settings->node.acl = all->acl;
    settings->node.keyring = all->keyring;
    settings->info = plan->info;
    settings->limits = plan->limits;
    settings->inspector = all->env.inspector;
    settings->inspector.removed = NULL; /* the endpoint of the node has it, too */
}

static void
release(udpai_readers *all)
{
    if (--all->n_open == 0)
        udpai_free(all);
}

static void
on_endpoint_closed(void *userdata)
{
    release(userdata);
}

static void
unsubscribe(reader *self)
{
    for (size_t i = 0; i < self->scopes.n; i++) {
        udpai_local_subscription *subscription = UDPAI_TAKE(self->scopes.items[i].subscription);
        if (subscription)
            udpai_node_unsubscribe(udpai_endpoint_node(self->endpoint), subscription);
    }
}

static void
disconnect(reader *self)
{
    unsubscribe(self);
    if (self->endpoint)
        udpa_endpoint_close(UDPAI_TAKE(self->endpoint), on_endpoint_closed, self->owner);
    self->fault = udpa_error_unref(self->fault);
    while (self->removals.n)
        udpa_resource_unref(self->removals.items[--self->removals.n]);
    self->has_news = self->was_lost = self->is_given = self->is_reviewed = false;
    self->n_removals = 0;
}

/* Later it is tried again. */
static void
connect_to(reader *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_endpoint_settings settings;
    settings_of(self, &settings);
    udpa_err err = udpai_endpoint_new(&self->endpoint, self->owner->env.loop, &settings, &error);
    if (err == UDPA_OK) {
        self->owner->n_open++;
        err = subscribe(self);
    }
    if (err == UDPA_OK) {
        udpai_endpoint_start(self->endpoint);
        return;
    }
    udpai_log_about(UDPA_LOG_ERROR, "federation",
                    UDPAI_ABOUT({UDPAI_LOG_SOURCE, self->source->name},
                                {UDPAI_LOG_CODE, udpai_log_code(error)}),
                    "source %.*s: cannot be read for all replicas: %s",
                    UDPAI_SHOWN(self->source->name),
                    error ? udpa_error_message(error) : udpa_err_text(err));
    disconnect(self);
}

static void
look_at(reader *self)
{
    udpai_node *node = udpai_endpoint_node(self->owner->env.endpoint);
    bool is_elected = udpai_node_is_elected(node);
    if (is_elected && !self->endpoint)
        connect_to(self);
    else if (is_elected)
        hand_over(self);
    if (is_elected || !self->endpoint)
        return;
    udpai_log(UDPA_LOG_INFO, "federation",
              "source %.*s: another replica is the elected one, and reads it for all",
              UDPAI_SHOWN(self->source->name));
    disconnect(self);
    udpai_node_forget_files(node, self->source->name);
}

static void
on_look(uv_timer_t *timer)
{
    const udpai_readers *all = timer->data;
    for (size_t i = 0; i < all->n; i++)
        look_at((reader *)&all->items[i]);
}

/* ---- which there are ---- */

udpa_err
udpai_readers_expect(udpa_endpoint *endpoint, const udpai_plan *plan, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->read_sources.n && err == UDPA_OK; i++)
        err = udpai_node_share_files(udpai_endpoint_node(endpoint), (udpai_str){0},
                                     plan->read_sources.items[i].name);
    return udpai_fail_code(ret_error, err);
}

/* The descriptors of one provider that name the source are those of a provider of its endpoint. */
static udpa_err
add_provider(reader *self, const udpai_provider_config *provider)
{
    size_t n = 0;
    udpai_descriptor_config *descriptors =
        udpai_alloc_array(provider->n_descriptors + 1, sizeof(*descriptors));
    if (!descriptors)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < provider->n_descriptors; i++) {
        if (!udpai_str_eq(provider->descriptors[i].source, self->source->name))
            continue;
        descriptors[n] = provider->descriptors[i];
        descriptors[n++].continuation = UDPAI_CONTINUE;
    }
    const udpai_provider_config made = {provider->types, provider->n_types, descriptors, n};
    if (n && udpai_vector_push(&self->providers, made))
        return UDPA_OK;
    udpai_free(descriptors);
    return n ? UDPA_ERR_NOMEM : UDPA_OK;
}

static udpa_err
add_scopes(reader *self, const udpai_provider_config *provider)
{
    for (size_t i = 0; i < provider->n_types; i++)
        for (size_t k = 0; k < provider->n_descriptors; k++) {
            const scope made = {
                .reader = self,
                .type_url = provider->types[i],
                .prefix = provider->descriptors[k].prefix,
            };
            if (!udpai_vector_push(&self->scopes, made))
                return UDPA_ERR_NOMEM;
        }
    return UDPA_OK;
}

static udpa_err
init_reader(reader *self)
{
    const udpai_plan *plan = self->owner->env.plan;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < plan->providers.n && err == UDPA_OK; i++)
        err = add_provider(self, &plan->providers.items[i]);
    for (size_t i = 0; i < self->providers.n && err == UDPA_OK; i++)
        err = add_scopes(self, &self->providers.items[i]);
    return err;
}

udpa_err
udpai_readers_open(udpai_readers **ret_readers,
                   const udpai_readers_env *env,
                   udpa_error **ret_error)
{
    const udpai_plan *plan = env->plan;
    size_t n = plan->read_sources.n;
    udpa_err err = UDPA_OK;
    if (n == 0)
        return UDPA_OK;
    udpai_readers *all = udpai_alloc(sizeof(*all) + n * sizeof(all->items[0]));
    if (!all)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    all->env = *env;
    all->acl = udpai_acl_ref(plan->settings.node.acl);
    all->keyring = udpai_keyring_ref(plan->settings.node.keyring);
    uv_timer_init(env->loop, &all->look); /* cannot fail */
    uv_timer_init(env->loop, &all->soon);
    all->look.data = all->soon.data = all;
    all->n_open = 2;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        reader *self = &all->items[all->n++];
        self->owner = all;
        self->source = &plan->read_sources.items[i];
        err = init_reader(self);
    }
    if (err != UDPA_OK) {
        udpai_readers_close(all);
        return udpai_fail_code(ret_error, err);
    }
    uv_timer_start(&all->look, on_look, LOOK_MS, LOOK_MS);
    *ret_readers = all;
    return UDPA_OK;
}

udpa_err
udpai_readers_set_acl(udpai_readers *all, udpai_acl *acl)
{
    udpa_err err = UDPA_OK;
    if (!all)
        return UDPA_OK;
    udpai_acl_unref(all->acl);
    all->acl = udpai_acl_ref(acl);
    for (size_t i = 0; i < all->n && err == UDPA_OK; i++) {
        all->items[i].is_reviewed = all->items[i].is_given;
        if (all->items[i].endpoint)
            err = udpai_endpoint_set_acl(all->items[i].endpoint, acl);
    }
    return err;
}

void
udpai_readers_set_keyring(udpai_readers *all, udpai_keyring *keyring)
{
    if (!all)
        return;
    udpai_keyring_unref(all->keyring);
    all->keyring = udpai_keyring_ref(keyring);
    for (size_t i = 0; i < all->n; i++) {
        all->items[i].is_reviewed = all->items[i].is_given;
        if (all->items[i].endpoint)
            udpai_endpoint_set_keyring(all->items[i].endpoint, keyring);
    }
}

static void
free_reader(reader *self)
{
    disconnect(self);
    for (size_t i = 0; i < self->providers.n; i++)
        udpai_free((void *)(uintptr_t)self->providers.items[i].descriptors);
    udpai_vector_done(&self->providers);
    udpai_vector_done(&self->scopes);
    udpai_vector_done(&self->removals);
}

static void
on_timer_closed(uv_handle_t *handle)
{
    release(handle->data);
}

void
udpai_readers_close(udpai_readers *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++)
        free_reader(&all->items[i]);
    udpai_acl_unref(all->acl);
    udpai_keyring_unref(all->keyring);
    uv_close((uv_handle_t *)&all->look, on_timer_closed);
    uv_close((uv_handle_t *)&all->soon, on_timer_closed);
}
