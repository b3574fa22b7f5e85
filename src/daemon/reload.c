/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reload.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "daemon/acl_reload.h"
#include "daemon/bootstrap_check.h"
#include "daemon/dynamic_sources.h"
#include "daemon/mesh.h"
#include "daemon/restart_needed.h"
#include "daemon/signatures_reload.h"
#include "daemon/store_keys.h"
#include "endpoint/note.h"
#include "loop/clock.h"
#include "storage/sqlite.h"
#include "transport/http/curl_client.h"

#define LOG "daemon"
#define BOOTSTRAP_GROUP 0
#define FIRST_GROUP 1 /* of the users of certificates */
#define LOOK_MS 3600000

struct udpai_reload {
    udpai_reload_env env;
    udpai_certificates certificates;
    udpai_file_set *files;
    udpa_bytes *acl;        /* that is in force; NULL: the plan's */
    udpai_keyring *keyring; /* the same */
    uv_timer_t hourly;      /* certificates end, too */
};

/* ---- users of certificates ---- */

static udpa_err
replace_socket(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    return udpai_server_tls_replace(self->env.tls[index], files, ret_error);
}

static udpa_err
replace_http(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    return udpai_rest_replace_tls(self->env.rest, index, files, ret_error);
}

static udpa_err
replace_admin(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    return udpai_rest_replace_tls(self->env.admin, index, files, ret_error);
}

static udpa_err
replace_dialled(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    const udpai_plan_dialled *dialled = &self->env.plan->dialled.items[index];
    return dialled->client ? udpai_curl_client_replace_tls(dialled->client, files, ret_error)
                           : udpai_grpc_target_replace_tls(dialled->target, files, ret_error);
}

/* Sources that come by resources: the credential lasts, they need not. */
static udpa_err
replace_credential(void *userdata,
                   size_t index,
                   const udpai_tls_files *files,
                   udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    return udpai_dynamic_sources_replace_tls(self->env.plan, index, files, ret_error);
}

static udpa_err
replace_store(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    (void)index;
    return udpai_replicas_replace_tls(self->env.replicas, files, ret_error);
}

static udpa_err
add_store(udpai_reload *self)
{
    const udpai_certificate_user store = {
        .kind = "store",
        .name = "etcd",
        .client = self->env.plan->bootstrap.message->store->tls,
        .replace = replace_store,
        .userdata = self,
    };
    return udpai_certificates_add(&self->certificates, &store);
}

static udpa_err
replace_collector(void *userdata,
                  size_t index,
                  const udpai_tls_files *files,
                  udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    (void)index;
    return udpai_otlp_exporter_replace_tls(self->env.exporter, files, ret_error);
}

static udpa_err
add_collector(udpai_reload *self)
{
    const udpai_certificate_user collector = {
        .kind = "traces",
        .name = "collector",
        .client = self->env.plan->bootstrap.message->traces->tls,
        .replace = replace_collector,
        .userdata = self,
    };
    return udpai_certificates_add(&self->certificates, &collector);
}

static udpa_err
replace_mesh(void *userdata, size_t index, const udpai_tls_files *files, udpa_error **ret_error)
{
    const udpai_reload *self = userdata;
    (void)index;
    return udpai_daemon_mesh_replace_tls(self->env.plan, files, ret_error);
}

static udpa_err
add_mesh(udpai_reload *self)
{
    const udpai_certificate_user mesh = {
        .kind = "store",
        .name = "replicas",
        .client = udpai_daemon_mesh_tls(self->env.plan),
        .replace = replace_mesh,
        .userdata = self,
    };
    return mesh.client ? udpai_certificates_add(&self->certificates, &mesh) : UDPA_OK;
}

static udpa_err
add_credentials(udpai_reload *self)
{
    const Udpa__Config__V1__DynamicSources *all =
        self->env.plan->bootstrap.message->dynamic_sources;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; all && i < all->n_credentials && err == UDPA_OK; i++)
        err = udpai_certificates_add(&self->certificates, &(udpai_certificate_user){
                                                              .kind = "credential",
                                                              .name = all->credentials[i]->name,
                                                              .client = all->credentials[i]->tls,
                                                              .replace = replace_credential,
                                                              .userdata = self,
                                                              .index = i,
                                                          });
    return err;
}

