/* SPDX-License-Identifier: Apache-2.0 */
/* One order and one report of each kind, with all that it may have, for tests of how they cross to
 * another process. What is made here must be there: the tests end else. */
#ifndef UDPAI_TESTS_TRANSFER_ITEMS_H
#define UDPAI_TESTS_TRANSFER_ITEMS_H

#include "session/transfer.h"
#include "tests/harness/test.h"

/* One of both; so that what holds for both is tested once. */
typedef struct transfer_item {
    udpai_order *order;
    udpai_report *report;
} transfer_item;

#define TRANSFER_ITEMS (UDPAI_ORDER_KINDS + UDPAI_REPORT_KINDS)

/* By their kinds, orders first; nothing for a DIAL. */
transfer_item transfer_make_item(unsigned which);
void transfer_free_item(transfer_item *of);
udpa_err transfer_encode_item(const transfer_item *of, udpai_strbuf *buffer);
udpa_err transfer_decode_item(udpai_transfer *transfer,
                              bool is_order,
                              udpai_str bytes,
                              transfer_item *ret,
                              udpa_error **ret_error);
bool transfer_same_item(const transfer_item *a, const transfer_item *b);

udpai_order *transfer_make_order(udpai_order_kind kind);
udpai_report *transfer_make_report(udpai_report_kind kind);

/* ---- parts ---- */

#define TRANSFER_RESOURCES 4 /* a full one, a variant, a redirect, a plain one */

udpa_resource *transfer_make_resource(size_t which);
udpai_acl *transfer_make_acl(void);
udpai_node_info *transfer_make_info(void);
udpai_subscription_message *transfer_make_subscription(size_t n_names);
udpai_publication *transfer_make_publication(void);
/* Consumes the resource; `why` may be NULL. */
void transfer_add_entry(udpai_publication *publication,
                        udpa_resource *resource,
                        bool is_refresh,
                        const char *why);
void transfer_add_status(udpai_report *report, const char *status);

#endif
