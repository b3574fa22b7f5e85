/* SPDX-License-Identifier: Apache-2.0 */
/* Something changed -> a quiet moment -> children are followed -> a job on the pool. While one is
 * under way `job` is the pool's. */
#include "transport/file/writer.h"

#include "base/log.h"
#include "model/types.h"
#include "transport/file/topic.h"

struct udpai_file_writer {
    uv_loop_t *loop;
    udpai_file_writer_ops ops;
    udpai_schema *schema;
    udpai_validator *validator; /* of its types */
    char *directory;
    udpai_format format;
    uint64_t quiet_ms, patience_ms, retry_ms;
    uint64_t delay_ms; /* before the next try; 0: the last one was good */
    udpai_file_topic *topics;
    size_t n_topics;

    uv_timer_t quiet, patience;
    bool is_impatient;
    uv_work_t work;
    bool is_working, is_again;
    udpai_write_job job;
    udpa_error *problem;
    udpai_log_limit log_limit;

    unsigned n_open; /* what keeps a closing writer */
    bool is_closing;
    void (*closed)(void *userdata);
    void *closed_userdata;
};

static void on_quiet(uv_timer_t *timer);

static void
touch(udpai_file_writer *self, uint64_t delay_ms)
{
    if (!self->is_closing && !uv_is_active((uv_handle_t *)&self->quiet))
        uv_timer_start(&self->quiet, on_quiet, delay_ms, 0);
}

static void
on_changed(void *userdata)
{
    udpai_file_writer *self = userdata;
    touch(self, self->quiet_ms);
}

/* ---- working ---- */

static void
on_work(uv_work_t *work)
{
    udpai_write_job_run(&UDPAI_CONTAINER_OF(work, udpai_file_writer, work)->job);
}

static void
note_problem(udpai_file_writer *self, udpa_error *error)
{
    unsigned n_suppressed;
    bool is_news =
        !error != !self->problem ||
        (error && strcmp(udpa_error_message(error), udpa_error_message(self->problem)) != 0);
    if (error && udpai_log_allow(&self->log_limit, uv_now(self->loop), &n_suppressed))
        udpai_log(UDPA_LOG_ERROR, "file", "%s (tried again in %llu ms; %u more not shown)",
                  udpa_error_message(error), (unsigned long long)self->delay_ms, n_suppressed);
    else if (!error && self->problem)
        udpai_log(UDPA_LOG_INFO, "file", "%s: files can be written again", self->directory);
    udpa_error_unref(self->problem);
    self->problem = error;
    if (is_news && self->ops.problem_changed)
        self->ops.problem_changed(self->ops.userdata);
}

static void let_go(udpai_file_writer *self);

static void
take_outcome(udpai_file_writer *self)
{
    udpa_error *error = UDPAI_TAKE(self->job.error);
    if (self->job.n_written || self->job.n_removed)
        udpai_log(UDPA_LOG_INFO, "file", "%s: %zu files written, %zu removed", self->directory,
                  self->job.n_written, self->job.n_removed);
    self->delay_ms = !error ? 0 : !self->delay_ms ? self->retry_ms : self->delay_ms * 2;
    if (self->delay_ms > UDPAI_WRITER_RETRY_MAX_MS)
        self->delay_ms = UDPAI_WRITER_RETRY_MAX_MS;
    note_problem(self, error);
}

static void
on_worked(uv_work_t *work, int status)
{
    udpai_file_writer *self = UDPAI_CONTAINER_OF(work, udpai_file_writer, work);
    (void)status;
    self->is_working = false;
    if (!self->is_closing)
        take_outcome(self);
    udpai_write_job_done(&self->job);
    if (self->is_closing)
        let_go(self);
    else if (self->delay_ms)
        touch(self, self->delay_ms);
    else if (self->is_again)
        touch(self, self->quiet_ms);
}

/* ---- what there is to write ---- */

static void
on_impatient(uv_timer_t *timer)
{
    udpai_file_writer *self = UDPAI_CONTAINER_OF(timer, udpai_file_writer, patience);
    self->is_impatient = true;
    touch(self, 0);
}

static udpa_err
subscribe_all(udpai_file_writer *self)
{
    bool has_changed = false;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < self->n_topics && err == UDPA_OK; i++)
        err = self->topics[i].parent ? udpai_file_topic_follow(&self->topics[i], &has_changed)
                                     : udpai_file_topic_subscribe(&self->topics[i], &has_changed);
    if (has_changed && self->ops.node_called)
        self->ops.node_called(self->ops.userdata);
    return err;
}

/* A parent means that what it lacks is not there, so parents wait until that is certain; and until
 * their children are known, but for these not for ever. */
static bool
may_write_parents(udpai_file_writer *self)
{
    bool all_known = true;
    for (size_t i = 0; i < self->n_topics; i++) {
        bool is_known = udpai_file_topic_is_known(&self->topics[i]);
        if (!is_known && !self->topics[i].parent)
            return false;
        all_known = all_known && is_known;
    }
    if (all_known) {
        self->is_impatient = false;
        uv_timer_stop(&self->patience);
    } else if (!self->is_impatient && !uv_is_active((uv_handle_t *)&self->patience)) {
        uv_timer_start(&self->patience, on_impatient, self->patience_ms, 0);
    }
    return all_known || self->is_impatient;
}

