/* SPDX-License-Identifier: Apache-2.0 */
/* Something changed -> a quiet moment -> a scan on the pool -> what is new is reported. While a
 * scan is under way, `scan` and `served` are the pool's; `result` is never changed, only replaced.
 */
#include "transport/file/origin.h"

#include "base/log.h"
#include "base/strbuf.h"
#include "transport/file/served.h"
#include "transport/file/watch.h"

/* While the directory cannot be read. */
#define RETRY_MS 1000

struct udpai_file_origin {
    uv_loop_t *loop;
    udpai_file_origin_ops ops;
    udpai_file_rules rules;
    udpai_str source, authority;
    udpai_schema *schema;
    uint64_t quiet_ms, delay_max_ms, delay_max_given_ms, poll_ms;
    char *root, *texts; /* what views refer to */
    udpai_str *namespaces;

    udpai_file_watch watch;
    uv_timer_t quiet_timer, poll_timer;
    bool is_waiting; /* something changed at wait_began_ms, and was not read yet */
    uint64_t wait_began_ms;

    uv_work_t work;
    bool is_working, is_again; /* a scan is under way; another is due when it ends */
    udpai_file_scan scan;
    udpai_file_served served;
    udpai_file_result *outcome; /* of the scan that has ended, or is under way; NULL: no memory */

    udpai_file_result *result; /* the last; NULL: none yet */
    bool was_reported, is_complete;

    unsigned n_open; /* what keeps a closing origin */
    bool is_closing;
    void (*closed)(void *userdata);
    void *closed_userdata;
};

/* ---- making ---- */

/* One piece of memory holds all texts: views into it are set as they are put there. */
static bool
copy_texts(udpai_file_origin *self, const udpai_file_origin_options *options)
{
    size_t size = options->source.len + options->authority.len + options->default_namespace.len;
    for (size_t i = 0; i < options->n_namespaces; i++)
        size += options->namespaces[i].len;
    self->texts = udpai_alloc(size);
    self->namespaces = udpai_alloc_array(options->n_namespaces, sizeof(*self->namespaces));
    if (!self->texts || !self->namespaces)
        return false;
    char *at = self->texts;
    self->source = udpai_str_put(&at, options->source);
    self->authority = udpai_str_put(&at, options->authority);
    self->rules.default_namespace = udpai_str_put(&at, options->default_namespace);
    for (size_t i = 0; i < options->n_namespaces; i++)
        self->namespaces[i] = udpai_str_put(&at, options->namespaces[i]);
    return true;
}

/* Without slashes at the end, but "/" stays. */
static char *
copy_root(const char *root)
{
    size_t len = strlen(root);
    while (len > 1 && root[len - 1] == '/')
        len--;
    return udpai_strndup(root, len);
}

static void
set_numbers(udpai_file_origin *self, const udpai_file_origin_options *options)
{
    udpai_file_rules *rules = &self->rules;
    rules->max_file_size = udpai_min_size(options->max_file_size ? options->max_file_size
                                                                 : UDPAI_FILE_SIZE_MAX_DEFAULT,
                                          UDPAI_DOCUMENT_SIZE_MAX);
    rules->max_files = options->max_files ? options->max_files : UDPAI_FILES_MAX_DEFAULT;
    rules->max_resources =
        options->max_resources ? options->max_resources : UDPAI_FILE_RESOURCES_MAX_DEFAULT;
    self->quiet_ms = options->quiet_ms ? options->quiet_ms : UDPAI_FILE_QUIET_MS_DEFAULT;
    self->delay_max_ms =
        options->delay_max_ms ? options->delay_max_ms : UDPAI_FILE_DELAY_MAX_MS_DEFAULT;
    self->delay_max_given_ms = self->delay_max_ms;
    self->poll_ms = options->poll_ms ? options->poll_ms : UDPAI_FILE_POLL_MS_DEFAULT;
}

