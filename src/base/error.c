/* SPDX-License-Identifier: Apache-2.0 */
/* A failure must stay a failure when there is no memory to describe it: then a static object with
 * the text of its code replaces it, so a caller that keeps "an error or NULL" never takes it for
 * success. */
#include "base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/utf8.h"

struct udpa_error {
    atomic_uint refs; /* 0: static, never freed */
    udpa_err code;
    const char *message; /* causes included; of a counted error, what lies behind the object */
};

struct err_info {
    udpa_err code;
    int grpc;
    const char *name;
    const char *text;
};

static const struct err_info infos[] = {
#define INFO(name, value, grpc, text) {UDPA_ERR_##name, grpc, "UDPA_ERR_" #name, text},
    UDPA_ERR_MAP(INFO)
#undef INFO
};

static udpa_error bare_errors[] = {
#define BARE(name, value, grpc, text) {0, UDPA_ERR_##name, text},
    UDPA_ERR_MAP(BARE)
#undef BARE
};

/* The place of a code in the tables; their length for what is no code. */
static size_t
index_of(udpa_err code)
{
    size_t index = (size_t)(-(int64_t)code);
    return udpai_min_size(index, UDPAI_ARRAY_LEN(infos));
}

static const struct err_info *
info_of(udpa_err code)
{
    size_t index = index_of(code);
    return index < UDPAI_ARRAY_LEN(infos) ? &infos[index] : NULL;
}

static udpa_error *
bare_error(udpa_err code)
{
    size_t index = index_of(code);
    return &bare_errors[index < UDPAI_ARRAY_LEN(bare_errors) ? index : index_of(UDPA_ERR_UNKNOWN)];
}

const char *
udpa_err_name(udpa_err code)
{
    const struct err_info *info = info_of(code);
    return info ? info->name : "UDPA_ERR_?";
}

const char *
udpa_err_text(udpa_err code)
{
    const struct err_info *info = info_of(code);
    return info ? info->text : "not an error code";
}

int
udpa_err_to_grpc(udpa_err code)
{
    const struct err_info *info = info_of(code);
    return info ? info->grpc : 2;
}

udpa_err
udpa_err_from_grpc(int grpc_status)
{
    if (grpc_status == 11) /* OUT_OF_RANGE has no code of its own */
        return UDPA_ERR_INVAL;
    if (grpc_status == 15) /* DATA_LOSS */
        return UDPA_ERR_MALFORMED;
    if (grpc_status == 8) /* the peer speaks of its limits, not of our memory */
        return UDPA_ERR_LIMIT;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(infos); i++)
        if (infos[i].grpc == grpc_status)
            return infos[i].code;
    return UDPA_ERR_UNKNOWN;
}

static udpa_error *
error_format(udpa_err code, const udpa_error *cause, const char *format, va_list arguments)
    UDPA_PRINTF(3, 0);

static udpa_error *
error_format(udpa_err code, const udpa_error *cause, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int own = vsnprintf(NULL, 0, format, arguments);
    size_t len = own < 0 ? 0 : (size_t)own;
    size_t room = len + 1 + (cause ? strlen(cause->message) + 2 : 0);
    udpa_error *error = udpai_alloc(sizeof(*error) + room);
    if (error) {
        char *message = (char *)(error + 1);
        atomic_init(&error->refs, 1);
        error->code = code;
        error->message = message;
        if (own > 0)
            vsnprintf(message, len + 1, format, again);
        if (cause)
            snprintf(message + len, room - len, ": %s", cause->message);
        udpai_utf8_mend(message); /* it may quote a peer, and travels as a string */
    }
    va_end(again);
    return error ? error : bare_error(code);
}

udpa_error *
udpa_error_new(udpa_err code, const udpa_error *cause, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    udpa_error *error = error_format(code, cause, format, arguments);
    va_end(arguments);
    return error;
}

static bool
is_counted(const udpa_error *error)
{
    return error && atomic_load_explicit(&error->refs, memory_order_relaxed) != 0;
}

udpa_error *
udpa_error_ref(udpa_error *error)
{
    if (is_counted(error))
        atomic_fetch_add_explicit(&error->refs, 1, memory_order_relaxed);
    return error;
}

udpa_error *
udpa_error_unref(udpa_error *error)
{
    if (is_counted(error) && atomic_fetch_sub_explicit(&error->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(error);
    return NULL;
}

udpa_err
udpa_error_code(const udpa_error *error)
{
    return error ? error->code : UDPA_OK;
}

const char *
udpa_error_message(const udpa_error *error)
{
    return error ? error->message : udpa_err_text(UDPA_OK);
}

udpa_err
udpai_fail(udpa_error **ret_error, udpa_err code, const char *format, ...)
{
    if (ret_error) {
        va_list arguments;
        va_start(arguments, format);
        *ret_error = error_format(code, NULL, format, arguments);
        va_end(arguments);
    }
    return code;
}

udpa_err
udpai_fail_because(
    udpa_error **ret_error, udpa_err code, udpa_error *cause, const char *format, ...)
{
    if (ret_error) {
        va_list arguments;
        va_start(arguments, format);
        *ret_error = error_format(code, cause, format, arguments);
        va_end(arguments);
    }
    udpa_error_unref(cause);
    return code;
}

udpa_err
udpai_fail_code(udpa_error **ret_error, udpa_err code)
{
    if (code != UDPA_OK && ret_error && !*ret_error)
        *ret_error = udpa_error_new(code, NULL, "%s", udpa_err_text(code));
    return code;
}
