/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/held.h"

#include "federation/absence.h"
#include "federation/directories.h"
#include "federation/shares.h"
#include "federation/source_internal.h"

/* ---- names ---- */

struct first_names {
    udpai_str *names;
    size_t n;
};

static bool
add_name(void *userdata, const udpai_contribution *contribution)
{
    struct first_names *first = userdata;
    if (contribution->absence == UDPAI_ABSENCE_HELD)
        first->names[first->n++] = udpai_resource_name(contribution->resource);
    return first->n < UDPAI_HELD_NAMES;
}

size_t
udpai_held_names(const udpai_context *context,
                 const udpai_origin *origin,
                 udpai_str type_url,
                 udpai_str names[UDPAI_HELD_NAMES])
{
    struct first_names first = {.names = names};
    if (udpai_origin_n_absent(origin, type_url, UDPAI_ABSENCE_HELD))
        udpai_store_visit_origin(context->store, origin, type_url, add_name, &first);
    return first.n;
}

/* "a, b and 7 more" */
static void
put_names(udpai_strbuf *out,
          const udpai_context *context,
          const udpai_origin *origin,
          udpai_str type_url)
{
    udpai_str names[UDPAI_HELD_NAMES];
    size_t n = udpai_held_names(context, origin, type_url, names);
    size_t n_all = udpai_origin_n_absent(origin, type_url, UDPAI_ABSENCE_HELD);
    for (size_t i = 0; i < n; i++) {
        udpai_strbuf_puts(out, i ? ", " : "");
        udpai_strbuf_str(out, names[i]);
    }
    if (n_all > n)
        udpai_strbuf_printf(out, " and %zu more", n_all - n);
}

/* ---- of sources ---- */

void
udpai_held_because(udpai_source *source, udpai_str type_url, const char *why)
{
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            scope->held_why = why;
    }
}

const char *
udpai_held_why(const udpai_sources *sources, const udpai_origin *origin, udpai_str type_url)
{
    const udpai_source *source = udpai_sources_of_origin(sources, origin);
    if (!source)
        return UDPAI_HELD_TOO_MANY; /* a directory has no other reason */
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, const udpai_scope, in_source);
        if (scope->held_why && udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            return scope->held_why;
    }
    return NULL;
}

/* What was named again or accepted, and is held later, is logged as any other. */
static void
note_let_go(udpai_source *source)
{
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        size_t n = udpai_origin_n_absent(source->origin, udpai_bytes_view(scope->type),
                                         UDPAI_ABSENCE_HELD);
        if (n < scope->n_held_logged)
            scope->n_held_logged = n;
    }
}

/* How many were logged already, of one of its scopes. */
static size_t
note_logged(udpai_source *source, udpai_str type_url, size_t n, const char **ret_why)
{
    size_t n_logged = 0;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (!udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            continue;
        n_logged = udpai_max_size(n_logged, scope->n_held_logged);
        scope->n_held_logged = n;
        if (scope->held_why)
            *ret_why = scope->held_why;
    }
    return n_logged;
}

bool
udpai_held_log(udpai_source *source, udpai_str type_url, const char *more_because)
{
    const char *why = "it did not name them before this node was restarted";
    size_t n = udpai_origin_n_absent(source->origin, type_url, UDPAI_ABSENCE_HELD);
    if (n <= note_logged(source, type_url, n, &why))
        return false;
    if (more_because)
        udpai_held_because(source, type_url, more_because);
    why = more_because ? more_because : why;
    udpai_str own = udpai_bytes_view(source->name);
    udpai_str configured = source->template ? udpai_bytes_view(source->template->name) : own;
    udpai_strbuf names = {0};
    put_names(&names, source->owner->context, source->origin, type_url);
    udpai_log_about(
        UDPA_LOG_WARNING, "federation",
        UDPAI_ABOUT({UDPAI_LOG_SOURCE, own}, {UDPAI_LOG_TYPE, type_url}),
        "source %.*s: held %zu resources of type %.*s that it does not name any more and has not "
        "removed: %s. They are served as before until it names them again. If they are meant "
        "to be removed: udpactl sources accept %.*s. They are: %s",
        UDPAI_SHOWN(own), n, UDPAI_SHOWN(type_url), why, UDPAI_SHOWN(configured),
        names.data ? names.data : "");
    udpai_context_note(source->owner->context, UDPAI_NOTE_HELD, UDPA_LOG_WARNING,
                       UDPAI_ABOUT({UDPAI_LOG_SOURCE, own}, {UDPAI_LOG_TYPE, type_url}),
                       "source %.*s: held %zu resources of type %.*s: %s: %s", UDPAI_SHOWN(own), n,
                       UDPAI_SHOWN(type_url), why, names.data ? names.data : "");
    udpai_strbuf_done(&names);
    return true;
}