static udpa_err
add_sockets(udpai_reload *self,
            const udpai_plan_socket *sockets,
            size_t n,
            const udpai_certificate_user *like)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        udpai_certificate_user user = *like;
        user.name = sockets[i].address;
        user.server = sockets[i].tls;
        user.userdata = self;
        user.index = i;
        if (user.server)
            err = udpai_certificates_add(&self->certificates, &user);
    }
    return err;
}

static udpa_err
add_dialled(udpai_reload *self)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < self->env.plan->dialled.n && err == UDPA_OK; i++) {
        const udpai_plan_dialled *dialled = &self->env.plan->dialled.items[i];
        err = udpai_certificates_add(&self->certificates, &(udpai_certificate_user){
                                                              .kind = dialled->kind,
                                                              .name = dialled->name,
                                                              .client = dialled->tls,
                                                              .replace = replace_dialled,
                                                              .userdata = self,
                                                              .index = i,
                                                          });
    }
    return err;
}

static udpa_err
add_users(udpai_reload *self)
{
    const udpai_plan *plan = self->env.plan;
    const udpai_certificate_user socket = {.kind = "socket", .replace = replace_socket},
                                 http = {.kind = "HTTP socket", .replace = replace_http},
                                 admin = {.kind = "admin socket", .replace = replace_admin};
    udpa_err err = add_sockets(self, plan->sockets.items, plan->sockets.n, &socket);
    if (err == UDPA_OK && self->env.rest)
        err = add_sockets(self, plan->http_sockets.items, plan->http_sockets.n, &http);
    if (err == UDPA_OK && self->env.admin)
        err = add_sockets(self, plan->admin_sockets.items, plan->admin_sockets.n, &admin);
    if (err == UDPA_OK)
        err = add_dialled(self);
    if (err == UDPA_OK && self->env.replicas && plan->etcd.tls)
        err = add_store(self);
    if (err == UDPA_OK && self->env.replicas)
        err = add_mesh(self);
    if (err == UDPA_OK && self->env.exporter && plan->traces.tls)
        err = add_collector(self);
    return err == UDPA_OK ? add_credentials(self) : err;
}

/* ---- reading again ---- */

/* Of what was found the first error, and how many there are. */
typedef struct first_error {
    const udpa_error *error;
    size_t n;
} first_error;

static void
on_finding(const udpa_error *error, bool is_warning, void *userdata)
{
    first_error *self = userdata;
    if (is_warning) {
        udpai_log(UDPA_LOG_WARNING, LOG, "%s", udpa_error_message(error));
        return;
    }
    if (self->n++ == 0)
        self->error = error;
}

/* One error has its place, and of others how many there are. @p error: what there is besides. */
static udpa_err
sum_up(const udpai_reload_env *env,
       udpai_diagnostics *diagnostics,
       udpa_err err,
       udpa_error **ret_error)
{
    first_error first = {0};
    char more[80] = "";
    udpai_diagnostics_report(diagnostics, on_finding, &first);
    if (err == UDPA_OK && (first.n || diagnostics->has_failed))
        err = first.n ? UDPA_ERR_INVAL : UDPA_ERR_NOMEM;
    if (err == UDPA_OK || *ret_error)
        return err;
    if (!first.error)
        return udpai_fail(ret_error, err, "%s: %s", env->config_file, udpa_err_text(err));
    if (first.n > 1)
        snprintf(more, sizeof(more), " (and %zu more: udpad --check lists them)", first.n - 1);
    return udpai_fail(ret_error, err, "%s%s", udpa_error_message(first.error), more);
}

