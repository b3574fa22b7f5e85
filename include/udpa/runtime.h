/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file runtime.h
 * Values that change while a program runs: a tree of keys, made of layers, of which later ones
 * override earlier ones. Layers are the program's own values, directories that are swapped, what an
 * administrator sets, and what a management server sends (RTDS).
 */

/* A value is a text, and its meaning is determined when it arrives: an integer, a number, true or
 * false, a fraction. A value that is not found, is empty, or has no such meaning, is the default
 * that the caller gives.
 *
 * Making, changing and closing belong to the thread that runs the loop. Reading takes no lock, and
 * any thread may read: all of a snapshot was true at one moment. */
#ifndef UDPA_RUNTIME_H
#define UDPA_RUNTIME_H

#include <stdint.h>

#include <udpa/endpoint.h>

UDPA_BEGIN_DECLS

/** A runtime on a loop, which it keeps running. Release with udpa_runtime_close(). */
typedef struct udpa_runtime udpa_runtime;

/** All values as they were at one moment. Never changes; counted atomically; any thread. */
typedef struct udpa_runtime_snapshot udpa_runtime_snapshot;

/** Where a layer comes from. */
typedef enum udpa_runtime_layer_kind {
    UDPA_RUNTIME_STATIC = 0, /**< the program itself */
    UDPA_RUNTIME_DISK = 1,   /**< a directory, in which each file is a value */
    UDPA_RUNTIME_ADMIN = 2,  /**< udpa_runtime_modify(); at most one */
    UDPA_RUNTIME_RTDS = 3    /**< a resource of type envoy.service.runtime.v3.Runtime */
} udpa_runtime_layer_kind;

/** A key and its value. */
typedef struct udpa_runtime_setting {
    /** Such as "health_check.min_interval": at most 1024 bytes of UTF-8; no part between its dots
     * is "numerator" or "denominator". */
    const char *key;
    /** Of UTF-8; NULL is "". Of a fraction as {"numerator": 5, "denominator": "MILLION"}. */
    const char *value;
} udpa_runtime_setting;

/** What a layer is made of. Fields of other kinds are not looked at. */
typedef struct udpa_runtime_layer {
    size_t struct_size; /**< sizeof(udpa_runtime_layer) */
    const char *name;   /**< Required, and unique. */
    udpa_runtime_layer_kind kind;
    /** STATIC: of one key the last value counts. */
    const udpa_runtime_setting *settings;
    size_t n_settings;
    /** STATIC: before the settings, the fields of a serialised google.protobuf.Struct; NULL: none.
     */
    const void *fields;
    size_t fields_size;
    /** DISK: a directory, or better a symbolic link to one, which is swapped for another:
     * ln -s v2 new && mv -Tf new current. Required. It need not be there. */
    const char *symlink_root;
    /** DISK: the layer lies there below it; NULL: in itself. */
    const char *subdirectory;
    /** DISK: and below that, in the directory that is called as the service_cluster. */
    bool append_service_cluster;
    /** RTDS: the subscriber. Borrowed: the runtime is closed before the endpoint. */
    udpa_endpoint *endpoint;
    /** RTDS: the full name of the resource, such as "com.acme/runtime". Until it comes the layer is
     * not there; when it is removed, it is empty. One that may not be is refused, and the layer
     * stays as it was. */
    const char *resource_name;
} udpa_runtime_layer;

/** Initialiser of udpa_runtime_layer. */
#define UDPA_RUNTIME_LAYER_INIT                                                                    \
    {                                                                                              \
        sizeof(udpa_runtime_layer), NULL, UDPA_RUNTIME_STATIC, NULL, 0, NULL, 0, NULL, NULL,       \
            false, NULL, NULL                                                                      \
    }

/** Called when the effective values have changed; once for all that has changed since the last
 * time.
 * @param userdata of the options.
 * @param now      the effective values; borrowed for the call.
 */
typedef void (*udpa_runtime_changed_fn)(void *userdata, const udpa_runtime_snapshot *now);

/** What a runtime is made of. */
typedef struct udpa_runtime_options {
    size_t struct_size; /**< sizeof(udpa_runtime_options) */
    /** Of each key the last one that has it is effective; at most 64. None: one of kind ADMIN,
     * "admin".
     */
    const udpa_runtime_layer *layers;
    size_t n_layers;
    /** For append_service_cluster; NULL: none. */
    const char *service_cluster;
    udpa_runtime_changed_fn changed; /**< May be NULL. */
    void *userdata;                  /**< Handed to it. */
} udpa_runtime_options;

/** Initialiser of udpa_runtime_options. */
#define UDPA_RUNTIME_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(udpa_runtime_options), NULL, 0, NULL, NULL, NULL                                    \
    }

