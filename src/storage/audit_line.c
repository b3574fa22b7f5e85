/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/audit_line.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <time.h>

#define SEQ "{\"seq\":"
#define TABLE ",\"table\":\""
#define AT "\",\"at\":\""
#define BEFORE ",\"before\":\""
#define END "\"}"

static void
put_time(udpai_strbuf *out, int64_t at_us)
{
    struct tm utc;
    char text[32] = "";
    time_t seconds = (time_t)(at_us / 1000000);
    if (gmtime_r(&seconds, &utc))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    udpai_strbuf_printf(out, "%s.%06" PRId64 "Z", text, at_us % 1000000);
}

void
udpai_audit_line_put(udpai_strbuf *out,
                     const char *table,
                     const udpai_audit_row *row,
                     const char *before)
{
    udpai_strbuf_printf(out, SEQ "%" PRId64 TABLE "%s" AT, row->seq, table);
    put_time(out, row->at_us);
    udpai_strbuf_putc(out, '"');
    if (row->record.len > 2) { /* the fields, without the braces around them */
        udpai_strbuf_putc(out, ',');
        udpai_strbuf_append(out, row->record.data + 1, row->record.len - 2);
    }
    if (before)
        udpai_strbuf_printf(out, BEFORE "%s\"", before);
    udpai_strbuf_putc(out, '}');
}

bool
udpai_audit_line_hash(udpai_str line, udpai_audit_hash ret_hash)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    if (!EVP_Digest(line.data, line.len, digest, &len, EVP_sha256(), NULL) ||
        2 * len != UDPAI_AUDIT_HASH_LEN)
        return false;
    for (unsigned i = 0; i < len; i++)
        snprintf(ret_hash + (size_t)2 * i, 3, "%02x", digest[i]);
    return true;
}

/* ---- reading ---- */

/* Moves on behind it; false: the text does not begin with it. */
static bool
skip(udpai_str *text, udpai_str head)
{
    if (!udpai_str_starts(*text, head))
        return false;
    *text = (udpai_str){text->data + head.len, text->len - head.len};
    return true;
}

static bool
read_seq(udpai_str *text, int64_t *ret_seq)
{
    uint64_t seq = 0;
    size_t n = 0;
    while (n < text->len && n < 19 && text->data[n] >= '0' && text->data[n] <= '9')
        seq = seq * 10 + (uint64_t)(text->data[n++] - '0');
    *ret_seq = (int64_t)seq;
    *text = (udpai_str){text->data + n, text->len - n};
    return n > 0 && seq <= INT64_MAX;
}

bool
udpai_audit_line_read(udpai_str line, udpai_audit_place *ret_place)
{
    udpai_str rest = line, table;
    size_t tail = sizeof(BEFORE) - 1 + UDPAI_AUDIT_HASH_LEN + sizeof(END) - 1;
    if (!skip(&rest, UDPAI_STR(SEQ)) || !read_seq(&rest, &ret_place->seq) ||
        !skip(&rest, UDPAI_STR(TABLE)) || !udpai_str_cut(&rest, '"', &table) ||
        table.len >= sizeof(ret_place->table) || rest.len < tail)
        return false;
    snprintf(ret_place->table, sizeof(ret_place->table), "%.*s", (int)table.len, table.data);
    rest = (udpai_str){line.data + line.len - tail, tail};
    if (!skip(&rest, UDPAI_STR(BEFORE)))
        return false;
    snprintf(ret_place->before, sizeof(ret_place->before), "%.*s", UDPAI_AUDIT_HASH_LEN, rest.data);
    rest = (udpai_str){rest.data + UDPAI_AUDIT_HASH_LEN, rest.len - UDPAI_AUDIT_HASH_LEN};
    return udpai_str_eq(rest, UDPAI_STR(END));
}
