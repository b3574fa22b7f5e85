/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/agreement.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/strbuf.h"

#define DIGEST_HEX 16

typedef struct directory {
    udpa_bytes *root, *source;
    char digest[DIGEST_HEX + 1]; /* of what was read last */
    bool has_counted;
    uint64_t counted;       /* the digest of what counts */
    udpai_reading *waiting; /* NULL: nothing waits */
    uint64_t due_ms;        /* then it counts in any case */
    uint64_t differs_ms;    /* that is reported then; 0: nobody has read something else */
    bool is_reported;
} directory;

struct udpai_agreement {
    udpai_context *context;
    UDPAI_VECTOR(directory) all;
    const udpai_replica_status *status; /* NULL: it is not known yet */
    udpai_timer timer;
    udpai_reading *counts; /* the last one that next() has returned */
};

/* ---- what others have read ---- */

/* Of a directory; empty: the member has not read it. */
static udpai_str
digest_of(const udpai_replica_member *member, udpai_str root)
{
    udpai_str rest = member->files ? udpai_bytes_view(member->files) : (udpai_str){0}, line;
    while (udpai_str_cut(&rest, '\n', &line))
        if (line.len == DIGEST_HEX + 1 + root.len &&
            udpai_str_eq((udpai_str){line.data + DIGEST_HEX + 1, root.len}, root))
            return (udpai_str){line.data, DIGEST_HEX};
    return (udpai_str){0};
}

static bool
has_read_the_same(const udpai_replica_member *member, const directory *one)
{
    return udpai_str_eq(digest_of(member, udpai_bytes_view(one->root)),
                        udpai_str_from(one->digest));
}

/* Of this one there is news, which its own place may not have yet. */
static bool
is_agreed(const udpai_agreement *agreement, const directory *one)
{
    const udpai_replica_status *status = agreement->status;
    size_t n_same = 1, n = 1;
    if (!status || status->membership == UDPAI_MEMBERSHIP_UNKNOWN)
        return false;
    for (size_t i = 0; i < status->n_members; i++) {
        const udpai_replica_member *member = &status->members[i];
        n += !member->is_own;
        n_same += !member->is_own && has_read_the_same(member, one);
    }
    return 2 * n_same > n;
}

/* One of an older version does not state what it has read. */
static bool
differs(const udpai_agreement *agreement, const directory *one)
{
    const udpai_replica_status *status = agreement->status;
    for (size_t i = 0; status && i < status->n_members; i++) {
        const udpai_replica_member *member = &status->members[i];
        if (!member->is_own && member->files && udpa_bytes_size(member->files) &&
            !has_read_the_same(member, one))
            return true;
    }
    return false;
}

/* ---- what is reported ---- */

static void
put_member(udpai_strbuf *text, const udpai_replica_member *member, const directory *one)
{
    udpai_str digest = digest_of(member, udpai_bytes_view(one->root));
    udpai_strbuf_printf(
        text, ", %.*s on %.*s (%.*s)", digest.len ? 8 : 7, digest.len ? digest.data : "nothing",
        UDPAI_SHOWN(udpai_bytes_view(member->address)), UDPAI_SHOWN(udpai_bytes_view(member->id)));
}

static void
visit_one(const udpai_agreement *agreement,
          const directory *one,
          udpai_problem_fn visit,
          void *userdata)
{
    const udpai_replica_status *status = agreement->status;
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "directory %.*s: replicas have read different files: %.8s here",
                        UDPAI_SHOWN(udpai_bytes_view(one->root)), one->digest);
    for (size_t i = 0; status && i < status->n_members; i++)
        if (!status->members[i].is_own)
            put_member(&text, &status->members[i], one);
    udpai_strbuf_puts(&text, ": distribute the same files to all of them");
    udpai_strbuf_putc(&text, '\0');
    if (!udpai_strbuf_failed(&text))
        visit(userdata, text.data);
    udpai_strbuf_done(&text);
}

void
udpai_agreement_visit_problems(const udpai_agreement *agreement,
                               udpai_problem_fn visit,
                               void *userdata)
{
    for (size_t i = 0; i < agreement->all.n; i++)
        if (agreement->all.items[i].is_reported)
            visit_one(agreement, &agreement->all.items[i], visit, userdata);
}