/** Make a runtime. What lies on disk is read before this returns, and watched from then on; files
 * in which something is wrong are no failure, but an error of their layer, which is left out whole
 * until it is fixed.
 * @param ret_runtime [out] untouched on failure.
 * @param loop        must outlive the runtime; not run by it.
 * @param options     borrowed; everything in it is copied, but the endpoints.
 * @param ret_error   [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a layer that may not be; UDPA_ERR_LIMIT too many, or too much in
 *         one; UDPA_ERR_MALFORMED fields that are no struct; UDPA_ERR_CLOSED an endpoint is being
 *         closed; UDPA_ERR_IO the loop has no room; UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_runtime_new(udpa_runtime **ret_runtime,
                                                 struct uv_loop_s *loop,
                                                 const udpa_runtime_options *options,
                                                 udpa_error **ret_error);

/** Release a runtime. No thread reads it any more; snapshots that were taken stay. May be called
 * from inside any callback; no change is reported any more.
 * @param runtime  not to be used any more.
 * @param closed   called when nothing of it is left, after the loop has run on; may be NULL.
 * @param userdata handed to @p closed.
 * @thread the loop's   @since 0.1
 */
UDPA_API void
udpa_runtime_close(udpa_runtime *runtime, void (*closed)(void *userdata), void *userdata);

/** Set and unset values in the layer of kind ADMIN. All of it is effective at once, or nothing.
 * @param runtime   the one with the layer.
 * @param settings  borrowed; copied. An empty value: what was set is removed.
 * @param n         how many.
 * @param ret_error [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_UNAVAILABLE there is no such layer; UDPA_ERR_INVAL, UDPA_ERR_LIMIT a
 *         key or a value that may not be; UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_runtime_modify(udpa_runtime *runtime,
                                                    const udpa_runtime_setting *settings,
                                                    size_t n,
                                                    udpa_error **ret_error);

/** How a layer is. */
typedef struct udpa_runtime_layer_state {
    size_t struct_size; /**< sizeof(udpa_runtime_layer_state) */
    const char *name;   /**< The runtime's. */
    udpa_runtime_layer_kind kind;
    bool is_there; /**< Does it count? A directory that does not exist, for one, does not. */
    size_t n_keys;
    /** Why it is left out or, of RTDS, why the newest resource was refused; NULL: nothing is wrong.
     * Borrowed until the loop runs on. */
    const udpa_error *error;
} udpa_runtime_layer_state;

/** Initialiser of udpa_runtime_layer_state. */
#define UDPA_RUNTIME_LAYER_STATE_INIT                                                              \
    {                                                                                              \
        sizeof(udpa_runtime_layer_state), NULL, UDPA_RUNTIME_STATIC, false, 0, NULL                \
    }

/** Look at a layer; for pages of an administrator.
 * @param runtime   borrowed.
 * @param index     of the layer, as in the options.
 * @param ret_state begins with UDPA_RUNTIME_LAYER_STATE_INIT; filled in.
 * @return false: there is no such layer.
 * @thread the loop's   @since 0.1
 */
UDPA_API bool udpa_runtime_layer_read(const udpa_runtime *runtime,
                                      size_t index,
                                      udpa_runtime_layer_state *ret_state);

/** By the names that Envoy has for them. */
typedef struct udpa_runtime_statistics {
    size_t struct_size; /**< sizeof(udpa_runtime_statistics) */
    uint64_t admin_overrides_active;
    uint64_t deprecated_feature_use;
    uint64_t deprecated_feature_seen_since_process_start;
    uint64_t load_error;
    uint64_t load_success;
    uint64_t num_keys;
    uint64_t num_layers;
    uint64_t override_dir_exists;
    uint64_t override_dir_not_exists;
} udpa_runtime_statistics;

