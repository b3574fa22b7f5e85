/* SPDX-License-Identifier: Apache-2.0 */
/* What is in etcd of the audit: a value becomes records, each a line that can be written to a file
 * and read again; and lines of a file, as they are. */
#include "replica/audit.h"
#include "storage/audit_line.h"
#include "store/audit.h"
#include "tests/fuzz/fuzz.h"

static void
check_record(const udpai_durable_op *op)
{
    udpai_strbuf line = {0};
    udpai_audit_place place;
    udpai_audit_hash hash;
    const udpai_audit_row row = {
        .seq = 7,
        .at_us = (int64_t)op->number,
        .record = udpai_bytes_view(op->name),
    };
    FUZZ_CHECK(op->origin && op->number <= INT64_MAX);
    udpai_audit_line_put(&line, "table", &row, UDPAI_AUDIT_FIRST_HASH);
    udpai_str text = udpai_strbuf_view(&line);
    FUZZ_CHECK(!memchr(text.data, '\n', text.len));
    FUZZ_CHECK(udpai_audit_line_read(text, &place) && place.seq == 7);
    FUZZ_CHECK(udpai_audit_line_hash(text, hash));
    udpai_strbuf_done(&line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const udpai_str input = {(const char *)data, size};
    udpai_audit_place place;
    udpai_durable_batch *batch = udpai_durable_batch_new();
    FUZZ_CHECK(batch);
    udpa_err err = udpai_replica_audit_read(UDPAI_STR("a/key"), input, batch);
    FUZZ_CHECK((err == UDPA_OK) == (batch->ops.n > 0));
    for (size_t i = 0; i < batch->ops.n; i++)
        check_record(&batch->ops.items[i]);
    if (udpai_audit_line_read(input, &place))
        FUZZ_CHECK(place.seq >= 0 && strlen(place.before) == UDPAI_AUDIT_HASH_LEN);
    udpai_durable_batch_free(batch);
    return 0;
}
