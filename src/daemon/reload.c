/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reload.h"

#include "base/alloc.h"
#include "base/log.h"
#include "loop/clock.h"

#define LOG "daemon"
#define BOOTSTRAP_GROUP 0
#define FIRST_GROUP 1 /* of the users of certificates */
#define LOOK_MS 3600000

struct udpai_reload {
    udpai_reload_env env;
    udpai_certificates certificates;
    udpai_file_set *files;
    uv_timer_t hourly; /* certificates end, too */
    bool is_over;      /* of the bootstrap file */
    bool is_held;      /* the same, for a while */
};

static void
note_reload(const udpai_reload *self, const char *what)
{
    udpai_node_audit(udpai_endpoint_node(self->env.configuration.endpoint),
                     &(udpai_audit_record){
                         .action = UDPAI_STR("reload"),
                         .actor = UDPAI_STR(UDPAI_AUDIT_NODE),
                         .is_proven = true,
                         .reason = udpai_str_from(what),
                     });
    udpai_endpoint_touch(self->env.configuration.endpoint);
}

/* ---- files of keys ---- */

/* They are read again with the bootstrap file. */
static udpa_err
watch_signature_keys(udpai_reload *self, const Udpa__Config__V1__Bootstrap *message)
{
    const Udpa__Config__V1__Signatures *from = message->signatures;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; from && i < from->n_keys && err == UDPA_OK; i++)
        err = udpai_file_set_add(self->files, from->keys[i]->private_key_file, BOOTSTRAP_GROUP);
    for (size_t i = 0; from && i < from->n_trusted && err == UDPA_OK; i++)
        err = udpai_file_set_add(self->files, from->trusted[i]->public_key_file, BOOTSTRAP_GROUP);
    return err;
}

static udpa_err
watch_store_keys(udpai_reload *self, const Udpa__Config__V1__Bootstrap *message)
{
    const Udpa__Config__V1__Store *store = message->store;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; store && i < store->n_keys && err == UDPA_OK; i++)
        err = udpai_file_set_add(self->files, store->keys[i]->file, BOOTSTRAP_GROUP);
    return err;
}

/* Of those that another file names, and this one does not, a change is found to be none. */
static udpa_err
watch_keys(udpai_reload *self)
{
    const Udpa__Config__V1__Bootstrap *message =
        udpai_effective_plan(self->env.configuration.effective)->bootstrap.message;
    udpa_err err = watch_signature_keys(self, message);
    return err == UDPA_OK ? watch_store_keys(self, message) : err;
}

/* ---- the bootstrap file ---- */

static void
look(udpai_reload *self)
{
    udpai_certificates_look(&self->certificates, udpai_wall_us() / 1000000);
}

/* The plan has read those of new peers, and nobody knows yet how long they are valid. */
static void
take_certificates(udpai_reload *self)
{
    udpa_err err = udpai_certificate_users_take_plan(&self->env.users, &self->certificates);
    if (err == UDPA_OK)
        err = watch_keys(self);
    if (err == UDPA_OK)
        err = udpai_certificates_watch(&self->certificates, self->files, FIRST_GROUP);
    if (err != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, LOG, "some files of keys are not watched: out of memory");
    for (size_t i = 0; i < self->certificates.users.n; i++)
        if (!self->certificates.users.items[i].is_read)
            (void)udpai_certificates_reload(&self->certificates, i);
    look(self);
}

udpa_err
udpai_reload_configuration(udpai_reload *self,
                           const udpai_configuration_request *request,
                           udpa_error **ret_error)
{
    if (!self->env.configuration.options->config_file)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node was started without a bootstrap file: there is nothing to "
                          "reload");
    if (self->is_over)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node is draining: it takes no bootstrap file over any more");
    if (self->is_held)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "another process is about to take over: it has read the bootstrap file");
    udpa_err err = udpai_configuration_reload(&self->env.configuration, request, ret_error);
    if (err != UDPA_OK || request->is_dry_run)
        return err;
    take_certificates(self);
    note_reload(self, self->env.configuration.options->config_file);
    return UDPA_OK;
}

/* What came of it is in the log. */
static bool
reload_bootstrap(udpai_reload *self)
{
    static const udpai_configuration_request request;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    return udpai_reload_configuration(self, &request, &error) == UDPA_OK;
}

/* ---- certificates ---- */

/* Connected peers are verified again, and the status updated. */
static void
put_into_force(udpai_reload *self)
{
    udpai_stream_thread_verify(udpai_endpoint_streams(self->env.configuration.endpoint));
    udpai_workers_read_certificates(self->env.configuration.workers);
    look(self);
}

static bool
is_watched(const udpai_reload *self)
{
    const udpai_plan *plan = udpai_effective_plan(self->env.configuration.effective);
    return plan->bootstrap.message->reload == UDPA__CONFIG__V1__BOOTSTRAP__RELOAD__WATCH;
}

static bool
on_changed(void *userdata, size_t group)
{
    udpai_reload *self = userdata;
    if (group == BOOTSTRAP_GROUP)
        return self->is_over || !is_watched(self) || (!self->is_held && reload_bootstrap(self));
    size_t index;
    if (!udpai_certificates_find(&self->certificates, group, &index))
        return true; /* of a socket or peer that there was before a reload */
    bool is_read = udpai_certificates_reload(&self->certificates, index);
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
    udpai_problems_set(self->env.configuration.problems, UDPAI_FOUND_IN_BOOTSTRAP, NULL, 0);
    udpai_certificates_report_again(&self->certificates);
}

void
udpai_reload_all(udpai_reload *self)
{
    size_t n = self->certificates.users.n;
    if (self->is_over) {
        udpai_log(UDPA_LOG_INFO, LOG, "SIGHUP: ignored: this node is draining");
        return;
    }
    if (self->is_held) {
        udpai_log(UDPA_LOG_WARNING, LOG, "SIGHUP: not while another process takes over");
        return;
    }
    udpai_file_set_forget(self->files);
    report_again(self);
    if (self->env.configuration.options->config_file)
        (void)reload_bootstrap(self);
    size_t n_read = reload_certificates(self);
    if (n_read)
        note_reload(self, "certificates");
    udpai_replicas_reload_password(self->env.configuration.replicas);
    if (n == 0)
        udpai_log(UDPA_LOG_INFO, LOG,
                  "SIGHUP: no socket or source has certificates that could be reloaded");
    else if (n_read == n)
        udpai_log(UDPA_LOG_INFO, LOG, "reloaded: certificates of sockets and sources");
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

static udpa_err
watch(udpai_reload *self, udpa_error **ret_error)
{
    const udpai_file_set_options options = {
        .loop = self->env.loop, .changed = on_changed, .userdata = self};
    udpa_err err = udpai_file_set_new(&self->files, &options, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(
            ret_error, udpai_file_set_add(self->files, self->env.configuration.options->config_file,
                                          BOOTSTRAP_GROUP));
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, watch_keys(self));
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
    self->certificates.problems = env->configuration.problems;
    uv_timer_init(env->loop, &self->hourly); /* cannot fail */
    self->hourly.data = self;
    *ret_reload = self;
    udpa_err err = udpai_fail_code(
        ret_error, udpai_certificate_users_add(&self->env.users, &self->certificates));
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
    udpai_free(self);
}

void
udpai_reload_end(udpai_reload *self)
{
    if (self)
        self->is_over = true;
}

void
udpai_reload_hold(udpai_reload *self, bool is_held)
{
    if (self)
        self->is_held = is_held;
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
