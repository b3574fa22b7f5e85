/* SPDX-License-Identifier: Apache-2.0 */
/* A reading is made from the one before on a thread of the pool, which the loop looks at meanwhile;
 * the new one is the pool's until it is taken. */
#include "runtime/tree.h"

#include "base/alloc.h"
#include "base/log.h"
#include "runtime/follower.h"
#include "runtime/loader.h"

#define COMPONENT "runtime"

struct udpai_runtime_tree {
    udpai_runtime_follower *follower;
    udpai_runtime_tree_ops ops;
    udpai_runtime_tree_rules rules;
    udpai_str source, authority;
    uint64_t look_ms, retry_ms;
    char *root, *texts; /* what views refer to */
    udpai_str *namespaces;
    uv_timer_t look;
    udpai_runtime_tree_reading *now;  /* NULL: none yet */
    udpai_runtime_tree_reading *next; /* NULL: no memory */
    bool was_reported, is_complete, is_closing;
    unsigned n_open; /* what keeps a closing tree */
    void (*closed)(void *userdata);
    void *closed_userdata;
};

/* ---- reporting ---- */

const udpa_error *
udpai_runtime_tree_problem(const udpai_runtime_tree *self, size_t index)
{
    const udpai_runtime_tree_reading *now = self->now;
    size_t n = now && now->error ? 1 : 0;
    if (n && index == 0)
        return now->error;
    for (size_t i = 0; now && i < now->layers.n; i++)
        if (now->layers.items[i].error && n++ == index)
            return now->layers.items[i].error;
    return NULL;
}

static bool
has_problem(const udpai_runtime_tree_reading *reading, const udpa_error *problem)
{
    const char *text = udpa_error_message(problem);
    if (reading && reading->error && strcmp(udpa_error_message(reading->error), text) == 0)
        return true;
    for (size_t i = 0; reading && i < reading->layers.n; i++) {
        const udpa_error *error = reading->layers.items[i].error;
        if (error && strcmp(udpa_error_message(error), text) == 0)
            return true;
    }
    return false;
}

/* Has `now` problems that `before` does not have? Then they are logged, if they are to be. */
static bool
find_new_problems(const udpai_runtime_tree_reading *before,
                  const udpai_runtime_tree_reading *now,
                  bool logs)
{
    bool any = false;
    for (size_t i = 0; now && i <= now->layers.n; i++) {
        const udpa_error *error = i ? now->layers.items[i - 1].error : now->error;
        if (!error || has_problem(before, error))
            continue;
        if (logs)
            udpai_log(UDPA_LOG_ERROR, COMPONENT, "%s", udpa_error_message(error));
        any = true;
    }
    return any;
}

static bool
is_in_error(const udpai_runtime_tree_reading *reading, const char *name)
{
    for (size_t i = 0; i < reading->layers.n; i++)
        if (strcmp(reading->layers.items[i].name, name) == 0)
            return reading->layers.items[i].error != NULL;
    return false;
}

static void
log_fixed(const udpai_runtime_tree *self,
          const udpai_runtime_tree_reading *before,
          const udpai_runtime_tree_reading *now)
{
    if (before && before->error && !now->error)
        udpai_log(UDPA_LOG_INFO, COMPONENT, "%s: can be read again", self->root);
    for (size_t i = 0; before && i < before->layers.n; i++)
        if (before->layers.items[i].error && !is_in_error(now, before->layers.items[i].name))
            udpai_log(UDPA_LOG_INFO, COMPONENT, "%s: layer %s is reloaded, no errors found",
                      self->root, before->layers.items[i].name);
}

static bool
same_resources(const udpai_runtime_tree_reading *a, const udpai_runtime_tree_reading *b)
{
    if (a->layers.n != b->layers.n)
        return false;
    for (size_t i = 0; i < a->layers.n; i++)
        if (a->layers.items[i].resource != b->layers.items[i].resource)
            return false;
    return true;
}

