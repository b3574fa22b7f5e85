/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file error.h
 * Error codes, and error objects with what, where and why.
 */

/* Every function that can fail returns a udpa_err. Functions whose failures need words also take a
 * last parameter `udpa_error **ret_error`, which may be NULL; on failure it receives an object that
 * the caller releases with udpa_error_unref(). Codes map one to one onto gRPC status codes, because
 * receipts carry these. */
#ifndef UDPA_ERROR_H
#define UDPA_ERROR_H

#include <udpa/macros.h>

UDPA_BEGIN_DECLS

/**
 * All error codes: X(name, value, gRPC status code, text).
 * Values are stable; new ones are appended.
 */
#define UDPA_ERR_MAP(X)                                                                            \
    X(OK, 0, 0, "success")                                                                         \
    X(INVAL, -1, 3, "invalid argument")                                                            \
    X(MALFORMED, -2, 3, "malformed message")                                                       \
    X(NOMEM, -3, 8, "out of memory")                                                               \
    X(LIMIT, -4, 8, "a limit was reached")                                                         \
    X(NOT_FOUND, -5, 5, "not found")                                                               \
    X(EXISTS, -6, 6, "already exists")                                                             \
    X(DENIED, -7, 7, "permission denied")                                                          \
    X(UNAUTHENTICATED, -8, 16, "no valid identity was presented")                                  \
    X(PRECONDITION, -9, 9, "not possible in the present state")                                    \
    X(ABORTED, -10, 10, "aborted")                                                                 \
    X(UNIMPLEMENTED, -11, 12, "not implemented")                                                   \
    X(UNAVAILABLE, -12, 14, "unavailable")                                                         \
    X(DEADLINE, -13, 4, "deadline exceeded")                                                       \
    X(CANCELLED, -14, 1, "cancelled")                                                              \
    X(CLOSED, -15, 1, "closed")                                                                    \
    X(IO, -16, 14, "input or output failed")                                                       \
    X(INTERNAL, -17, 13, "internal error")                                                         \
    X(UNKNOWN, -18, 2, "unknown error")

/** Result of a call: UDPA_OK (0) or a negative code. */
typedef enum udpa_err {
#define UDPA_ERR_ENUM_(name, value, grpc, text) UDPA_ERR_##name = value,
    UDPA_ERR_MAP(UDPA_ERR_ENUM_)
#undef UDPA_ERR_ENUM_
    UDPA_OK = 0
} udpa_err;

/** What went wrong, in words, and what caused it. Immutable; counted atomically; any thread. */
typedef struct udpa_error udpa_error;

/** Name of a code, such as "UDPA_ERR_INVAL"; "UDPA_ERR_?" for a value that is none.
 * @return a static string, never NULL.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_err_name(udpa_err code);

/** Text of a code, such as "invalid argument".
 * @return a static string, never NULL.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_err_text(udpa_err code);

/** The gRPC status code (0 to 16) of @p code on the wire.
 * @return the status code; 2 (UNKNOWN) for a value that is no code.
 * @thread any   @since 0.1
 */
UDPA_API int udpa_err_to_grpc(udpa_err code);

/** The code of a gRPC status code received from a peer.
 * @return a code; UDPA_ERR_UNKNOWN for a number that gRPC does not define.
 * @thread any   @since 0.1
 */
UDPA_API udpa_err udpa_err_from_grpc(int grpc_status);

/** Make an error object.
 * @param code   must not be UDPA_OK.
 * @param cause  another error that led to this one, or NULL; borrowed, its text is copied.
 * @param format printf format of one sentence without a final full stop: what, where, why.
 *               Bytes in it that are not UTF-8 become '?': a message travels in receipts.
 * @return a new reference, never NULL: without memory for the words, an error with the code alone.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_error *
udpa_error_new(udpa_err code, const udpa_error *cause, const char *format, ...) UDPA_PRINTF(3, 4);

/** Take a reference. @p error may be NULL.
 * @return @p error.
 * @thread any   @since 0.1
 */
UDPA_API udpa_error *udpa_error_ref(udpa_error *error);

/** Drop a reference. @p error may be NULL.
 * @return NULL.
 * @thread any   @since 0.1
 */
UDPA_API udpa_error *udpa_error_unref(udpa_error *error);

/** The code of an error; UDPA_OK for NULL.
 * @return the code.
 * @thread any   @since 0.1
 */
UDPA_API udpa_err udpa_error_code(const udpa_error *error);

/** The whole text, causes included ("cannot read x.yaml: line 3: …").
 * @param error borrowed; NULL gives "success".
 * @return a string owned by @p error.
 * @thread any   @since 0.1
 */
UDPA_API const char *udpa_error_message(const udpa_error *error);

UDPA_DEFINE_CLEANUP(udpa_error, udpa_error_unref)

UDPA_END_DECLS

#endif