static udpa_err
read_bootstrap(const udpai_reload_env *env, udpai_bootstrap *bootstrap, udpa_error **ret_error)
{
    udpai_diagnostics diagnostics = {0};
    udpa_err err =
        udpai_bootstrap_read(bootstrap, env->schema, env->config_file, &diagnostics, ret_error);
    if (err == UDPA_OK)
        udpai_bootstrap_check(bootstrap->message, &diagnostics);
    err = sum_up(env, &diagnostics, err, ret_error);
    udpai_diagnostics_done(&diagnostics);
    return err;
}

/* What is wrong with the file, until it is fixed: in the log once, and in the status. */
typedef struct complaints {
    const udpai_problems *before; /* what was wrong when it was read the last time */
    const char *file;
    char *texts[4];
    size_t n;
} complaints;

static bool
is_taken(complaints *self, udpa_err err, const char *what, const udpa_error *error)
{
    udpai_strbuf text = {0};
    if (err == UDPA_OK)
        return true;
    udpai_strbuf_printf(&text, "%s stay as they were: %s", what,
                        error ? udpa_error_message(error) : udpa_err_text(err));
    char *complaint = udpai_strbuf_take(&text);
    if (!complaint || !udpai_problems_has(self->before, UDPAI_FOUND_IN_BOOTSTRAP, complaint))
        udpai_log(UDPA_LOG_ERROR, LOG, "%s", complaint ? complaint : "out of memory");
    udpai_endpoint_note_about(self->before->endpoint, UDPAI_NOTE_RELOAD_FAILED, UDPA_LOG_ERROR,
                              UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(self->file)},
                                          {UDPAI_LOG_CODE, udpai_log_code_of(err)}),
                              "not reloaded: %s", complaint ? complaint : "out of memory");
    if (complaint)
        self->texts[self->n++] = complaint;
    return false;
}

/* What was changed, and this process cannot take over: reported when it is read, and in the status
 * until there is a restart, or it is as it was. */
static void
note_restart(complaints *self,
             const char *file,
             const Udpa__Config__V1__Bootstrap *started_with,
             const Udpa__Config__V1__Bootstrap *read)
{
    udpai_strbuf text = {0};
    char *names = udpai_restart_needed_for(started_with, read);
    if (!names)
        return;
    udpai_strbuf_printf(&text, "%s has changed, and it takes a restart until this is effective: %s",
                        file, names);
    udpai_free(names);
    char *complaint = udpai_strbuf_take(&text);
    if (!complaint)
        return;
    if (!udpai_problems_has(self->before, UDPAI_FOUND_IN_BOOTSTRAP, complaint))
        udpai_log(UDPA_LOG_WARNING, LOG, "%s", complaint);
    self->texts[self->n++] = complaint;
}

static void
put_into_status(udpai_reload *self, complaints *all)
{
    udpai_problems_set(self->env.problems, UDPAI_FOUND_IN_BOOTSTRAP,
                       (const char *const *)all->texts, all->n);
    while (all->n)
        udpai_free(all->texts[--all->n]);
}

static bool
take_rules(udpai_reload *self, const Udpa__Config__V1__Bootstrap *message, complaints *all)
{
    const udpai_reload_target target = {self->env.endpoint, self->env.plan, self->env.config_file,
                                        self->env.follower, self->env.readers};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_acl_reload(&target, message->acl, &self->acl, &error);
    return is_taken(all, err, "the rules", error);
}

/* What was rejected for its signature is reported again. */
static bool
take_signatures(udpai_reload *self, const Udpa__Config__V1__Bootstrap *message, complaints *all)
{
    const udpai_reload_target target = {self->env.endpoint, self->env.plan, self->env.config_file,
                                        self->env.follower, self->env.readers};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_keyring *keyring = NULL;
    udpa_err err = udpai_signatures_reload(&target, message, &keyring, &error);
    if (keyring) {
        udpai_keyring_unref(self->keyring);
        self->keyring = keyring;
        udpai_directories_report_again(self->env.directories);
    }
    return is_taken(all, err, "the keys of signatures", error);
}

