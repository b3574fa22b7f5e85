/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/tar.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"

#define BLOCK ((size_t)512)
#define CUT "\n(cut: it is longer)\n"

/* ---- the archive ---- */

typedef struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], time[12], checksum[8], kind, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
} header;

_Static_assert(sizeof(header) == BLOCK, "a header is a block");

static void
put_zeros(udpai_strbuf *tar, size_t n)
{
    for (; n; n--)
        udpai_strbuf_putc(tar, '\0');
}

static void
put_file(udpai_strbuf *tar, const char *name, udpai_str text, int64_t time_s)
{
    header head = {.kind = '0', .magic = "ustar", .version = {'0', '0'}};
    unsigned sum = 0;
    snprintf(head.name, sizeof(head.name), "%s", name);
    snprintf(head.mode, sizeof(head.mode), "%07o", 0600);
    snprintf(head.uid, sizeof(head.uid), "%07o", 0);
    snprintf(head.gid, sizeof(head.gid), "%07o", 0);
    snprintf(head.size, sizeof(head.size), "%011zo", text.len);
    snprintf(head.time, sizeof(head.time), "%011" PRIo64, (uint64_t)time_s & 077777777777);
    memset(head.checksum, ' ', sizeof(head.checksum));
    for (size_t i = 0; i < sizeof(head); i++)
        sum += ((const unsigned char *)&head)[i];
    snprintf(head.checksum, sizeof(head.checksum), "%06o", sum);
    udpai_strbuf_append(tar, &head, sizeof(head));
    udpai_strbuf_str(tar, text);
    put_zeros(tar, (BLOCK - text.len % BLOCK) % BLOCK);
}

void
udpai_ctl_tar_add(udpai_strbuf *tar, const char *name, udpai_str text, int64_t time_s)
{
    udpai_strbuf cut = {0};
    if (text.len <= UDPAI_CTL_TAR_TEXT_MAX) {
        put_file(tar, name, text, time_s);
        return;
    }
    udpai_strbuf_append(&cut, text.data, UDPAI_CTL_TAR_TEXT_MAX);
    udpai_strbuf_puts(&cut, CUT);
    tar->failed |= udpai_strbuf_failed(&cut);
    put_file(tar, name, udpai_strbuf_view(&cut), time_s);
    udpai_strbuf_done(&cut);
}

void
udpai_ctl_tar_end(udpai_strbuf *tar)
{
    put_zeros(tar, 2 * BLOCK);
}

/* ---- secrets ---- */

static bool
begins(udpai_str text, const char *word)
{
    size_t len = strlen(word);
    return text.len >= len && strncasecmp(text.data, word, len) == 0;
}

/* How long the block of PEM is that begins here; 0: it is none, or no private key. One without an
 * end goes on to the end. */
static size_t
key_len(udpai_str text)
{
    static const char begin[] = "-----BEGIN ", end[] = "-----END ";
    if (!begins(text, begin))
        return 0;
    const char *dashes = memmem(text.data + 11, udpai_min_size(text.len - 11, 64), "-----", 5);
    size_t n_title = dashes ? (size_t)(dashes - text.data) : udpai_min_size(text.len, 75);
    if (!memmem(text.data, n_title, "PRIVATE KEY", 11))
        return 0;
    const char *last = memmem(text.data, text.len, end, sizeof(end) - 1);
    size_t at = last ? (size_t)(last - text.data) + sizeof(end) - 1 : text.len;
    last = at < text.len ? memmem(text.data + at, text.len - at, "-----", 5) : NULL;
    return last ? (size_t)(last - text.data) + 5 : text.len;
}

/* How long the word is that names a secret, with all up to its value: password="… */
static size_t
name_len(udpai_str text)
{
    static const char *const words[] = {"password", "passwd",        "passphrase",
                                        "token",    "secret",        "apikey",
                                        "api_key",  "authorization", "private_key"};
    size_t at = 0;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(words) && !at; i++)
        at = begins(text, words[i]) ? strlen(words[i]) : 0;
    if (!at)
        return 0;
    while (at < text.len && (text.data[at] == '"' || text.data[at] == '\''))
        at++;
    if (at == text.len || (text.data[at] != ':' && text.data[at] != '='))
        return 0;
    at++;
    while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t'))
        at++;
    return at;
}

/* A string of JSON, from one quote behind the other. */
static size_t
string_len(udpai_str text)
{
    size_t n = 1;
    while (n < text.len && text.data[n] != *text.data && text.data[n] != '\n')
        n += text.data[n] == '\\' ? 2 : 1;
    return udpai_min_size(n + (n < text.len && text.data[n] == *text.data), text.len);
}

/* An object or list of JSON, as the runtime has for each key. One without an end goes on to the
 * end. */
static size_t
nested_len(udpai_str text)
{
    size_t depth = 0, n = 0;
    do {
        char c = text.data[n];
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        n += c == '"' ? string_len((udpai_str){text.data + n, text.len - n}) : 1;
    } while (depth && n < text.len);
    return n;
}

/* Up to the end of the string, or of the word; "Bearer x" is one. */
static size_t
value_len(udpai_str text)
{
    size_t n = 0;
    if (text.len && (*text.data == '"' || *text.data == '\''))
        return string_len(text);
    if (text.len && (*text.data == '{' || *text.data == '['))
        return nested_len(text);
    if (begins(text, "bearer ") || begins(text, "basic "))
        n = (size_t)((const char *)memchr(text.data, ' ', text.len) - text.data) + 1;
    while (n < text.len && !isspace((unsigned char)text.data[n]) && text.data[n] != ',')
        n++;
    return n;
}

void
udpai_ctl_redact(udpai_strbuf *out, udpai_str text)
{
    while (text.len) {
        size_t n = key_len(text), n_name = n ? 0 : name_len(text);
        if (n) {
            udpai_strbuf_puts(out, UDPAI_CTL_REDACTED);
        } else if (n_name) {
            n = n_name + value_len((udpai_str){text.data + n_name, text.len - n_name});
            bool is_json = n > n_name && strchr("\"{[", text.data[n_name]);
            udpai_strbuf_append(out, text.data, n_name);
            udpai_strbuf_puts(out, is_json      ? "\"" UDPAI_CTL_REDACTED "\""
                                   : n > n_name ? UDPAI_CTL_REDACTED
                                                : "");
        } else {
            n = 1;
            udpai_strbuf_putc(out, *text.data);
        }
        text = (udpai_str){text.data + n, text.len - n};
    }
}
