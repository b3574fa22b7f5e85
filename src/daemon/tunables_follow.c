/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/tunables_follow.h"

#include "base/alloc.h"
#include "loop/clock.h"

#define LOG "runtime"
#define LOGGED_MAX 200     /* lines in 10 s */
#define COMPLAINTS_MAX 256 /* that are kept, so that they are reported once */

typedef UDPAI_VECTOR(char *) lines;

struct udpai_tunables_follower {
    udpai_tunables_follower_env env;
    udpai_directories *directories; /* NULL: not yet */
    udpai_readers *readers;         /* NULL: not yet, or none */
    udpai_tunables now;
    udpai_debounce_rules *debounce; /* that are in effect; NULL: none */
    udpai_acl *acl;                 /* as the bootstrap file has it; NULL: there are no rules */
    udpai_runtime_snapshot *followed;
    lines complaints;
};

udpai_tunables_follower *
udpai_tunables_follower_new(const udpai_tunables_follower_env *env)
{
    udpai_tunables_follower *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->env = *env;
    self->acl = udpai_acl_ref(env->plan->settings.node.acl);
    udpai_tunables_init(&self->now, env->plan);
    self->debounce = udpai_debounce_rules_ref(self->now.debounce);
    return self;
}

static void
free_lines(lines *all)
{
    for (size_t i = 0; i < all->n; i++)
        udpai_free(all->items[i]);
    udpai_vector_done(all);
}

udpai_tunables_follower *
udpai_tunables_follower_free(udpai_tunables_follower *self)
{
    if (!self)
        return NULL;
    free_lines(&self->complaints);
    udpai_runtime_snapshot_unref(self->followed);
    udpai_acl_unref(self->acl);
    udpai_debounce_rules_unref(self->debounce);
    udpai_free(self);
    return NULL;
}

/* ---- what uses it ---- */

static udpa_err
set_acl(const udpai_tunables_follower *self, udpai_acl *acl)
{
    udpa_err err = udpai_endpoint_set_acl(self->env.endpoint, acl);
    return err ? err : udpai_readers_set_acl(self->readers, acl);
}

static udpa_err
use_acl(const udpai_tunables_follower *self, udpai_acl *acl, bool is_dry_run)
{
    UDPA_AUTO(udpai_acl_unref) udpai_acl *other = NULL;
    udpai_acl_options options = *udpai_acl_settings(acl);
    if (options.is_dry_run == is_dry_run)
        return set_acl(self, acl);
    options.is_dry_run = is_dry_run;
    udpa_err err = udpai_acl_new(&other, &options);
    return err ? err : set_acl(self, other);
}

static bool
are_streams_same(const udpai_tunables_follower *self, const udpai_tunables *to)
{
    const udpai_tunables *now = &self->now;
    return now->max_streams == to->max_streams &&
           now->max_streams_per_identity == to->max_streams_per_identity &&
           now->max_message_bytes == to->max_message_bytes &&
           now->max_source_message_bytes == to->max_source_message_bytes &&
           now->max_stream_age_ms == to->max_stream_age_ms &&
           now->drain_timeout_ms == to->drain_timeout_ms &&
           udpai_debounce_rules_equal(self->debounce, to->debounce) &&
           memcmp(&now->fanout, &to->fanout, sizeof(to->fanout)) == 0;
}

static void
use_streams(udpai_tunables_follower *self, udpai_tunables *to)
{
    const udpai_tunables *now = &self->now;
    const udpai_stream_switches streams = udpai_tunables_of_streams(to);
    if (are_streams_same(self, to))
        return;
    if (udpai_stream_thread_switch(udpai_endpoint_streams(self->env.endpoint), &streams) ==
        UDPA_OK) {
        udpai_debounce_rules_ref(to->debounce);
        udpai_debounce_rules_unref(self->debounce);
        self->debounce = to->debounce;
        return;
    }
    udpai_log(UDPA_LOG_ERROR, LOG, "limits of streams stay as they were: out of memory");
    to->max_streams = now->max_streams;
    to->max_streams_per_identity = now->max_streams_per_identity;
    to->max_message_bytes = now->max_message_bytes;
    to->max_source_message_bytes = now->max_source_message_bytes;
    to->max_stream_age_ms = now->max_stream_age_ms;
    to->drain_timeout_ms = now->drain_timeout_ms;
    to->fanout = now->fanout;
}

static void
use_rules(const udpai_tunables_follower *self, udpai_tunables *to)
{
    if (!self->acl || to->acl_dry_run == self->now.acl_dry_run ||
        use_acl(self, self->acl, to->acl_dry_run) == UDPA_OK)
        return;
    udpai_log(UDPA_LOG_ERROR, LOG, "the rules stay as they were: out of memory");
    to->acl_dry_run = self->now.acl_dry_run;
}

static void
use_validation(const udpai_tunables_follower *self, const udpai_tunables *to)
{
    if (to->validation == self->now.validation)
        return;
    atomic_store(self->env.validation, (int)to->validation);
    udpai_directories_look(self->directories);
}