static udpa_err
copy_options(udpai_file_origin *self,
             const udpai_file_origin_options *options,
             udpa_error **ret_error)
{
    if (!options->root[0])
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the directory of resource files has no path");
    self->root = copy_root(options->root);
    if (!self->root || !copy_texts(self, options))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->schema = udpai_schema_ref(options->schema);
    set_numbers(self, options);
    self->rules.root = self->root;
    self->rules.schema = self->schema;
    self->rules.policy = options->policy;
    self->rules.authorities = options->authorities;
    self->rules.namespaces = self->namespaces;
    self->rules.n_namespaces = options->n_namespaces;
    udpai_file_scan_init(&self->scan, &self->rules);
    return UDPA_OK;
}

static void
free_origin(udpai_file_origin *self)
{
    udpai_file_served_done(&self->served);
    udpai_file_scan_done(&self->scan);
    udpai_file_result_free(self->outcome);
    udpai_file_result_free(self->result);
    udpai_schema_unref(self->schema);
    udpai_free(self->namespaces);
    udpai_free(self->texts);
    udpai_free(self->root);
    udpai_free(self);
}

static void
something_changed(udpai_file_watch *watch)
{
    udpai_file_origin_poke(UDPAI_CONTAINER_OF(watch, udpai_file_origin, watch));
}

udpa_err
udpai_file_origin_new(udpai_file_origin **ret_origin,
                      uv_loop_t *loop,
                      const udpai_file_origin_options *options,
                      const udpai_file_origin_ops *ops,
                      udpa_error **ret_error)
{
    udpai_file_origin *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->loop = loop;
    self->ops = *ops;
    udpai_file_served_init(&self->served);
    udpa_err err = copy_options(self, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_file_watch_init(&self->watch, loop, self->root, something_changed, ret_error);
    if (err != UDPA_OK) {
        free_origin(self);
        return err;
    }
    uv_timer_init(loop, &self->quiet_timer); /* cannot fail */
    uv_timer_init(loop, &self->poll_timer);
    *ret_origin = self;
    return UDPA_OK;
}

/* ---- reporting ---- */

static bool
is_same_problem(const udpai_file_problem *a, const udpai_file_problem *b)
{
    if (a->is_of_contents || b->is_of_contents)
        return a->error == b->error;
    return strcmp(udpa_error_message(a->error), udpa_error_message(b->error)) == 0;
}

static bool
has_problem(const udpai_file_result *result, const udpai_file_problem *problem)
{
    for (size_t i = 0; result && i < result->problems.n; i++)
        if (is_same_problem(&result->problems.items[i], problem))
            return true;
    return false;
}

static bool
has_problem_at(const udpai_file_result *result, const char *path)
{
    for (size_t i = 0; i < result->problems.n; i++)
        if (strcmp(result->problems.items[i].path, path) == 0)
            return true;
    return false;
}

static bool
log_new_problems(const udpai_file_result *before, const udpai_file_result *now)
{
    bool any = false;
    for (size_t i = 0; i < now->problems.n; i++) {
        const udpai_file_problem *problem = &now->problems.items[i];
        if (has_problem(before, problem))
            continue;
        udpai_log_about(UDPA_LOG_ERROR, "file",
                        UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(problem->path)},
                                    {UDPAI_LOG_CODE, udpai_log_code(problem->error)}),
                        "%s", udpa_error_message(problem->error));
        any = true;
    }
    if (now->n_problems_left_out && (!before || !before->n_problems_left_out))
        udpai_log(UDPA_LOG_ERROR, "file", "and %zu more errors", now->n_problems_left_out);
    return any;
}

static bool
log_fixed_problems(const udpai_file_result *before, const udpai_file_result *now)
{
    bool any = false;
    for (size_t i = 0; before && i < before->problems.n; i++) {
        const udpai_file_problem *problem = &before->problems.items[i];
        any = any || !has_problem(now, problem);
        if (!has_problem_at(now, problem->path) &&
            (i == 0 || strcmp(before->problems.items[i - 1].path, problem->path) != 0))
            udpai_log_about(UDPA_LOG_INFO, "file",
                            UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(problem->path)}),
                            "%s: reloaded, no errors found", problem->path);
    }
    return any;
}

static bool
same_resources(const udpai_file_result *a, const udpai_file_result *b)
{
    return a->n_resources == b->n_resources &&
           (!a->n_resources ||
            memcmp(a->resources, b->resources, a->n_resources * sizeof(*a->resources)) == 0);
}

