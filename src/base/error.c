/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"

struct udpa_error {
    atomic_uint refs;
    udpa_err code;
    char message[]; /* causes included */
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

static const struct err_info *
info_of(udpa_err code)
{
    size_t index = (size_t)(-(long)code);
    return index < UDPAI_ARRAY_LEN(infos) ? &infos[index] : NULL;
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
{
    va_list again;
    va_copy(again, arguments);
    int own = vsnprintf(NULL, 0, format, arguments);
    size_t len = own < 0 ? 0 : (size_t)own;
    size_t room = len + 1 + (cause ? strlen(cause->message) + 2 : 0);
    udpa_error *error = udpai_alloc(sizeof(*error) + room);
    if (error) {
        atomic_init(&error->refs, 1);
        error->code = code;
        if (own > 0)
            vsnprintf(error->message, len + 1, format, again);
        if (cause)
            snprintf(error->message + len, room - len, ": %s", cause->message);
    }
    va_end(again);
    return error;
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

udpa_error *
udpa_error_ref(udpa_error *error)
{
    if (error)
        atomic_fetch_add_explicit(&error->refs, 1, memory_order_relaxed);
    return error;
}

udpa_error *
udpa_error_unref(udpa_error *error)
{
    if (error && atomic_fetch_sub_explicit(&error->refs, 1, memory_order_acq_rel) == 1)
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
