/* SPDX-License-Identifier: Apache-2.0 */
/* A hub with one topic of access logs, and streams of who writes and who reads. */
#ifndef UDPAI_TESTS_SESSION_BED_H
#define UDPAI_TESTS_SESSION_BED_H

#include "base/bytes.h"
#include "sinks/sinks.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static fake_hub hub;
static udpai_topics sinks;
static fake_stream stream, reader;

static inline void
session_bed_init(udpai_acl *acl, size_t max_entries)
{
    udpai_hub_options options = fake_hub_options();
    const udpai_topic_options topic = {UDPAI_EVENT_ACCESS_LOG, max_entries, 10000, 0};
    options.acl = acl;
    options.topics = &sinks;
    fake_hub_init(&hub, &options);
    sinks = (udpai_topics){.node_id = UDPAI_STR("node")};
    assert_ok(udpai_topic_new(&sinks.topics[UDPAI_EVENT_ACCESS_LOG], &topic));
}

/* Rules for writers called edge-*, and for readers called admin. */
static inline udpai_acl *
session_bed_acl(bool is_dry_run)
{
    static const udpai_str edges[] = {T("edge-*")}, admins[] = {T("admin")},
                           logs[] = {T("*accesslog.v3.StreamAccessLogsMessage")};
    static const udpai_acl_rule rules[] = {
        {T("edges"), edges, 1, UDPAI_ACL_PUBLISH, logs, 1, NULL, 0, NULL, 0},
        {T("admins"), admins, 1, UDPAI_ACL_ADMIN, NULL, 0, NULL, 0, NULL, 0},
    };
    const udpai_acl_options options = {.rules = rules,
                                       .n_rules = UDPAI_ARRAY_LEN(rules),
                                       .is_dry_run = is_dry_run,
                                       .trusts_node_ids = true};
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &options));
    return acl;
}

static inline int
session_bed_setup(void **state)
{
    (void)state;
    session_bed_init(NULL, 10);
    return 0;
}

static inline int
session_bed_done(void **state)
{
    (void)state;
    fake_stream_close(&stream);
    fake_stream_close(&reader);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        sinks.topics[i] = udpai_topic_free(sinks.topics[i]);
    fake_hub_done(&hub);
    wire_free_all();
    return 0;
}

static inline void
open_stream(const char *address)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, address, strlen(address)));
    const udpai_stream_info info = {.address = bytes,
                                    .context = sinks.topics[UDPAI_EVENT_ACCESS_LOG]};
    fake_stream_open(&stream, &hub, udpai_sink_session_new, &info);
    udpa_bytes_unref(bytes);
}

static inline void
receive(fake_stream *at, udpai_str message)
{
    fake_stream_receive(at, message.data, message.len);
}

static inline udpai_str
who(const char *id, const char *log)
{
    return W_MESSAGE(1, wire_bytes(1, W_TEXT(1, id)), W_TEXT(2, log));
}

static inline udpai_str
entry(const char *text)
{
    return W_MESSAGE(2, W_TEXT(1, text));
}

static inline udpai_topic_facts
facts(void)
{
    udpai_topic_facts found;
    udpai_topic_facts_get(sinks.topics[UDPAI_EVENT_ACCESS_LOG], &found);
    return found;
}

static inline void
expect_end(const fake_stream *at, udpa_err code, const char *words)
{
    assert_true(at->is_finished);
    assert_int_equal(udpa_error_code(at->status), code);
    if (words && !strstr(udpa_error_message(at->status), words))
        fail_msg("'%s' has not '%s'", udpa_error_message(at->status), words);
}

#endif
