/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file publish.h
 * Publishing resources to a management server, and its receipts.
 */
#ifndef UDPA_PUBLISH_H
#define UDPA_PUBLISH_H

#include <udpa/endpoint.h>
#include <udpa/resource.h>

UDPA_BEGIN_DECLS

/** What became of a publication; see udpa_receipt_fn. */
typedef struct udpa_receipt udpa_receipt;

/** Called once for each publication.
 * @param userdata of the publication.
 * @param receipt  borrowed for the call.
 */
typedef void (*udpa_receipt_fn)(void *userdata, const udpa_receipt *receipt);

/** What to publish: additions and removals, which apply together. */
typedef struct udpa_publish_options {
    size_t struct_size; /**< sizeof(udpa_publish_options) */
    /** The source to publish to; NULL: the only one. */
    const char *source;
    udpa_resource *const *resources;
    size_t n_resources;
    /** Full names of resources of removed_type_url that this endpoint published before. */
    const char *const *removed_names;
    size_t n_removed_names;
    const char *removed_type_url;
    /** How long the receipt is waited for, the connection included; 0: 30 s. */
    uint64_t timeout_ms;
    /** Required. */
    udpa_receipt_fn receipt;
    void *userdata;
    /** Only try it: the source checks it as ever and changes, records and sends nothing; the
     * receipt has what it would refuse, and what the rest would do. For management nodes; others
     * refuse all of it. */
    bool is_trial;
} udpa_publish_options;

/** Initialiser of udpa_publish_options. */
#define UDPA_PUBLISH_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(udpa_publish_options), NULL, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, false           \
    }

/** Publish. A management node takes what it allows; a peer that has this endpoint as its own source
 * takes only what it has subscribed to, and refuses what comes before. While there is no stream the
 * publication waits for one; if the stream ends before the receipt has come it is published again
 * on the next, which is harmless. Publications to one source go out in the order in which they were
 * begun; 64 at a time are without a receipt, the others wait. After its timeout nothing of a
 * publication is kept; whether the source has taken it is then unknown.
 * @param endpoint  to publish as.
 * @param options   borrowed; what it names is referenced or copied.
 * @param ret_error [out] what is wrong; may be NULL.
 * @return UDPA_OK: the callback will come, from the loop; UDPA_ERR_INVAL nothing to publish, no
 *         such source, or a name that may not be; UDPA_ERR_LIMIT more than 3.5 MiB;
 *         UDPA_ERR_CLOSED the endpoint is being closed; UDPA_ERR_NOMEM.
 * @thread the loop's   @since 0.1
 */
UDPA_API UDPA_MUST_USE udpa_err udpa_publish(udpa_endpoint *endpoint,
                                             const udpa_publish_options *options,
                                             udpa_error **ret_error);

/** Why there is no receipt.
 * @return borrowed; NULL: there is one, and it may still refuse entries.
 * @thread the loop's   @since 0.1
 */
UDPA_API const udpa_error *udpa_receipt_error(const udpa_receipt *receipt);

/** How many entries were published: resources, then removals.
 * @return the number.
 * @thread the loop's   @since 0.1
 */
UDPA_API size_t udpa_receipt_size(const udpa_receipt *receipt);

/** The name of an entry.
 * @return borrowed from the receipt; NULL: no such index.
 * @thread the loop's   @since 0.1
 */
UDPA_API const char *udpa_receipt_name(const udpa_receipt *receipt, size_t index);

/** Why an entry was refused.
 * @return borrowed from the receipt; NULL: it was applied, or there is no receipt.
 * @thread the loop's   @since 0.1
 */
UDPA_API const udpa_error *udpa_receipt_refusal(const udpa_receipt *receipt, size_t index);

/** What an entry that is tried would do to what its publisher has at the node. */
typedef enum udpa_effect {
    UDPA_EFFECT_NOTHING, /**< the node has the same of it already, or nothing to remove */
    UDPA_EFFECT_ADDS,
    UDPA_EFFECT_CHANGES,
    UDPA_EFFECT_REMOVES,           /**< an entry that is refused may do so, too */
    UDPA_EFFECT_REMOVES_ON_BEHALF, /**< removes what it has published on behalf of another
                                      authority */
} udpa_effect;

/** What an entry of a trial would do.
 * @return UDPA_EFFECT_NOTHING where it is no trial, or there is no such index.
 * @thread the loop's   @since 0.1
 */
UDPA_API udpa_effect udpa_receipt_effect(const udpa_receipt *receipt, size_t index);

/** Whose contribution would be effective then, if it is that of another authority or origin.
 * @return its authority, borrowed from the receipt; NULL: the publisher's, or none, or it is no
 *         trial.
 * @thread the loop's   @since 0.1
 */
UDPA_API const char *udpa_receipt_effective(const udpa_receipt *receipt, size_t index);

UDPA_END_DECLS

#endif