static bool
has_errors(const udpai_file_result *result)
{
    return !result->is_read || result->problems.n > 0;
}

/* Of the errors that are still to be fixed, where the first is. */
static udpai_str
first_unread(const udpai_file_origin *self)
{
    bool is_any = !self->is_complete && self->result->problems.n > 0;
    return is_any ? udpai_str_from(self->result->problems.items[0].path) : (udpai_str){0};
}

static void
report_resources(udpai_file_origin *self)
{
    const udpai_directory directory = {
        .root = udpai_str_from(self->root),
        .source = self->source,
        .authority = self->authority,
        .resources = self->result->resources,
        .n_resources = self->result->n_resources,
        .is_partial = !self->is_complete,
        .unread = first_unread(self),
        .has_errors = has_errors(self->result),
    };
    self->was_reported = true;
    self->ops.changed(self->ops.userdata, &directory);
}

void
udpai_file_origin_report_again(udpai_file_origin *self)
{
    if (self->was_reported && !self->is_closing)
        report_resources(self);
}

/* The callbacks may close the origin, which frees nothing before the loop's next turn. */
static void
report(udpai_file_origin *self, udpai_file_result *now)
{
    UDPA_AUTO(udpai_file_result_free) udpai_file_result *before = self->result;
    bool is_news = self->was_reported
                       ? !same_resources(before, now) || has_errors(before) != has_errors(now)
                       : now->is_read;
    bool problems_changed = log_new_problems(before, now);
    problems_changed = log_fixed_problems(before, now) || problems_changed;
    is_news = is_news ||
              (!self->is_complete && (now->is_good || (self->was_reported && problems_changed)));
    self->result = now;
    self->is_complete = self->is_complete || now->is_good;
    if (is_news)
        report_resources(self);
    if (problems_changed && self->ops.problems_changed && !self->is_closing)
        self->ops.problems_changed(self->ops.userdata);
}

/* ---- scanning ---- */

static void begin_scan(udpai_file_origin *self);

/* The pool's, or the loop's at the start. */
static void
scan(udpai_file_origin *self)
{
    udpai_file_scan_run(&self->scan);
    if (udpai_file_served_update(&self->served, &self->scan, &self->outcome, NULL) != UDPA_OK)
        self->outcome = NULL;
}

static void
on_poll(uv_timer_t *timer)
{
    begin_scan(UDPAI_CONTAINER_OF(timer, udpai_file_origin, poll_timer));
}

static void
set_poll(udpai_file_origin *self, bool is_read)
{
    uint64_t delay_ms = is_read || self->poll_ms < RETRY_MS ? self->poll_ms : RETRY_MS;
    uv_timer_start(&self->poll_timer, on_poll, delay_ms, 0);
}

/* After a scan; false: there was no memory, and it is tried again later. */
static bool
take_outcome(udpai_file_origin *self)
{
    udpai_file_result *outcome = UDPAI_TAKE(self->outcome);
    set_poll(self, outcome && outcome->is_read);
    if (!outcome) {
        udpai_log(UDPA_LOG_ERROR, "file", "%s: out of memory; what was read before stays",
                  self->root);
        return false;
    }
    if (!outcome->is_read)
        udpai_file_watch_lose(&self->watch);
    else if (udpai_file_watch_confirm(&self->watch, outcome->dev, outcome->ino))
        udpai_file_origin_poke(self);
    report(self, outcome);
    return true;
}

static void
let_go(udpai_file_origin *self)
{
    if (--self->n_open)
        return;
    void (*closed)(void *userdata) = self->closed;
    void *userdata = self->closed_userdata;
    free_origin(self);
    if (closed)
        closed(userdata);
}

static void
on_work(uv_work_t *work)
{
    scan(UDPAI_CONTAINER_OF(work, udpai_file_origin, work));
}

static void
on_worked(uv_work_t *work, int status)
{
    udpai_file_origin *self = UDPAI_CONTAINER_OF(work, udpai_file_origin, work);
    self->is_working = false;
    if (self->is_closing) {
        let_go(self);
        return;
    }
    (void)take_outcome(self);
    if (self->is_again && !self->is_closing)
        begin_scan(self);
}

