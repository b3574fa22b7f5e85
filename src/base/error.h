/* SPDX-License-Identifier: Apache-2.0 */
/* How functions of ours report errors; the object itself is public (udpa/error.h). */
#ifndef UDPAI_ERROR_H
#define UDPAI_ERROR_H

#include <udpa/error.h>

/* Stores a new error object, never NULL, at @p ret_error if that is not NULL, and returns @p code;
 * so that `return udpai_fail(ret_error, UDPA_ERR_INVAL, "…", …);` is all a failure needs. */
udpa_err udpai_fail(udpa_error **ret_error, udpa_err code, const char *format, ...)
    UDPA_PRINTF(3, 4);

/* The same with a cause, whose reference is consumed; @p cause may be NULL. */
udpa_err udpai_fail_because(udpa_error **ret_error,
                            udpa_err code,
                            udpa_error *cause,
                            const char *format,
                            ...) UDPA_PRINTF(4, 5);

/* The caller's code, and for UDPA_ERR_NOMEM and others a default text if none was stored. */
udpa_err udpai_fail_code(udpa_error **ret_error, udpa_err code);

#endif