struct reading {
    udpai_source *source;
    const char *why;
};

static void
log_type(void *userdata, udpai_str type_url, size_t n)
{
    const struct reading *reading = userdata;
    (void)n;
    (void)udpai_held_log(reading->source, type_url, reading->why);
}

void
udpai_held_log_read(udpai_source *source, const char *why)
{
    struct reading reading = {source, why};
    note_let_go(source);
    udpai_origin_visit_absent(source->origin, UDPAI_ABSENCE_HELD, log_type, &reading);
}

/* ---- of directories ---- */

struct description {
    const udpai_context *context;
    const udpai_origin *origin;
    udpai_str root;
    udpai_problem_fn visit;
    void *userdata;
    bool is_short; /* there was no memory to describe something */
};

static void
describe(void *userdata, udpai_str type_url, size_t n)
{
    struct description *description = userdata;
    udpai_strbuf text = {0};
    udpai_strbuf_printf(
        &text,
        "directory %.*s: held %zu resources of type %.*s that it does not have any more: more at "
        "once "
        "than max_withdrawal allows. They are served as before until it has them again. If they "
        "are meant to be removed: udpactl sources accept %.*s. They are: ",
        UDPAI_SHOWN(description->root), n, UDPAI_SHOWN(type_url), UDPAI_SHOWN(description->root));
    put_names(&text, description->context, description->origin, type_url);
    if (udpai_strbuf_failed(&text))
        description->is_short = true;
    else
        description->visit(description->userdata, text.data);
    udpai_strbuf_done(&text);
}

/* Of a directory. */
static void
log_problem(void *userdata, const char *text)
{
    const udpai_context *context = userdata;
    udpai_log(UDPA_LOG_WARNING, "federation", "%s", text);
    udpai_context_note(context, UDPAI_NOTE_HELD, UDPA_LOG_WARNING, NULL, 0, "%s", text);
}

static void
add_held(void *userdata, udpai_str type_url, size_t n)
{
    (void)type_url;
    *(size_t *)userdata += n;
}

void
udpai_held_log_directory(udpai_sources *sources, udpai_str root, const udpai_origin *origin)
{
    udpai_expected *expected = udpai_directory_find(sources->directories, root);
    size_t n = 0;
    udpai_origin_visit_absent(origin, UDPAI_ABSENCE_HELD, add_held, &n);
    if (!expected || n == expected->n_held_logged)
        return;
    struct description description = {sources->context, origin,           root,
                                      log_problem,      sources->context, false};
    if (n > expected->n_held_logged)
        udpai_origin_visit_absent(origin, UDPAI_ABSENCE_HELD, describe, &description);
    if (!description.is_short) /* else it is logged with the next scan */
        expected->n_held_logged = n;
}

void
udpai_held_visit_problems(const udpai_sources *sources, udpai_problem_fn visit, void *userdata)
{
    size_t at = 0;
    const udpai_expected *expected;
    while ((expected = udpai_roots_next(sources->directories, &at))) {
        udpai_str root = udpai_bytes_view(expected->root);
        const udpai_origin *origin = udpai_directory_find_origin(sources->directories, root);
        struct description description = {sources->context, origin, root, visit, userdata, false};
        if (origin)
            udpai_origin_visit_absent(origin, UDPAI_ABSENCE_HELD, describe, &description);
    }
}