static void
begin_scan(udpai_file_origin *self)
{
    self->is_again = self->is_working;
    if (self->is_working)
        return;
    uv_timer_stop(&self->poll_timer);
    if (uv_queue_work(self->loop, &self->work, on_work, on_worked) == 0)
        self->is_working = true;
    else
        set_poll(self, false);
}

static void
on_quiet(uv_timer_t *timer)
{
    udpai_file_origin *self = UDPAI_CONTAINER_OF(timer, udpai_file_origin, quiet_timer);
    self->is_waiting = false;
    begin_scan(self);
}

void
udpai_file_origin_set_quiet(udpai_file_origin *self, uint64_t quiet_ms)
{
    self->quiet_ms = quiet_ms;
    self->delay_max_ms = udpai_max_size(self->delay_max_given_ms, quiet_ms);
}

void
udpai_file_origin_poke(udpai_file_origin *self)
{
    if (self->is_closing)
        return;
    uv_update_time(self->loop);
    uint64_t now_ms = uv_now(self->loop), delay_ms = self->quiet_ms;
    if (!self->is_waiting)
        self->wait_began_ms = now_ms;
    self->is_waiting = true;
    uint64_t latest_ms = self->wait_began_ms + self->delay_max_ms;
    if (now_ms + delay_ms > latest_ms)
        delay_ms = latest_ms > now_ms ? latest_ms - now_ms : 0;
    uv_timer_start(&self->quiet_timer, on_quiet, delay_ms, 0);
}

udpa_err
udpai_file_origin_start(udpai_file_origin *self, udpa_error **ret_error)
{
    /* before the reading: what changes meanwhile is noticed */
    udpai_file_watch_start(&self->watch);
    scan(self);
    udpa_error *error = udpa_error_ref(self->scan.error);
    if (!take_outcome(self)) {
        udpa_error_unref(error);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    udpa_err err = udpa_error_code(error);
    if (ret_error && error)
        *ret_error = UDPAI_TAKE(error);
    udpa_error_unref(error);
    return err;
}

/* ---- closing ---- */

static void
on_timer_closed(uv_handle_t *handle)
{
    let_go(handle->data);
}

static void
on_watch_closed(udpai_file_watch *watch)
{
    let_go(UDPAI_CONTAINER_OF(watch, udpai_file_origin, watch));
}

void
udpai_file_origin_close(udpai_file_origin *self, void (*closed)(void *userdata), void *userdata)
{
    if (!self || self->is_closing)
        return;
    self->is_closing = true;
    self->closed = closed;
    self->closed_userdata = userdata;
    self->n_open = 3 + (self->is_working ? 1 : 0);
    if (self->is_working)
        (void)uv_cancel((uv_req_t *)&self->work); /* if it has begun, it ends as it would */
    self->quiet_timer.data = self->poll_timer.data = self;
    uv_close((uv_handle_t *)&self->quiet_timer, on_timer_closed);
    uv_close((uv_handle_t *)&self->poll_timer, on_timer_closed);
    udpai_file_watch_close(&self->watch, on_watch_closed);
}

/* ---- looking ---- */

bool
udpai_file_origin_is_complete(const udpai_file_origin *self)
{
    return self->is_complete;
}

bool
udpai_file_origin_is_readable(const udpai_file_origin *self)
{
    return self->result && self->result->is_read;
}

size_t
udpai_file_origin_n_files(const udpai_file_origin *self)
{
    return self->result ? self->result->n_files : 0;
}

size_t
udpai_file_origin_n_resources(const udpai_file_origin *self)
{
    return self->result ? self->result->n_resources : 0;
}

size_t
udpai_file_origin_n_problems(const udpai_file_origin *self, size_t *ret_n_left_out)
{
    if (ret_n_left_out)
        *ret_n_left_out = self->result ? self->result->n_problems_left_out : 0;
    return self->result ? self->result->problems.n : 0;
}

const udpa_error *
udpai_file_origin_problem(const udpai_file_origin *self, size_t index, const char **ret_path)
{
    const udpai_file_problem *problem = &self->result->problems.items[index];
    if (ret_path)
        *ret_path = problem->path;
    return problem->error;
}