static bool
has_errors(const udpai_runtime_tree_reading *reading)
{
    bool any = reading->error != NULL;
    for (size_t i = 0; i < reading->layers.n; i++)
        any |= reading->layers.items[i].error != NULL;
    return any;
}

/* Is nothing missing? */
static bool
is_whole(const udpai_runtime_tree_reading *reading)
{
    bool whole = reading->was_read;
    for (size_t i = 0; i < reading->layers.n; i++)
        whole &= reading->layers.items[i].resource != NULL;
    return whole;
}

static void
report_resources(udpai_runtime_tree *self)
{
    const udpai_runtime_tree_reading *now = self->now;
    UDPAI_AUTO_FREE udpa_resource **resources =
        udpai_alloc_array(now->layers.n, sizeof(*resources));
    size_t n = 0;
    if (!resources) {
        udpai_log(UDPA_LOG_ERROR, COMPONENT, "%s: no memory to publish what it has", self->root);
        self->was_reported = false; /* so that it is reported with the next reading */
        return;
    }
    for (size_t i = 0; i < now->layers.n; i++)
        if (now->layers.items[i].resource)
            resources[n++] = now->layers.items[i].resource;
    const udpai_directory directory = {
        .root = udpai_str_from(self->root),
        .source = self->source,
        .authority = self->authority,
        .resources = resources,
        .n_resources = n,
        .is_partial = !self->is_complete,
        .has_errors = has_errors(now),
    };
    self->was_reported = true;
    self->ops.changed(self->ops.userdata, &directory);
}

void
udpai_runtime_tree_look(udpai_runtime_tree *self)
{
    udpai_runtime_follower_look(self->follower);
}

void
udpai_runtime_tree_report_again(udpai_runtime_tree *self)
{
    if (self->was_reported && !self->is_closing)
        report_resources(self);
}

/* The callbacks may close the tree, which frees nothing before the loop's next turn. */
static void
report(udpai_runtime_tree *self, udpai_runtime_tree_reading *now)
{
    UDPA_AUTO(udpai_runtime_tree_reading_free) udpai_runtime_tree_reading *before = self->now;
    bool is_news = self->was_reported
                       ? !same_resources(before, now) || has_errors(before) != has_errors(now)
                       : now->was_read;
    bool problems_changed = find_new_problems(before, now, true);
    problems_changed |= find_new_problems(now, before, false);
    log_fixed(self, before, now);
    is_news = is_news || (is_whole(now) && !self->is_complete);
    self->now = now;
    self->is_complete = self->is_complete || is_whole(now);
    if (is_news)
        report_resources(self);
    if (problems_changed && self->ops.problems_changed && !self->is_closing)
        self->ops.problems_changed(self->ops.userdata);
}

/* ---- reading ---- */

static void
on_look(uv_timer_t *timer)
{
    udpai_runtime_tree *self = timer->data;
    udpai_runtime_follower_look(self->follower);
}

static void
on_read(void *userdata, udpai_runtime_directories *directories)
{
    udpai_runtime_tree *self = userdata;
    self->next = udpai_runtime_tree_read(&self->rules, self->now, directories);
}

static void
on_take(void *userdata, bool is_change)
{
    udpai_runtime_tree *self = userdata;
    udpai_runtime_tree_reading *next = UDPAI_TAKE(self->next);
    (void)is_change;
    if (next)
        report(self, next);
    else
        udpai_log(UDPA_LOG_ERROR, COMPONENT, "%s: no memory to read it; what was read before stays",
                  self->root);
    if (self->is_closing)
        return;
    uint64_t delay_ms = next && !next->error ? self->look_ms : self->retry_ms;
    (void)uv_timer_start(&self->look, on_look, delay_ms, delay_ms);
}

bool
udpai_runtime_tree_is_busy(const udpai_runtime_tree *self)
{
    return udpai_runtime_follower_is_busy(self->follower);
}

const udpai_runtime_tree_reading *
udpai_runtime_tree_now(const udpai_runtime_tree *self)
{
    return self->now;
}

/* ---- making and closing ---- */

