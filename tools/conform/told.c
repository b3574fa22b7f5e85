/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of names other than by resources of that name: by aliases, and in resource_errors,
 * which are read here, of a response that was scanned. */
#include "base/alloc.h"
#include "base/proto.h"
#include "tools/conform/talk_internal.h"

/* ---- aliases ---- */

bool
udpai_has_alias(const udpai_news *news, const char *alias)
{
    size_t len = strlen(alias);
    for (const char *at = news->aliases, *end; at && (end = strchr(at, '\n')); at = end + 1)
        if ((size_t)(end - at) == len && memcmp(at, alias, len) == 0)
            return true;
    return false;
}

const udpai_news *
udpai_told_of(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    const char *full = talk ? udpai_resolve(talk->script, kind, name) : NULL;
    for (size_t i = talk ? talk->news.n : 0; full && i-- > talk->mark;) {
        const udpai_news *news = &talk->news.items[i];
        if (news->kind == kind && news->name &&
            (udpai_world_same_name(news->name, full) || udpai_has_alias(news, full)))
            return news;
    }
    return NULL;
}

/* ---- resource_errors ---- */

static int
code_of(udpai_str status)
{
    udpai_proto_reader reader = udpai_proto_read(status);
    udpai_proto_field field;
    int code = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1 && field.type == UDPAI_WIRE_VARINT)
            code = (int)field.value;
    return code;
}

static void
note_error(udpai_talk *talk, udpai_kind kind, udpai_str error)
{
    udpai_str name = udpai_proto_last_bytes(udpai_proto_last_bytes(error, 1), 1);
    udpai_told_error told = {
        .kind = kind,
        .name = udpai_strndup(name.data, name.len),
        .code = code_of(udpai_proto_last_bytes(error, 2)),
        .response = talk->responses.n,
    };
    udpai_transcribe(talk->script, "< %u   an error of %.*s: code %d", talk->number,
                     UDPAI_SHOWN(name), told.code);
    if (told.name && udpai_vector_push(&talk->errors, told))
        return;
    udpai_free(told.name);
    udpai_fail_script(talk->script, "out of memory");
}

void
udpai_note_errors(udpai_talk *talk, udpai_kind kind, udpai_str message)
{
    enum {
        SOTW_ERRORS = 7,
        DELTA_ERRORS = 9
    };

    uint32_t number = talk->is_delta ? DELTA_ERRORS : SOTW_ERRORS;
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_BYTES)
            note_error(talk, kind, field.bytes);
}

const udpai_told_error *
udpai_error_of(const udpai_talk *talk, udpai_kind kind, const char *name)
{
    const char *full = talk ? udpai_resolve(talk->script, kind, name) : NULL;
    for (size_t i = talk ? talk->errors.n : 0; full && i-- > 0;) {
        const udpai_told_error *told = &talk->errors.items[i];
        if (told->response < talk->response_mark)
            break;
        if (told->kind == kind && udpai_world_same_name(told->name, full))
            return told;
    }
    return NULL;
}

/* ---- waiting for either ---- */

static bool
is_told(const udpai_talk *talk, const udpai_expected *what)
{
    return udpai_told_of(talk, what->kind, what->names[0]) != NULL;
}

void
udpai_expect_told(udpai_talk *talk, udpai_kind kind, const char *name)
{
    if (!talk)
        return;
    udpai_expected what = {kind, UDPAI_NAMES(name), 0};
    if (!udpai_wait_until(talk, is_told, &what, talk->script->stage->timeout_ms))
        udpai_fail_script(talk->script,
                          "%s %s was asked for, and nothing was said of it within %g s%s",
                          udpai_kind_word(kind), udpai_resolve(talk->script, kind, name),
                          (double)talk->script->stage->timeout_ms / 1000,
                          talk->is_over ? "; the server ended the stream" : "");
}

static bool
is_told_somehow(const udpai_talk *talk, const udpai_expected *what)
{
    return udpai_told_of(talk, what->kind, what->names[0]) ||
           udpai_error_of(talk, what->kind, what->names[0]);
}

void
udpai_await_error(udpai_talk *talk, udpai_kind kind, const char *name)
{
    if (talk)
        (void)udpai_wait_until(talk, is_told_somehow, &(udpai_expected){kind, UDPAI_NAMES(name), 0},
                               talk->script->stage->quiet_ms);
}
