/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/configuration.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "codec/json_text.h"
#include "daemon/bootstrap_check.h"
#include "daemon/config_difference.h"
#include "daemon/config_merge.h"
#include "daemon/log_sink.h"
#include "daemon/options_check.h"
#include "daemon/source_changes.h"
#include "daemon/store_keys.h"
#include "endpoint/host.h"
#include "endpoint/note.h"
#include "endpoint/stream_counts.h"
#include "federation/absence.h"
#include "storage/sqlite.h"

#define LOG "daemon"
#define MAX_WITHDRAWAL 50 /* percent, where nothing is set */
#define MAX_ENDED 10      /* percent of streams */

typedef Udpa__Config__V1__Bootstrap bootstrap_message;

/* One reload, from the file to what is in use. */
typedef struct reload {
    const udpai_configuration_env *env;
    const udpai_configuration_request *request;
    udpai_bootstrap read;                /* the file */
    const bootstrap_message *before;     /* in effect until now */
    udpai_plan *plan;                    /* what will be */
    udpa_bytes *packed;                  /* its file, for workers */
    char *restart;                       /* NULL: nothing takes one */
    udpai_sealer keys;                   /* of the store */
    udpai_source_config *sources;        /* the plan's, with the targets that there are */
    udpai_node_config node_config;       /* with those */
    udpai_node_next *node;               /* sources and providers; NULL: those that there are */
    udpai_directories_next *directories; /* the same */
    udpai_sockets_next *sockets;         /* the same */
    udpai_writers_next *writers;
    udpai_audit_outputs *audit; /* NULL: where it goes now */
    udpai_log_next *log;        /* the same */
} reload;

/* ---- reading ---- */

/* Of what was found the first error, and how many there are. */
struct first_error {
    const udpa_error *error;
    size_t n;
    bool is_silent;
};

static void
on_finding(const udpa_error *error, bool is_warning, void *userdata)
{
    struct first_error *self = userdata;
    if (is_warning && !self->is_silent)
        udpai_log(UDPA_LOG_WARNING, LOG, "%s", udpa_error_message(error));
    if (!is_warning && self->n++ == 0)
        self->error = error;
}

/* One error has its place, and of others how many there are. @p err: what there is besides. */
static udpa_err
sum_up(const reload *self, udpai_diagnostics *diagnostics, udpa_err err, udpa_error **ret_error)
{
    const char *file = self->env->options->config_file;
    struct first_error first = {.is_silent = self->request->is_dry_run};
    char more[80] = "";
    udpai_diagnostics_report(diagnostics, on_finding, &first);
    if (err == UDPA_OK && (first.n || diagnostics->has_failed))
        err = first.n ? UDPA_ERR_INVAL : UDPA_ERR_NOMEM;
    if (err == UDPA_OK || *ret_error)
        return err;
    if (!first.error)
        return udpai_fail(ret_error, err, "%s: %s", file, udpa_err_text(err));
    if (first.n > 1)
        snprintf(more, sizeof(more), " (and %zu more: udpad --check lists them)", first.n - 1);
    return udpai_fail(ret_error, err, "%s%s", udpa_error_message(first.error), more);
}

/* Sockets that were passed to the process have been taken from where a check looks for them. */
static udpa_err
read_file(reload *self, udpa_error **ret_error)
{
    udpai_diagnostics diagnostics = {0};
    udpai_options options = *self->env->options;
    options.only_check = true;
    udpa_err err = udpai_bootstrap_read(&self->read, self->env->schema, options.config_file,
                                        &diagnostics, ret_error);
    if (err == UDPA_OK) {
        udpai_options_check(&options, self->read.message, &diagnostics);
        udpai_bootstrap_check(self->read.message, &diagnostics);
        udpai_bootstrap_check_files(self->read.message, &options, &diagnostics);
    }
    err = sum_up(self, &diagnostics, err, ret_error);
    udpai_diagnostics_done(&diagnostics);
    return err;
}

/* ---- the plan ---- */