static udpa_err
make_job(udpai_file_writer *self)
{
    self->job = (udpai_write_job){
        .directory = self->directory,
        .schema = self->schema,
        .validator = self->validator,
        .format = self->format,
    };
    udpa_err err = subscribe_all(self);
    self->job.has_parents = err == UDPA_OK && may_write_parents(self);
    for (size_t i = 0; i < self->n_topics && err == UDPA_OK; i++)
        err = udpai_file_topic_write(&self->topics[i], &self->job, !self->is_impatient);
    return err;
}

static void
on_quiet(uv_timer_t *timer)
{
    udpai_file_writer *self = UDPAI_CONTAINER_OF(timer, udpai_file_writer, quiet);
    self->is_again = self->is_working;
    if (self->is_working)
        return;
    if (make_job(self) == UDPA_OK &&
        uv_queue_work(self->loop, &self->work, on_work, on_worked) == 0) {
        self->is_working = true;
        return;
    }
    udpai_write_job_done(&self->job);
    touch(self, self->retry_ms); /* there was no memory */
}

/* ---- making ---- */

static udpai_file_topic *
find_topic(udpai_file_writer *self, const char *type_url)
{
    for (size_t i = 0; i < self->n_topics; i++)
        if (strcmp(self->topics[i].type_url, type_url) == 0)
            return &self->topics[i];
    return NULL;
}

/* Without its parent among the types all of a child type is written. */
static void
set_parent(udpai_file_writer *self, const char *child, const char *parent)
{
    udpai_file_topic *topic = find_topic(self, child);
    if (topic)
        topic->parent = find_topic(self, parent);
}

static udpa_err
make_topics(udpai_file_writer *self, udpai_node *node, const udpai_file_writer_options *options)
{
    self->topics = udpai_alloc_array(options->n_types, sizeof(*self->topics));
    udpa_err err = self->topics ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < options->n_types && err == UDPA_OK; i++) {
        udpai_file_topic *topic = &self->topics[self->n_topics++];
        topic->node = node;
        topic->audience = options->audience;
        topic->changed = on_changed;
        topic->userdata = self;
        err = udpai_file_topic_init(topic, options->types[i]);
    }
    if (err == UDPA_OK) {
        set_parent(self, UDPAI_TYPE_ENDPOINTS, UDPAI_TYPE_CLUSTER);
        set_parent(self, UDPAI_TYPE_ROUTES, UDPAI_TYPE_LISTENER);
    }
    return err;
}

static void
free_topics(udpai_file_writer *self)
{
    for (size_t i = 0; i < self->n_topics; i++)
        udpai_file_topic_done(&self->topics[i]);
    self->n_topics = 0;
    udpai_free(self->topics);
    self->topics = NULL;
}

static void
free_writer(udpai_file_writer *self)
{
    free_topics(self); /* not before: a job has texts of theirs */
    udpai_validator_unref(self->validator);
    udpai_schema_unref(self->schema);
    udpa_error_unref(self->problem);
    udpai_free(self->directory);
    udpai_free(self);
}

udpa_err
udpai_file_writer_new(udpai_file_writer **ret_writer,
                      uv_loop_t *loop,
                      udpai_node *node,
                      const udpai_file_writer_options *options,
                      const udpai_file_writer_ops *ops,
                      udpa_error **ret_error)
{
    udpai_file_writer *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->loop = loop;
    self->ops = *ops;
    self->schema = udpai_schema_ref(options->schema);
    self->format = options->format;
    self->quiet_ms = options->quiet_ms ? options->quiet_ms : UDPAI_WRITER_QUIET_MS_DEFAULT;
    self->patience_ms =
        options->patience_ms ? options->patience_ms : UDPAI_WRITER_PATIENCE_MS_DEFAULT;
    self->retry_ms = options->retry_ms ? options->retry_ms : UDPAI_WRITER_RETRY_MS_DEFAULT;
    self->directory = udpai_strdup(options->directory);
    udpa_err err = udpai_validator_new(&self->validator, self->schema, ret_error);
    if (err == UDPA_OK)
        err = self->directory ? make_topics(self, node, options) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        free_writer(self);
        return udpai_fail_code(ret_error, err);
    }
    uv_timer_init(loop, &self->quiet); /* cannot fail */
    uv_timer_init(loop, &self->patience);
    touch(self, 0);
    *ret_writer = self;
    return UDPA_OK;
}

/* ---- closing ---- */

static void
let_go(udpai_file_writer *self)
{
    if (--self->n_open)
        return;
    void (*closed)(void *userdata) = self->closed;
    void *userdata = self->closed_userdata;
    free_writer(self);
    if (closed)
        closed(userdata);
}

static void
on_timer_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

void
udpai_file_writer_close(udpai_file_writer *self, void (*closed)(void *userdata), void *userdata)
{
    if (!self || self->is_closing)
        return;
    self->is_closing = true;
    self->closed = closed;
    self->closed_userdata = userdata;
    self->n_open = 2 + (self->is_working ? 1 : 0);
    self->quiet.data = self->patience.data = self;
    uv_close((uv_handle_t *)&self->quiet, on_timer_closed);
    uv_close((uv_handle_t *)&self->patience, on_timer_closed);
    for (size_t i = 0; i < self->n_topics; i++)
        udpai_file_topic_unsubscribe(&self->topics[i]);
}

const udpa_error *
udpai_file_writer_problem(const udpai_file_writer *self)
{
    return self->problem;
}