static void
log_problem(void *userdata, const char *text)
{
    (void)userdata;
    udpai_log(UDPA_LOG_WARNING, "file", "%s", text);
}

static void
look_whether_it_differs(udpai_agreement *agreement, directory *one)
{
    uint64_t now = udpai_context_now(agreement->context);
    bool has_differed = one->differs_ms != 0;
    if (!differs(agreement, one)) {
        one->differs_ms = 0;
        if (one->is_reported)
            udpai_log(UDPA_LOG_INFO, "file", "directory %.*s: all replicas have read the same",
                      UDPAI_SHOWN(udpai_bytes_view(one->root)));
        one->is_reported = false;
    } else if (!has_differed) {
        one->differs_ms = now + UDPAI_AGREEMENT_GRACE_MS;
    } else if (!one->is_reported && now >= one->differs_ms) {
        one->is_reported = true;
        visit_one(agreement, one, log_problem, NULL);
    }
}

/* ---- time ---- */

static void
look_at_all(udpai_agreement *agreement)
{
    uint64_t due_ms = UINT64_MAX;
    for (size_t i = 0; i < agreement->all.n; i++) {
        directory *one = &agreement->all.items[i];
        look_whether_it_differs(agreement, one);
        if (one->waiting && one->due_ms < due_ms)
            due_ms = one->due_ms;
        if (one->differs_ms && !one->is_reported && one->differs_ms < due_ms)
            due_ms = one->differs_ms;
    }
    if (due_ms == UINT64_MAX)
        udpai_timer_cancel(&agreement->timer);
    else
        udpai_timer_set(agreement->context->wheel, &agreement->timer, due_ms);
}

/* What waits is taken with the next flush. */
static void
on_timer(udpai_timer *timer)
{
    look_at_all(UDPAI_CONTAINER_OF(timer, udpai_agreement, timer));
}

void
udpai_agreement_take_members(udpai_agreement *agreement, const udpai_replica_status *status)
{
    agreement->status = status;
    look_at_all(agreement);
}

/* ---- what was read here ---- */

static directory *
find(udpai_agreement *agreement, const udpai_directory *read)
{
    for (size_t i = 0; i < agreement->all.n; i++) {
        directory *one = &agreement->all.items[i];
        if (udpai_str_eq(udpai_bytes_view(one->root), read->root) &&
            udpai_str_eq(udpai_bytes_view(one->source), read->source))
            return one;
    }
    return NULL;
}

/* NULL without memory. */
static directory *
find_or_make(udpai_agreement *agreement, const udpai_directory *read)
{
    directory made = {0}, *found = find(agreement, read);
    if (found)
        return found;
    if (udpa_bytes_new(&made.root, read->root.data, read->root.len) == UDPA_OK &&
        udpa_bytes_new(&made.source, read->source.data, read->source.len) == UDPA_OK &&
        udpai_vector_push(&agreement->all, made))
        return &agreement->all.items[agreement->all.n - 1];
    udpa_bytes_unref(made.root);
    udpa_bytes_unref(made.source);
    return NULL;
}