static udpa_err
merge(reload *self, udpai_bootstrap *ret_merged)
{
    udpai_arena arena;
    bootstrap_message *merged = NULL;
    udpai_arena_init(&arena);
    udpa_err err = udpai_config_merge(self->before, self->read.message, &arena, &merged);
    if (err == UDPA_OK)
        self->packed = udpai_bootstrap_pack(merged);
    udpai_arena_done(&arena);
    if (!self->packed)
        return UDPA_ERR_NOMEM;
    *ret_merged = self->read;
    ret_merged->message = NULL;
    return udpai_bootstrap_unpack(ret_merged, udpai_bytes_view(self->packed));
}

static udpa_err
make_plan(reload *self, udpa_error **ret_error)
{
    udpai_bootstrap merged = {0};
    const udpai_configuration_env *env = self->env;
    self->before = udpai_effective_plan(env->effective)->bootstrap.message;
    udpa_err err = udpai_fail_code(ret_error, merge(self, &merged));
    if (err == UDPA_OK)
        self->restart = udpai_config_name_differences(merged.message, self->read.message);
    if (err == UDPA_OK)
        err = udpai_plan_new(&self->plan, &merged, env->options, env->schema, ret_error);
    udpai_bootstrap_done(&merged);
    return err;
}

/* ---- what can fail ---- */

static const udpai_plan *
plan_before(const reload *self)
{
    return udpai_effective_plan(self->env->effective);
}

/* Peers that are reached as before have the targets that they have. */
static udpa_err
prepare_sources(reload *self, udpa_error **ret_error)
{
    const udpai_plan *plan = self->plan;
    size_t n = plan->sources.n;
    self->node_config = plan->settings.node;
    self->sources = udpai_alloc_array(n + 1, sizeof(*self->sources));
    if (!self->sources)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < n; i++) {
        self->sources[i] = plan->sources.items[i];
        void *kept = udpai_plan_kept_target(plan, plan_before(self), self->sources[i].name);
        if (kept)
            self->sources[i].target = kept;
    }
    self->node_config.sources = self->sources;
    return udpai_node_prepare(udpai_endpoint_node(self->env->endpoint), &self->node_config,
                              &self->node, ret_error);
}

/* Also of what load is reported to, and of a descriptor in a provider; and of sockets, by which
 * peers may be known. */
static void
look_for_sources(void *userdata, const char *path)
{
    static const char *const sections[] = {"providers", "static_resources", "sockets"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(sections); i++)
        *(bool *)userdata |= strncmp(path, sections[i], strlen(sections[i])) == 0 &&
                             strcmp(path, "static_resources.directories") != 0;
}

static bool
has_other_sources(const reload *self)
{
    bool has = false;
    udpai_config_visit_differences(self->before, self->plan->bootstrap.message, look_for_sources,
                                   &has);
    return has;
}

static udpa_err
prepare(reload *self, udpa_error **ret_error)
{
    const udpai_configuration_env *env = self->env;
    udpa_err err =
        udpai_store_keys_read(&self->keys, self->plan->bootstrap.message->store, ret_error);
    if (err == UDPA_OK)
        err =
            udpai_directories_prepare(env->directories, self->plan, &self->directories, ret_error);
    if (err == UDPA_OK && has_other_sources(self))
        err = prepare_sources(self, ret_error);
    if (err == UDPA_OK)
        err = udpai_sockets_prepare(env->sockets, self->plan, &self->sockets, ret_error);
    if (err == UDPA_OK)
        err = udpai_writers_prepare(env->writers, self->plan, &self->writers, ret_error);
    return err;
}

static size_t
n_withdrawn(const reload *self)
{
    size_t n = self->node ? udpai_node_next_facts_of(self->node)->n_withdrawn : 0;
    return n + udpai_directories_facts_of(self->directories)->n_withdrawn;
}

