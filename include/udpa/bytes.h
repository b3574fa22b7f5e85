/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file bytes.h
 * Immutable bytes that are shared instead of copied.
 */
#ifndef UDPA_BYTES_H
#define UDPA_BYTES_H

#include <stddef.h>

#include <udpa/error.h>

UDPA_BEGIN_DECLS

/** Immutable bytes; counted atomically; any thread. */
typedef struct udpa_bytes udpa_bytes;

/** Copy bytes into a new object.
 * @param ret_bytes [out] new reference, release with udpa_bytes_unref(); untouched on failure.
 * @param data      @p size bytes, copied; may be NULL iff @p size is 0.
 * @return UDPA_OK; UDPA_ERR_INVAL NULL data with a size; UDPA_ERR_NOMEM, also for what is
 * larger than 4 GiB.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_bytes_new(udpa_bytes **ret_bytes,
                                               const void *data,
                                               size_t size);

/** Take a reference. @p bytes may be NULL.
 * @return @p bytes.
 * @thread any   @since 0.1
 */
UDPA_API udpa_bytes *udpa_bytes_ref(udpa_bytes *bytes);

/** Drop a reference. @p bytes may be NULL.
 * @return NULL.
 * @thread any   @since 0.1
 */
UDPA_API udpa_bytes *udpa_bytes_unref(udpa_bytes *bytes);

/** The bytes; valid as long as the reference.
 * @return a pointer to udpa_bytes_size() bytes; never NULL.
 * @thread any   @since 0.1
 */
UDPA_API const void *udpa_bytes_data(const udpa_bytes *bytes);

/** Their number.
 * @return the size in bytes.
 * @thread any   @since 0.1
 */
UDPA_API size_t udpa_bytes_size(const udpa_bytes *bytes);

UDPA_DEFINE_CLEANUP(udpa_bytes, udpa_bytes_unref)

UDPA_END_DECLS

#endif