/* Those that there is room for; without memory the others have what was before. */
static void
state(const udpai_agreement *agreement)
{
    const udpai_node_env *env = &agreement->context->env;
    udpai_strbuf text = {0};
    for (size_t i = 0; i < agreement->all.n; i++) {
        const directory *one = &agreement->all.items[i];
        udpai_str root = udpai_bytes_view(one->root);
        if (!memchr(root.data, '\n', root.len) &&
            udpai_strbuf_view(&text).len + DIGEST_HEX + root.len + 2 <= UDPAI_REPLICA_FILES_MAX)
            udpai_strbuf_printf(&text, "%s %.*s\n", one->digest, (int)root.len, root.data);
    }
    if (env->set_files && !udpai_strbuf_failed(&text))
        env->set_files(env->userdata, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}

/* What one replica writes for all, it does not write against most of them. */
static void
log_waiting(const udpai_directory *read)
{
    char until[32] = "";
    if (!read->is_shared)
        (void)snprintf(until, sizeof(until), ", at most %d s", UDPAI_AGREEMENT_MAX_MS / 1000);
    udpai_log(UDPA_LOG_INFO, "file",
              "directory %.*s: what was read waits until most replicas have read the same%s",
              UDPAI_SHOWN(read->root), until);
}

static udpa_err
wait_for_others(udpai_agreement *agreement, directory *one, const udpai_directory *read)
{
    udpai_reading *reading;
    udpa_err err = udpai_reading_new(&reading, read);
    if (err != UDPA_OK)
        return err;
    if (!one->waiting)
        log_waiting(read);
    if (read->is_shared)
        one->due_ms = UINT64_MAX;
    else if (!one->waiting)
        one->due_ms = udpai_context_now(agreement->context) + UDPAI_AGREEMENT_MAX_MS;
    udpai_reading_free(one->waiting);
    one->waiting = reading;
    return UDPA_OK;
}

static void
count(directory *one, uint64_t digest)
{
    one->has_counted = true;
    one->counted = digest;
}

udpa_err
udpai_agreement_take(udpai_agreement *agreement, const udpai_directory *read, bool *ret_waits)
{
    uint64_t digest = udpai_reading_digest(read);
    char text[DIGEST_HEX + 1];
    directory *one = find_or_make(agreement, read);
    if (!one)
        return UDPA_ERR_NOMEM;
    (void)snprintf(text, sizeof(text), "%016" PRIx64, digest);
    bool is_another = strcmp(text, one->digest) != 0;
    memcpy(one->digest, text, sizeof(text));
    *ret_waits = read->must_agree && !(one->has_counted && one->counted == digest) &&
                 !is_agreed(agreement, one);
    udpa_err err = *ret_waits ? wait_for_others(agreement, one, read) : UDPA_OK;
    if (!*ret_waits) {
        one->waiting = udpai_reading_free(one->waiting);
        count(one, digest);
    }
    if (is_another)
        state(agreement);
    look_at_all(agreement);
    return err;
}

const udpai_directory *
udpai_agreement_next(udpai_agreement *agreement)
{
    uint64_t now = udpai_context_now(agreement->context);
    agreement->counts = udpai_reading_free(agreement->counts);
    for (size_t i = 0; i < agreement->all.n; i++) {
        directory *one = &agreement->all.items[i];
        bool is_agreed_on = one->waiting && is_agreed(agreement, one);
        if (!one->waiting || (!is_agreed_on && now < one->due_ms))
            continue;
        agreement->counts = UDPAI_TAKE(one->waiting);
        const udpai_directory *read = udpai_reading_directory(agreement->counts);
        count(one, udpai_reading_digest(read));
        if (is_agreed_on)
            udpai_log(UDPA_LOG_INFO, "file",
                      "directory %.*s: most replicas have read the same now, which is used",
                      UDPAI_SHOWN(read->root));
        else
            udpai_log(UDPA_LOG_WARNING, "file",
                      "directory %.*s: most replicas have not read the same within %d s, and what "
                      "was read here is used: distribute the same files to all of them",
                      UDPAI_SHOWN(read->root), UDPAI_AGREEMENT_MAX_MS / 1000);
        return read;
    }
    return NULL;
}

/* ---- looking ---- */

size_t
udpai_agreement_n_waiting(const udpai_agreement *agreement)
{
    size_t n = 0;
    for (size_t i = 0; i < agreement->all.n; i++)
        n += agreement->all.items[i].waiting != NULL;
    return n;
}

size_t
udpai_agreement_n_differing(const udpai_agreement *agreement)
{
    size_t n = 0;
    for (size_t i = 0; i < agreement->all.n; i++)
        n += agreement->all.items[i].is_reported;
    return n;
}

/* ---- its life ---- */

udpa_err
udpai_agreement_new(udpai_agreement **ret_agreement, udpai_context *context)
{
    udpai_agreement *agreement = udpai_alloc(sizeof(*agreement));
    if (!agreement)
        return UDPA_ERR_NOMEM;
    agreement->context = context;
    udpai_timer_init(&agreement->timer, on_timer);
    *ret_agreement = agreement;
    return UDPA_OK;
}

void
udpai_agreement_free(udpai_agreement *agreement)
{
    if (!agreement)
        return;
    udpai_timer_cancel(&agreement->timer);
    for (size_t i = 0; i < agreement->all.n; i++) {
        udpa_bytes_unref(agreement->all.items[i].root);
        udpa_bytes_unref(agreement->all.items[i].source);
        udpai_reading_free(agreement->all.items[i].waiting);
    }
    udpai_vector_done(&agreement->all);
    udpai_reading_free(agreement->counts);
    udpai_free(agreement);
}