static udpa_err
check_withdrawal(const reload *self, udpa_error **ret_error)
{
    udpai_node *node = udpai_endpoint_node(self->env->endpoint);
    size_t n = n_withdrawn(self);
    size_t n_all = udpai_store_n_contributions(udpai_node_store(node));
    unsigned most = self->plan->settings.node.store.max_withdrawal;
    most = most ? most : MAX_WITHDRAWAL;
    if (self->request->is_forced || !udpai_absence_is_too_much(n, n_all, most))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_PRECONDITION,
        "%s: %zu of %zu resources would be withdrawn, which is more than %u %% "
        "(limits.max_withdrawal): 'udpactl reload --force' takes it over all the same",
        self->env->options->config_file, n, n_all, most);
}

/* Of those that others have opened here. */
static udpa_err
check_ended(const reload *self, udpa_error **ret_error)
{
    uint64_t n = udpai_sockets_facts_of(self->sockets)->n_ended,
             n_all = udpai_endpoint_stream_counts(self->env->endpoint).n_served;
    if (self->request->is_forced || n * 100 <= n_all * MAX_ENDED)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "%s: %" PRIu64 " of %" PRIu64 " streams would be ended, since their sockets "
                      "go or have other settings, which is more than %d %%: 'udpactl reload "
                      "--force' takes it over all the same",
                      self->env->options->config_file, n, n_all, MAX_ENDED);
}

static udpa_err
prepare_all(reload *self, udpa_error **ret_error)
{
    udpa_err err = read_file(self, ret_error);
    if (err == UDPA_OK)
        err = make_plan(self, ret_error);
    if (err == UDPA_OK)
        err = prepare(self, ret_error);
    if (err == UDPA_OK)
        err = check_withdrawal(self, ret_error);
    if (err == UDPA_OK)
        err = check_ended(self, ret_error);
    if (err != UDPA_OK || self->request->is_dry_run)
        return err; /* the next ones make files */
    err = udpai_audit_output_prepare(self->plan, plan_before(self), &self->audit, ret_error);
    return err == UDPA_OK ? udpai_log_prepare(&self->log, &self->plan->log_target, ret_error) : err;
}

/* ---- what cannot ---- */

static bool
has_other(const ProtobufCMessage *before, const ProtobufCMessage *now)
{
    return now && !udpai_config_is_same(before, now);
}

static const ProtobufCMessage *
rules_of(const bootstrap_message *message)
{
    return message->acl ? &message->acl->base : NULL;
}

static void
log_rules(const reload *self, bool has_other_rules)
{
    const char *file = self->env->options->config_file;
    const Udpa__Config__V1__Acl *acl = self->plan->bootstrap.message->acl;
    if (acl && has_other_rules)
        udpai_log_about(UDPA_LOG_INFO, LOG, UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(file)}),
                        "%s: reloaded, %zu rules are effective now%s", file, acl->n_rules,
                        udpai_tunables_follower_is_dry_run(self->env->follower) ? ", in a dry run"
                                                                                : "");
    else if (acl)
        udpai_log_about(UDPA_LOG_INFO, LOG, UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(file)}),
                        "%s: reloaded, the rules are unchanged", file);
}

/* What was rejected for its signature is reported again. */
static void
take_signatures(const reload *self)
{
    const udpai_configuration_env *env = self->env;
    const Udpa__Config__V1__Signatures *from = self->plan->bootstrap.message->signatures;
    udpai_keyring *keyring = self->plan->settings.node.keyring;
    const char *file = env->options->config_file;
    if (!keyring)
        return;
    udpai_endpoint_set_keyring(env->endpoint, keyring);
    udpai_readers_set_keyring(env->readers, keyring);
    udpai_directories_report_again(env->directories);
    udpai_log_about(UDPA_LOG_INFO, LOG, UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(file)}),
                    "%s: reloaded, %zu keys sign now, and %zu more are trusted", file, from->n_keys,
                    from->n_trusted);
}

static udpa_err
take_store_keys(const reload *self)
{
    udpa_err err = udpai_replicas_set_keys(self->env->replicas, &self->keys);
    if (err == UDPA_OK && self->env->engine)
        udpai_sqlite_set_sealer(self->env->engine, &self->keys);
    return err;
}