/* ---- for operators ---- */

struct visit {
    udpai_held_count_fn visit;
    void *userdata;
    udpai_str name;
};

static void
visit_type(void *userdata, udpai_str type_url, size_t n)
{
    const struct visit *of = userdata;
    of->visit(of->userdata, &(udpai_held_count){of->name, type_url, n});
}

void
udpai_held_visit(const udpai_sources *sources, udpai_held_count_fn visit, void *userdata)
{
    size_t at = 0;
    const udpai_source *source;
    struct visit of = {.visit = visit, .userdata = userdata};
    while ((source = udpai_sources_next_link(sources, &at))) {
        of.name = udpai_bytes_view(source->name);
        if (source->origin)
            udpai_origin_visit_absent(source->origin, UDPAI_ABSENCE_HELD, visit_type, &of);
    }
    at = 0;
    const udpai_expected *expected;
    while ((expected = udpai_roots_next(sources->directories, &at))) {
        of.name = udpai_bytes_view(expected->root);
        const udpai_origin *origin = udpai_directory_find_origin(sources->directories, of.name);
        if (origin)
            udpai_origin_visit_absent(origin, UDPAI_ABSENCE_HELD, visit_type, &of);
    }
}

/* All replicas have it: the elected one, which holds it, proposes its end. */
static size_t
accept_share(udpai_sources *sources, udpai_share *share)
{
    size_t n = 0;
    udpai_origin_visit_absent(share->origin, UDPAI_ABSENCE_HELD, add_held, &n);
    if (n)
        udpai_shares_accept(sources->shares, share);
    return n;
}

static void
accept(udpai_sources *sources, udpai_origin *origin, size_t *ret_n)
{
    udpai_share *share = udpai_shares_find(sources->shares, udpai_origin_key(origin));
    if (share) {
        *ret_n += accept_share(sources, share);
        return;
    }
    udpai_store_end_absences(sources->context->store, origin, (udpai_str){0}, UDPAI_ABSENCE_HELD,
                             UDPAI_ABSENCE_BELIEVE);
}

/* What is configured, or came by a resource; with those that were made after it. */
static bool
accept_of_sources(udpai_sources *sources, udpai_str name, size_t *ret_n)
{
    size_t at = 0;
    udpai_source *source;
    bool any = false;
    while ((source = udpai_sources_next_link(sources, &at))) {
        const udpai_source *configured = source->template ? source->template : source;
        bool is_it = source->serves_us && (udpai_str_eq(udpai_bytes_view(source->name), name) ||
                                           udpai_str_eq(udpai_bytes_view(configured->name), name));
        if (is_it && udpai_origin_has_absent(source->origin)) {
            accept(sources, source->origin, ret_n);
            udpai_source_touch(source);
        }
        any |= is_it;
    }
    return any;
}

bool
udpai_held_accept(udpai_sources *sources, udpai_str name, size_t *ret_n)
{
    size_t n_before = udpai_store_n_contributions(sources->context->store);
    udpai_origin *directory = udpai_directory_find(sources->directories, name)
                                  ? udpai_directory_origin(sources->directories, name)
                                  : NULL;
    *ret_n = 0;
    bool any = accept_of_sources(sources, name, ret_n);
    if (!any && directory)
        accept(sources, directory, ret_n);
    *ret_n += n_before - udpai_store_n_contributions(sources->context->store);
    if (*ret_n == 0)
        return any || directory;
    udpai_log_about(UDPA_LOG_INFO, "federation", UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}),
                    "source %.*s: accepted, %zu held resources removed", UDPAI_SHOWN(name), *ret_n);
    udpai_context_note(sources->context, UDPAI_NOTE_HELD_ACCEPTED, UDPA_LOG_INFO,
                       UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}),
                       "source %.*s: accepted, %zu held resources removed", UDPAI_SHOWN(name),
                       *ret_n);
    udpai_context_touch(sources->context);
    return true;
}