/* What cannot be put into use stays, and `to` has that. */
static void
use(udpai_tunables_follower *self, udpai_tunables *to)
{
    const udpai_tunables *now = &self->now;
    udpai_node *node = udpai_endpoint_node(self->env.endpoint);
    if (!udpai_tunables_same_log(now, to))
        udpai_tunables_apply_log(to);
    if (memcmp(&now->timing, &to->timing, sizeof(to->timing)) != 0)
        udpai_node_set_timing(node, &to->timing);
    if (memcmp(&now->store, &to->store, sizeof(to->store)) != 0)
        udpai_node_set_store_options(node, &to->store);
    udpai_node_set_max_clients(node, to->max_clients);
    udpai_xds_groups_set_max(self->env.groups, to->max_groups, to->max_groups_of_identity);
    if (now->files_quiet_ms != to->files_quiet_ms)
        udpai_directories_set_quiet(self->directories, to->files_quiet_ms);
    use_validation(self, to);
    use_streams(self, to);
    use_rules(self, to);
}

/* ---- what is wrong ---- */

struct complaining {
    const lines *before;
    lines now;
};

/* A publisher of a layer may change its values all the time. A node has one follower. */
static void
log_line(udpa_log_level level, const char *line)
{
    static udpai_log_limit limit;
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    if (udpai_log_allow_burst(&limit, LOGGED_MAX, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(level, LOG, "%s%s", line, udpai_log_more(more, n_suppressed));
}

static void
complain(void *userdata, udpai_str key, const char *line)
{
    (void)key;
    struct complaining *complaining = userdata;
    char *copy = complaining->now.n < COMPLAINTS_MAX ? udpai_strdup(line) : NULL;
    if (!copy || !udpai_vector_push(&complaining->now, copy))
        udpai_free(copy);
    for (size_t i = 0; i < complaining->before->n; i++)
        if (strcmp(complaining->before->items[i], line) == 0)
            return;
    log_line(UDPA_LOG_WARNING, line);
}

static void
report_line(void *userdata, const char *line)
{
    (void)userdata;
    log_line(UDPA_LOG_INFO, line);
}

/* ---- following ---- */

static udpa_err
read_all(udpai_tunables_follower *self,
         const udpai_runtime_snapshot *snapshot,
         const udpai_acl *rules,
         udpai_tunables *to)
{
    struct complaining complaining = {.before = &self->complaints};
    udpai_tunables_init(to, self->env.plan);
    if (rules)
        to->acl_dry_run = udpai_acl_settings(rules)->is_dry_run;
    udpa_err err = snapshot ? udpai_tunables_read(to, snapshot, complain, &complaining) : UDPA_OK;
    free_lines(err ? &complaining.now : &self->complaints);
    if (!err)
        memcpy(&self->complaints, &complaining.now, sizeof(self->complaints));
    return err;
}

static void
follow(udpai_tunables_follower *self, udpai_runtime_snapshot *snapshot)
{
    udpai_tunables to, before = self->now;
    if (read_all(self, snapshot, self->acl, &to) != UDPA_OK) {
        udpai_log(UDPA_LOG_ERROR, LOG,
                  "the effective runtime values stay as they were: out of memory");
        return;
    }
    use(self, &to);
    self->now = to;
    udpai_runtime_snapshot_unref(self->followed);
    self->followed = udpai_runtime_snapshot_ref(snapshot);
    udpai_tunables_report_changes(&before, &to, report_line, NULL);
}

static void
notify_workers(const udpai_tunables_follower *self, const udpai_runtime_snapshot *snapshot)
{
    udpai_strbuf bytes = {0};
    if (!self->env.workers)
        return;
    udpai_tunables_encode(snapshot, &bytes);
    if (udpai_strbuf_failed(&bytes))
        udpai_log(UDPA_LOG_ERROR, LOG, "workers are not notified of a change: out of memory");
    else
        udpai_workers_switch(self->env.workers, udpai_strbuf_view(&bytes));
    udpai_strbuf_done(&bytes);
}

void
udpai_tunables_follower_follow(udpai_tunables_follower *self, udpai_runtime_snapshot *snapshot)
{
    follow(self, snapshot);
    notify_workers(self, snapshot);
}

udpa_err
udpai_tunables_follower_take(udpai_tunables_follower *self,
                             udpai_directories *directories,
                             udpai_readers *readers)
{
    self->directories = directories;
    self->readers = readers;
    udpai_directories_set_quiet(directories, self->now.files_quiet_ms);
    return readers && self->acl ? use_acl(self, self->acl, self->now.acl_dry_run) : UDPA_OK;
}

static udpa_err
take_rules(udpai_tunables_follower *self, udpai_acl *acl, const udpai_tunables *to)
{
    udpa_err err = acl ? use_acl(self, acl, to->acl_dry_run) : UDPA_OK;
    if (err)
        return err;
    self->now.acl_dry_run = to->acl_dry_run;
    udpai_acl_ref(acl);
    udpai_acl_unref(self->acl);
    self->acl = acl;
    return UDPA_OK;
}

udpa_err
udpai_tunables_follower_take_plan(udpai_tunables_follower *self,
                                  const udpai_plan *plan,
                                  bool has_other_rules)
{
    udpai_tunables to, before = self->now;
    const udpai_plan *plan_before = self->env.plan;
    udpai_acl *rules = has_other_rules ? plan->settings.node.acl : self->acl;
    self->env.plan = plan;
    udpa_err err = read_all(self, self->followed, rules, &to);
    if (!err && has_other_rules)
        err = take_rules(self, rules, &to);
    if (err) {
        self->env.plan = plan_before;
        return err;
    }
    use(self, &to);
    self->now = to;
    udpai_tunables_report_changes(&before, &to, report_line, NULL);
    return UDPA_OK;
}

bool
udpai_tunables_follower_is_dry_run(const udpai_tunables_follower *self)
{
    return self->now.acl_dry_run;
}