/* Sources that come by resources are not reached at the node's own sockets. */
static void
take_sockets(reload *self)
{
    const udpai_configuration_env *env = self->env;
    if (!self->sockets)
        return;
    udpai_sockets_take(env->sockets, UDPAI_TAKE(self->sockets), self->plan->drain_time_ms);
    if (udpai_sockets_note(env->sockets, env->plan) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, LOG,
                  "sources that resources define may be this node itself: out of memory");
}

/* What needs memory goes first; if there is none nothing has changed. */
static udpa_err
commit(reload *self)
{
    const udpai_configuration_env *env = self->env;
    const bootstrap_message *now = self->plan->bootstrap.message;
    bool has_other_rules = has_other(rules_of(self->before), rules_of(now));
    udpa_err err = take_store_keys(self);
    if (err == UDPA_OK)
        err = udpai_tunables_follower_take_plan(env->follower, self->plan, has_other_rules);
    if (err != UDPA_OK)
        return err;
    log_rules(self, has_other_rules);
    udpai_log_take(UDPAI_TAKE(self->log));
    if (self->node) /* before it is given directories of its sources */
        udpai_node_take(UDPAI_TAKE(self->node));
    udpai_directories_take(env->directories, UDPAI_TAKE(self->directories));
    udpai_directories_set_plan(env->directories, self->plan);
    take_sockets(self);
    udpai_writers_take(UDPAI_TAKE(self->writers));
    udpai_daemon_storage_take_plan(env->storage, self->plan, UDPAI_TAKE(self->audit));
    take_signatures(self);
    udpai_replicas_note_rules(env->replicas, env->plan, now, self->plan->settings.node.keyring);
    udpai_workers_take_bootstrap(env->workers, self->packed);
    udpai_effective_take(env->effective, UDPAI_TAKE(self->plan), &self->read,
                         UDPAI_TAKE(self->restart));
    udpai_endpoint_touch(env->endpoint);
    return UDPA_OK;
}

/* ---- what came of it ---- */

/* In the log once, and in the status until it is fixed. */
static void
put_into_status(const reload *self, const char *text, udpa_log_level level)
{
    udpai_problems *problems = self->env->problems;
    if (text && !udpai_problems_has(problems, UDPAI_FOUND_IN_BOOTSTRAP, text))
        udpai_log(level, LOG, "%s", text);
    udpai_problems_set(problems, UDPAI_FOUND_IN_BOOTSTRAP, &text, text != NULL);
}

static void
note_rejection(const reload *self, udpa_err err, const udpa_error *error)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "the configuration stays as it was: %s",
                        error ? udpa_error_message(error) : udpa_err_text(err));
    UDPAI_AUTO_FREE char *complaint = udpai_strbuf_take(&text);
    const char *shown = complaint ? complaint : "the configuration stays as it was: out of memory";
    udpai_effective_reject(self->env->effective, &self->read);
    put_into_status(self, shown, UDPA_LOG_ERROR);
    udpai_endpoint_note_about(
        self->env->endpoint, UDPAI_NOTE_RELOAD_FAILED, UDPA_LOG_ERROR,
        UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(self->env->options->config_file)},
                    {UDPAI_LOG_CODE, udpai_log_code_of(err)}),
        "not reloaded: %s", shown);
}

/* What has changed, and this process cannot take over, stays in the status until there is a
 * restart, or it is as it was. */
static void
note_success(const reload *self)
{
    const char *file = self->env->options->config_file, *restart = self->env->effective->restart;
    udpai_strbuf text = {0};
    if (restart)
        udpai_strbuf_printf(&text,
                            "%s has changed, and it takes a restart until this is effective: %s",
                            file, restart);
    UDPAI_AUTO_FREE char *complaint = restart ? udpai_strbuf_take(&text) : NULL;
    put_into_status(self, complaint, UDPA_LOG_WARNING);
    udpai_endpoint_note_about(self->env->endpoint, UDPAI_NOTE_RELOADED, UDPA_LOG_INFO,
                              UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(file)}), "reloaded: %s",
                              file);
}

/* ---- the report ---- */

struct list {
    udpai_strbuf *text;
    size_t n;
};