static void
let_go(udpai_runtime_tree *self)
{
    if (--self->n_open > 0)
        return;
    void (*closed)(void *userdata) = self->closed;
    void *userdata = self->closed_userdata;
    udpai_runtime_tree_reading_free(self->now);
    udpai_runtime_tree_reading_free(self->next);
    udpai_free(self->namespaces);
    udpai_free(self->texts);
    udpai_free(self->root);
    udpai_free(self);
    if (closed)
        closed(userdata);
}

static void
on_follower_closed(void *userdata)
{
    let_go(userdata);
}

static void
on_look_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

/* One piece of memory holds all texts. */
static bool
copy_texts(udpai_runtime_tree *self, const udpai_runtime_tree_options *options)
{
    const udpai_runtime_tree_rules *rules = &options->rules;
    udpai_str subdirectory = udpai_str_from(rules->subdirectory),
              root = udpai_str_from(rules->root);
    size_t size = options->source.len + options->authority.len + rules->prefix.len +
                  rules->default_namespace.len + subdirectory.len + 1;
    while (root.len > 1 && root.data[root.len - 1] == '/')
        root.len--;
    for (size_t i = 0; i < rules->n_namespaces; i++)
        size += rules->namespaces[i].len;
    self->root = udpai_strndup(root.data, root.len);
    self->texts = udpai_alloc(size);
    self->namespaces = udpai_alloc_array(rules->n_namespaces, sizeof(*self->namespaces));
    if (!self->root || !self->texts || !self->namespaces)
        return false;
    char *at = self->texts;
    self->rules = *rules;
    self->rules.root = self->root;
    self->rules.subdirectory = udpai_str_put_terminated(&at, subdirectory).data;
    self->rules.prefix = udpai_str_put(&at, rules->prefix);
    self->rules.default_namespace = udpai_str_put(&at, rules->default_namespace);
    self->source = udpai_str_put(&at, options->source);
    self->authority = udpai_str_put(&at, options->authority);
    for (size_t i = 0; i < rules->n_namespaces; i++)
        self->namespaces[i] = udpai_str_put(&at, rules->namespaces[i]);
    self->rules.namespaces = self->namespaces;
    return true;
}

udpa_err
udpai_runtime_tree_new(udpai_runtime_tree **ret_tree,
                       const udpai_runtime_tree_options *options,
                       const udpai_runtime_tree_ops *ops,
                       udpa_error **ret_error)
{
    if (!options->rules.root || !options->rules.root[0])
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a tree of the runtime has no symlink_root");
    udpai_runtime_tree *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_runtime_follower_ops reading = {on_read, on_take, on_follower_closed, self};
    self->ops = *ops;
    self->look_ms = options->look_ms ? options->look_ms : UDPAI_RUNTIME_LOOK_MS;
    self->retry_ms = options->retry_ms ? options->retry_ms : UDPAI_RUNTIME_TREE_RETRY_MS;
    self->n_open = 1;
    if (copy_texts(self, options))
        self->follower = udpai_runtime_follower_new(
            options->loop, self->root,
            options->quiet_ms ? options->quiet_ms : UDPAI_RUNTIME_QUIET_MS, &reading);
    if (!self->follower) {
        let_go(self);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    uv_timer_init(options->loop, &self->look);
    uv_unref((uv_handle_t *)&self->look);
    self->look.data = self;
    self->n_open = 2;
    *ret_tree = self;
    return UDPA_OK;
}

udpa_err
udpai_runtime_tree_start(udpai_runtime_tree *self, udpa_error **ret_error)
{
    udpai_runtime_follower_start(self->follower);
    return self->now ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

void
udpai_runtime_tree_close(udpai_runtime_tree *self, void (*closed)(void *userdata), void *userdata)
{
    if (!self || self->is_closing)
        return;
    self->is_closing = true;
    self->closed = closed;
    self->closed_userdata = userdata;
    udpai_runtime_follower_close(self->follower);
    uv_close((uv_handle_t *)&self->look, on_look_closed);
}
