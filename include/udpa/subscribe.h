/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file subscribe.h
 * Subscribing to resources, and answering for them.
 */
#ifndef UDPA_SUBSCRIBE_H
#define UDPA_SUBSCRIBE_H

#include <udpa/endpoint.h>
#include <udpa/resource.h>

UDPA_BEGIN_DECLS

/** A subscription; owned by its endpoint. */
typedef struct udpa_subscription udpa_subscription;

/** Changes that belong together; see udpa_update_fn. */
typedef struct udpa_update udpa_update;

/** Called with changes.
 *
 * What the subscriber refuses with udpa_update_refuse() is reported to its sender, as the receipt.
 * @param userdata of the subscription.
 * @param update   borrowed for the call, unless udpa_update_defer() was called with it.
 */
typedef void (*udpa_update_fn)(void *userdata, udpa_update *update);

/** What to subscribe to. */
typedef struct udpa_subscribe_options {
    size_t struct_size; /**< sizeof(udpa_subscribe_options) */
    /** Such as "type.googleapis.com/envoy.config.cluster.v3.Cluster", or without the part before
     * the last slash; required. */
    const char *type_url;
    /** All resources in this namespace and below it, such as "com.acme"; "": all there are. Not
     * together with names. */
    const char *name_space;
    /** These resources alone, by full name or alias. */
    const char *const *names;
    size_t n_names;
    /** Required. */
    udpa_update_fn update;
    /** All that there is was reported: what was asked for and has not come does not exist. Called
     * once, and again after a time in which that was not certain. Of a source that is no management
     * node, such as another endpoint, it means nothing: what that publishes comes when it does. May
     * be NULL. */
    void (*complete)(void *userdata);
    void *userdata;
} udpa_subscribe_options;

/** Initialiser of udpa_subscribe_options. */
#define UDPA_SUBSCRIBE_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(udpa_subscribe_options), NULL, NULL, NULL, 0, NULL, NULL, NULL                      \
    }

/** Subscribe. What is there already comes first; nothing is called back before this returns.
 * @param ret_subscription [out] the endpoint's, until udpa_unsubscribe(); untouched on failure.
 * @param endpoint         of which.
 * @param options          borrowed; copied.
 * @param ret_error        [out] what is wrong; may be NULL.
 * @return UDPA_OK; UDPA_ERR_INVAL a type, namespace or name that may not be; UDPA_ERR_CLOSED the
 *         endpoint is being closed; UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_subscribe(udpa_subscription **ret_subscription,
                                               udpa_endpoint *endpoint,
                                               const udpa_subscribe_options *options,
                                               udpa_error **ret_error);

/** End a subscription; nothing is called back for it any more. NULL does nothing. It may be called
 * from inside any callback; an update that was deferred must still be answered, unless the endpoint
 * is closed.
 * @thread the loop's   @since 0.1
 */
UDPA_API void udpa_unsubscribe(udpa_subscription *subscription);

/** How many resources are in an update.
 * @return at least 1.
 * @thread the loop's   @since 0.1
 */
UDPA_API size_t udpa_update_size(const udpa_update *update);

/** One of them.
 * @param update borrowed.
 * @param index  below udpa_update_size().
 * @return borrowed from @p update; of a removal, what the resource was last. NULL: no such index.
 * @thread the loop's   @since 0.1
 */
UDPA_API udpa_resource *udpa_update_resource(const udpa_update *update, size_t index);

/** Is it a removal?
 * @return 1: removed; 0: new or changed.
 * @thread the loop's   @since 0.1
 */
UDPA_API int udpa_update_is_removal(const udpa_update *update, size_t index);

/** Refuse one. The subscriber stays with what it has; the sender of this gets the reason.
 * @param update as handed to the callback.
 * @param index  below udpa_update_size(); removals are not refused.
 * @param code   why, for programs; not UDPA_OK.
 * @param reason why, for people: one sentence.
 * @thread the loop's   @since 0.1
 */
UDPA_API void
udpa_update_refuse(udpa_update *update, size_t index, udpa_err code, const char *reason);

/** The answer takes longer than the callback: keep the update, and call udpa_update_done() once
 * with it. After 30 s the answer is DEADLINE_EXCEEDED.
 * @thread the loop's   @since 0.1
 */
UDPA_API void udpa_update_defer(udpa_update *update);

/** The answer of a deferred update is there; releases it. May be called inside the callback.
 * @thread the loop's   @since 0.1
 */
UDPA_API void udpa_update_done(udpa_update *update);

UDPA_END_DECLS

#endif
