/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an order and as a report from another process of the node. What is taken in is whole
 * and passes the rules for peers, can be told again, and is then taken in as the same. The first
 * byte says which of the two, so that both can have seeds. */
#include "base/utf8.h"
#include "session/transfer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/transfer.h"

static void
check_error(udpa_err err, udpa_error *error)
{
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(err == UDPA_OK || err == UDPA_ERR_MALFORMED);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    udpa_error_unref(error);
}

/* What is kept for later is the same for a reader that has read nothing else. */
static void
check_order(udpai_transfer *transfer, udpai_str bytes)
{
    udpai_transfer other;
    UDPA_AUTO(udpai_order_free) udpai_order *order = NULL;
    UDPA_AUTO(udpai_order_free) udpai_order *again = NULL;
    udpai_strbuf told = {0};
    udpa_error *error = NULL;
    udpa_err err = udpai_order_decode(transfer, bytes, &order, &error);
    check_error(err, error);
    FUZZ_CHECK((err == UDPA_OK) == (order != NULL));
    if (!order)
        return;
    FUZZ_CHECK(udpai_order_encode(order, &told) == UDPA_OK);
    udpai_transfer_init(&other);
    FUZZ_CHECK(udpai_order_decode(&other, udpai_strbuf_view(&told), &again, NULL) == UDPA_OK);
    FUZZ_CHECK(same_order(order, again));
    udpai_transfer_done(&other);
    udpai_strbuf_done(&told);
}

static void
check_publication(const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        udpai_resource_room room;
        udpai_resource_parts parts = udpai_resource_parts_of(entry->resource, &room);
        FUZZ_CHECK(udpai_utf8_valid(parts.name) && udpai_utf8_valid(parts.version));
        FUZZ_CHECK(entry->error || udpai_resource_parts_check(&parts, NULL) == UDPA_OK);
        FUZZ_CHECK(entry->error || entry->is_refresh || udpai_resource_any_size(entry->resource));
    }
}

static void
check_report(udpai_transfer *transfer, udpai_str bytes)
{
    udpai_transfer other;
    UDPA_AUTO(udpai_report_free) udpai_report *report = NULL;
    UDPA_AUTO(udpai_report_free) udpai_report *again = NULL;
    udpai_strbuf told = {0};
    udpa_error *error = NULL;
    udpa_err err = udpai_report_decode(transfer, bytes, &report, &error);
    check_error(err, error);
    FUZZ_CHECK((err == UDPA_OK) == (report != NULL));
    if (!report)
        return;
    if (report->kind == UDPAI_REPORT_PUBLICATION)
        check_publication(report->publication);
    FUZZ_CHECK(udpai_report_encode(report, &told) == UDPA_OK);
    udpai_transfer_init(&other);
    FUZZ_CHECK(udpai_report_decode(&other, udpai_strbuf_view(&told), &again, NULL) == UDPA_OK);
    FUZZ_CHECK(same_report(report, again));
    udpai_transfer_done(&other);
    udpai_strbuf_done(&told);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str bytes = {(const char *)data, size};
    unsigned long before = udpai_alloc_live();
    bool is_report = fuzz_take_byte(&bytes) & 1;
    udpai_transfer transfer;
    udpai_transfer_init(&transfer);
    for (int i = 0; i < 2; i++) /* the second time with what was kept */
        if (is_report)
            check_report(&transfer, bytes);
        else
            check_order(&transfer, bytes);
    udpai_transfer_done(&transfer);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