/** Initialiser of udpa_runtime_statistics. */
#define UDPA_RUNTIME_STATISTICS_INIT                                                               \
    {                                                                                              \
        sizeof(udpa_runtime_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0                                 \
    }

/** Read the statistics. Those of deprecated features count uses of what is marked so in resources
 * that a node takes; no function here does.
 * @param runtime        borrowed.
 * @param ret_statistics begins with UDPA_RUNTIME_STATISTICS_INIT; filled in.
 * @thread the loop's   @since 0.1
 */
UDPA_API void udpa_runtime_statistics_read(const udpa_runtime *runtime,
                                           udpa_runtime_statistics *ret_statistics);

/* ---- effective values; nanoseconds each ---- */

/** So many of a hundred, of ten thousand, of a million. */
typedef struct udpa_runtime_fraction {
    uint32_t numerator;
    uint32_t denominator; /**< 100, 10000 or 1000000 */
} udpa_runtime_fraction;

/** Is it true? An integer is, if it is not 0.
 * @param key       a string.
 * @param otherwise the default.
 * @return the effective value.
 * @thread any   @since 0.1
 */
UDPA_API bool udpa_runtime_bool(udpa_runtime *runtime, const char *key, bool otherwise);

/** An integer that is not negative; other numbers are rounded down.
 * @param key       a string.
 * @param otherwise the default.
 * @return the effective value.
 * @thread any   @since 0.1
 */
UDPA_API uint64_t udpa_runtime_uint64(udpa_runtime *runtime, const char *key, uint64_t otherwise);

/** A number.
 * @param key       a string.
 * @param otherwise the default.
 * @return the effective value.
 * @thread any   @since 0.1
 */
UDPA_API double udpa_runtime_double(udpa_runtime *runtime, const char *key, double otherwise);

/** A text.
 * @param key       a string.
 * @param otherwise the default; may be NULL.
 * @return the effective value, until this thread reads from any runtime the next time; or @p
 *         otherwise, also while there is no memory for what each thread needs once.
 * @thread any   @since 0.1
 */
UDPA_API const char *
udpa_runtime_string(udpa_runtime *runtime, const char *key, const char *otherwise);

/** Is a feature on for this one, a request for instance? It is for so many of a hundred as the
 * integer or the fraction gives.
 * @param key     a string.
 * @param percent the default: of a hundred.
 * @param draw    a random number of 64 bits; or a hash, for the same answer to the same one.
 * @return true or false.
 * @thread any   @since 0.1
 */
UDPA_API bool udpa_runtime_feature_enabled(udpa_runtime *runtime,
                                           const char *key,
                                           uint32_t percent,
                                           uint64_t draw);

/** The same, with a fraction as the default.
 * @param key      a string.
 * @param fraction the default; with a denominator that it may not have it is 0.
 * @param draw     as above.
 * @return true or false.
 * @thread any   @since 0.1
 */
UDPA_API bool udpa_runtime_fraction_enabled(udpa_runtime *runtime,
                                            const char *key,
                                            udpa_runtime_fraction fraction,
                                            uint64_t draw);

/* ---- what counted at one moment ---- */

/** The effective values, for several values that belong together: no reference is taken.
 * @return borrowed until this thread reads from any runtime the next time. NULL: there is no memory
 *         for what each thread needs once; then the functions below return their defaults, and
 *         udpa_runtime_take() needs none.
 * @thread any   @since 0.1
 */
UDPA_API const udpa_runtime_snapshot *udpa_runtime_peek(udpa_runtime *runtime);

/** The same, to be kept.
 * @return a new reference, release with udpa_runtime_snapshot_unref(); never NULL.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_runtime_snapshot *udpa_runtime_take(udpa_runtime *runtime);

/** Take a reference. @p snapshot may be NULL.
 * @return @p snapshot.
 * @thread any   @since 0.1
 */
UDPA_API udpa_runtime_snapshot *udpa_runtime_snapshot_ref(udpa_runtime_snapshot *snapshot);

/** Drop a reference. @p snapshot may be NULL.
 * @return NULL.
 * @thread any   @since 0.1
 */
UDPA_API udpa_runtime_snapshot *udpa_runtime_snapshot_unref(udpa_runtime_snapshot *snapshot);

/** As udpa_runtime_bool(). @return what counted. @thread any   @since 0.1 */
UDPA_API bool
udpa_runtime_snapshot_bool(const udpa_runtime_snapshot *snapshot, const char *key, bool otherwise);

/** As udpa_runtime_uint64(). @return what counted. @thread any   @since 0.1 */
UDPA_API uint64_t udpa_runtime_snapshot_uint64(const udpa_runtime_snapshot *snapshot,
                                               const char *key,
                                               uint64_t otherwise);

/** As udpa_runtime_double(). @return what counted. @thread any   @since 0.1 */
UDPA_API double udpa_runtime_snapshot_double(const udpa_runtime_snapshot *snapshot,
                                             const char *key,
                                             double otherwise);

/** As udpa_runtime_string(). @return the snapshot's, or @p otherwise. @thread any   @since 0.1 */
UDPA_API const char *udpa_runtime_snapshot_string(const udpa_runtime_snapshot *snapshot,
                                                  const char *key,
                                                  const char *otherwise);

/** As udpa_runtime_fraction_enabled(). @return true or false. @thread any   @since 0.1 */
UDPA_API bool udpa_runtime_snapshot_fraction_enabled(const udpa_runtime_snapshot *snapshot,
                                                     const char *key,
                                                     udpa_runtime_fraction fraction,
                                                     uint64_t draw);

/** The layers that were there.
 * @return how many.
 * @thread any   @since 0.1
 */
UDPA_API size_t udpa_runtime_snapshot_n_layers(const udpa_runtime_snapshot *snapshot);

/** What one of them has of a key; for pages of an administrator.
 * @param snapshot borrowed.
 * @param index    below udpa_runtime_snapshot_n_layers().
 * @param key      a string; NULL: the layer's name is returned.
 * @return the snapshot's; NULL: nothing, or there is no such layer.
 * @thread any   @since 0.1
 */
UDPA_API const char *
udpa_runtime_snapshot_layer(const udpa_runtime_snapshot *snapshot, size_t index, const char *key);

/** Go through all keys in their order, with the effective value of each.
 * @param snapshot borrowed.
 * @param each     called with strings that are the snapshot's; false ends it.
 * @param userdata handed to @p each.
 * @return UDPA_OK; UDPA_ERR_NOMEM, before the first one.
 * @thread any   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_runtime_snapshot_each(const udpa_runtime_snapshot *snapshot,
                                                           bool (*each)(void *userdata,
                                                                        const char *key,
                                                                        const char *value),
                                                           void *userdata);

UDPA_DEFINE_CLEANUP(udpa_runtime_snapshot, udpa_runtime_snapshot_unref)

UDPA_END_DECLS

#endif