/* Whether they have changed is for those who use them. */
static bool
take_store_keys(const udpai_reload *self,
                const Udpa__Config__V1__Bootstrap *message,
                complaints *all)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_sealer keys;
    udpa_err err = udpai_store_keys_read(&keys, message->store, &error);
    if (err == UDPA_OK)
        err = udpai_replicas_set_keys(self->env.replicas, &keys);
    if (err == UDPA_OK && self->env.engine)
        udpai_sqlite_set_sealer(self->env.engine, &keys);
    udpai_sealer_done(&keys);
    return is_taken(all, err, "the keys of the store", error);
}

static void
note_reload(const udpai_reload *self, const char *what)
{
    udpai_node_audit(udpai_endpoint_node(self->env.endpoint),
                     &(udpai_audit_record){
                         .action = UDPAI_STR("reload"),
                         .actor = UDPAI_STR(UDPAI_AUDIT_NODE),
                         .is_proven = true,
                         .reason = udpai_str_from(what),
                     });
    udpai_endpoint_touch(self->env.endpoint);
}

static bool
reload_bootstrap(udpai_reload *self)
{
    udpai_bootstrap bootstrap = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    complaints all = {.before = self->env.problems, .file = self->env.config_file};
    const char *what = self->env.plan->bootstrap.message->signatures
                           ? "the rules and the keys of signatures"
                           : "the rules";
    udpa_err err = read_bootstrap(&self->env, &bootstrap, &error);
    bool is_read = is_taken(&all, err, what, error);
    unsigned taken = 0;
    if (is_read) {
        taken |= take_rules(self, bootstrap.message, &all) ? UDPAI_EFFECTIVE_ACL : 0;
        taken |= take_signatures(self, bootstrap.message, &all) ? UDPAI_EFFECTIVE_SIGNATURES : 0;
        is_read = taken == (UDPAI_EFFECTIVE_ACL | UDPAI_EFFECTIVE_SIGNATURES);
        if (is_read)
            udpai_replicas_note_rules(self->env.replicas, self->env.plan, bootstrap.message,
                                      self->keyring ? self->keyring
                                                    : self->env.plan->settings.node.keyring);
        taken |= take_store_keys(self, bootstrap.message, &all) ? UDPAI_EFFECTIVE_STORE_KEYS : 0;
        is_read = taken == UDPAI_EFFECTIVE_ALL;
        note_restart(&all, self->env.config_file, self->env.plan->bootstrap.message,
                     bootstrap.message);
    }
    if (is_read)
        udpai_endpoint_note_about(
            self->env.endpoint, UDPAI_NOTE_RELOADED, UDPA_LOG_INFO,
            UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(self->env.config_file)}),
            "reloaded: %s of %s", what, self->env.config_file);
    put_into_status(self, &all);
    udpai_effective_note(self->env.effective, &bootstrap, taken);
    udpai_bootstrap_done(&bootstrap);
    if (is_read)
        note_reload(self, self->env.config_file);
    return is_read;
}

static void
look(udpai_reload *self)
{
    udpai_certificates_look(&self->certificates, udpai_wall_us() / 1000000);
}

/* Connected peers are verified again, and the status updated. */
static void
put_into_force(udpai_reload *self)
{
    udpai_stream_thread_verify(udpai_endpoint_streams(self->env.endpoint));
    udpai_workers_read_certificates(self->env.workers);
    look(self);
}

static bool
on_changed(void *userdata, size_t group)
{
    udpai_reload *self = userdata;
    if (group == BOOTSTRAP_GROUP)
        return reload_bootstrap(self);
    bool is_read = udpai_certificates_reload(&self->certificates, group - FIRST_GROUP);
    if (is_read) {
        put_into_force(self);
        note_reload(self, "certificates");
    } else {
        look(self);
    }
    return is_read;
}

static size_t
reload_certificates(udpai_reload *self)
{
    size_t n_read = 0;
    for (size_t i = 0; i < self->certificates.users.n; i++)
        n_read += udpai_certificates_reload(&self->certificates, i);
    put_into_force(self);
    return n_read;
}

/* On request: what is wrong is reported once more. */
static void
report_again(udpai_reload *self)
{
    udpai_problems_set(self->env.problems, UDPAI_FOUND_IN_BOOTSTRAP, NULL, 0);
    udpai_certificates_report_again(&self->certificates);
}