static void
put_path(void *userdata, const char *path)
{
    struct list *list = userdata;
    udpai_strbuf_puts(list->text, list->n++ ? ", " : "");
    udpai_json_put_string(list->text, udpai_str_from(path));
}

static void
put_change(struct list *list, const char *key, const char *name, const char *change)
{
    udpai_strbuf_printf(list->text, "%s\n {\"%s\": ", list->n++ ? "," : "", key);
    udpai_json_put_string(list->text, udpai_str_from(name));
    udpai_strbuf_printf(list->text, ", \"change\": \"%s\"}", change);
}

static void
put_directory(void *userdata, const char *path, const char *change)
{
    put_change(userdata, "path", path, change);
}

static void
put_socket(void *userdata, const char *address, const char *change)
{
    put_change(userdata, "address", address, change);
}

static void
put_source(void *userdata, const char *name, const char *change)
{
    put_change(userdata, "name", name, change);
}

/* Before it is committed. */
static void
put_report(const reload *self)
{
    udpai_strbuf *text = self->request->report;
    const udpai_configuration_env *env = self->env;
    struct list changes = {.text = text}, restart = {.text = text}, directories = {.text = text},
                sources = {.text = text}, sockets = {.text = text};
    const bootstrap_message *now = self->plan->bootstrap.message;
    size_t n_all =
        udpai_store_n_contributions(udpai_node_store(udpai_endpoint_node(env->endpoint)));
    udpai_strbuf_printf(text, "{\"dry_run\": %s,\n\"changes\": [",
                        self->request->is_dry_run ? "true" : "false");
    udpai_config_visit_differences(self->before, now, put_path, &changes);
    udpai_strbuf_puts(text, "],\n\"restart\": [");
    udpai_config_visit_differences(now, self->read.message, put_path, &restart);
    udpai_strbuf_puts(text, "],\n\"directories\": [");
    udpai_directories_visit(self->directories, put_directory, &directories);
    udpai_strbuf_puts(text, "],\n\"sources\": [");
    udpai_source_changes_visit(self->before, now, put_source, &sources);
    udpai_strbuf_puts(text, "],\n\"sockets\": [");
    udpai_sockets_visit(self->sockets, put_socket, &sockets);
    const udpai_stream_counts streams = udpai_endpoint_stream_counts(env->endpoint);
    udpai_strbuf_printf(text, "],\n\"withdrawn\": %zu,\n\"resources\": %zu,\n", n_withdrawn(self),
                        n_all);
    udpai_strbuf_printf(
        text,
        "\"ended_streams\": %zu,\n\"streams\": %" PRIu64 ",\n\"client_streams\": %" PRIu64 "}\n",
        udpai_sockets_facts_of(self->sockets)->n_ended, streams.n_served, streams.n_clients);
}

/* ---- all of it ---- */

static void
reload_done(reload *self)
{
    udpai_audit_output_leave(self->audit);
    udpai_writers_leave(self->writers);
    udpai_sockets_leave(self->sockets);
    udpai_node_leave(self->node);
    udpai_free(self->sources);
    udpai_directories_leave(self->env->directories, self->directories);
    udpai_log_leave(self->log);
    udpai_sealer_done(&self->keys);
    udpai_plan_free(self->plan);
    udpa_bytes_unref(self->packed);
    udpai_free(self->restart);
    udpai_bootstrap_done(&self->read);
}

udpa_err
udpai_configuration_reload(const udpai_configuration_env *env,
                           const udpai_configuration_request *request,
                           udpa_error **ret_error)
{
    reload self = {.env = env, .request = request};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = prepare_all(&self, &error);
    if (err == UDPA_OK && request->report)
        put_report(&self);
    if (err == UDPA_OK && !request->is_dry_run)
        err = udpai_fail_code(&error, commit(&self));
    if (!request->is_dry_run && err == UDPA_OK)
        note_success(&self);
    if (!request->is_dry_run && err != UDPA_OK)
        note_rejection(&self, err, error);
    reload_done(&self);
    if (err != UDPA_OK)
        *ret_error = UDPAI_TAKE(error);
    return err;
}