void
udpai_reload_all(udpai_reload *self)
{
    static const char rest[] = "everything but these, the rules and the keys of signatures "
                               "and of the store takes a restart";
    size_t n = self->certificates.users.n;
    udpai_file_set_forget(self->files);
    report_again(self);
    if (self->env.config_file)
        (void)reload_bootstrap(self);
    size_t n_read = reload_certificates(self);
    if (n_read)
        note_reload(self, "certificates");
    udpai_replicas_reload_password(self->env.replicas);
    if (n == 0)
        udpai_log(UDPA_LOG_INFO, LOG,
                  "SIGHUP: no socket or source has certificates that could be reloaded; %s", rest);
    else if (n_read == n)
        udpai_log(UDPA_LOG_INFO, LOG, "reloaded: certificates of sockets and sources; %s", rest);
    else
        udpai_log(UDPA_LOG_ERROR, LOG, "reloaded: certificates of %zu of %zu sockets and sources",
                  n_read, n);
}

/* ---- its life ---- */

static void
on_hour(uv_timer_t *timer)
{
    look(timer->data);
}

/* They are read again with the bootstrap file. */
static udpa_err
watch_signature_keys(udpai_reload *self)
{
    const Udpa__Config__V1__Signatures *from = self->env.plan->bootstrap.message->signatures;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; from && i < from->n_keys && err == UDPA_OK; i++)
        err = udpai_file_set_add(self->files, from->keys[i]->private_key_file, BOOTSTRAP_GROUP);
    for (size_t i = 0; from && i < from->n_trusted && err == UDPA_OK; i++)
        err = udpai_file_set_add(self->files, from->trusted[i]->public_key_file, BOOTSTRAP_GROUP);
    return err;
}

static udpa_err
watch_store_keys(udpai_reload *self)
{
    const Udpa__Config__V1__Store *store = self->env.plan->bootstrap.message->store;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; store && i < store->n_keys && err == UDPA_OK; i++)
        err = udpai_file_set_add(self->files, store->keys[i]->file, BOOTSTRAP_GROUP);
    return err;
}

static udpa_err
watch(udpai_reload *self, udpa_error **ret_error)
{
    const udpai_file_set_options options = {
        .loop = self->env.loop, .changed = on_changed, .userdata = self};
    udpa_err err = udpai_file_set_new(&self->files, &options, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(
            ret_error, udpai_file_set_add(self->files, self->env.config_file, BOOTSTRAP_GROUP));
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, watch_signature_keys(self));
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, watch_store_keys(self));
    if (err == UDPA_OK)
        err = udpai_fail_code(
            ret_error, udpai_certificates_watch(&self->certificates, self->files, FIRST_GROUP));
    return err;
}

/* Changes after the first look are noticed; so all is read once more behind it. */
udpa_err
udpai_reload_open(udpai_reload **ret_reload, const udpai_reload_env *env, udpa_error **ret_error)
{
    udpai_reload *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->env = *env;
    self->certificates.problems = env->problems;
    uv_timer_init(env->loop, &self->hourly); /* cannot fail */
    self->hourly.data = self;
    *ret_reload = self;
    udpa_err err = udpai_fail_code(ret_error, add_users(self));
    if (err == UDPA_OK)
        err = watch(self, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_file_set_start(self->files);
    (void)reload_certificates(self);
    uv_timer_start(&self->hourly, on_hour, LOOK_MS, LOOK_MS);
    return UDPA_OK;
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_reload *self = handle->data;
    udpai_certificates_done(&self->certificates);
    udpa_bytes_unref(self->acl);
    udpai_keyring_unref(self->keyring);
    udpai_free(self);
}

const udpai_certificates *
udpai_reload_certificates(const udpai_reload *reload)
{
    return &reload->certificates;
}

void
udpai_reload_close(udpai_reload *self)
{
    if (!self)
        return;
    udpai_file_set_close(self->files);
    uv_close((uv_handle_t *)&self->hourly, on_closed);
}
