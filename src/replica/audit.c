/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/audit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "store/audit.h"

#define HEAD "a/"
#define TIME_DIGITS 16
#define SIZE_DIGITS 8
#define NUMBER_DIGITS 16
#define KEY_LEN (2 + TIME_DIGITS + 1 + SIZE_DIGITS + 1 + NUMBER_DIGITS)

bool
udpai_replica_audit_is_key(udpai_str key)
{
    return udpai_str_starts(key, UDPAI_STR(HEAD));
}

/* ---- writing ---- */

static void
put_line(udpai_strbuf *value, const udpai_durable_op *op)
{
    udpai_strbuf_printf(value, "%" PRIu64 " ", op->number);
    udpai_strbuf_str(value, udpai_bytes_view(op->name));
    udpai_strbuf_putc(value, '\n');
}

static udpa_bytes *
make_key(uint64_t at_us, size_t size, uint64_t number)
{
    udpai_strbuf key = {0};
    udpai_strbuf_printf(&key, HEAD "%016" PRIx64 ".%08zx.%016" PRIx64, at_us, size, number);
    return udpai_bytes_of(&key);
}

udpa_err
udpai_replica_audit_next(const udpai_durable_batch *batch,
                         size_t *at,
                         uint64_t number,
                         udpa_bytes **ret_key,
                         udpa_bytes **ret_value)
{
    udpai_strbuf value = {0};
    const udpai_durable_op *op;
    uint64_t at_us = 0;
    *ret_key = *ret_value = NULL;
    while (value.len < UDPAI_REPLICA_AUDIT_VALUE && (op = udpai_audit_next(batch, at))) {
        at_us = at_us ? at_us : op->number;
        put_line(&value, op);
    }
    if (value.len == 0 && !udpai_strbuf_failed(&value))
        return UDPA_OK;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = make_key(at_us, value.len, number);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_bytes_of(&value);
    if (!key || !bytes)
        return UDPA_ERR_NOMEM;
    *ret_key = UDPAI_TAKE(key);
    *ret_value = UDPAI_TAKE(bytes);
    return UDPA_OK;
}

/* ---- reading ---- */

static bool
read_number(udpai_str digits, int base, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (digits.len == 0 || digits.len > 20)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : base;
        if (digit >= base || __builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return false;
    }
    *ret_number = number;
    return true;
}

/* Whoever can write to etcd can write this; it goes into a file of lines. */
static bool
is_record(udpai_str text)
{
    if (text.len < 2 || text.data[0] != '{' || text.data[text.len - 1] != '}')
        return false;
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < ' ')
            return false;
    return true;
}

static udpa_err
add_line(udpai_str key, udpai_str line, unsigned place, udpai_durable_batch *batch)
{
    udpai_str when;
    uint64_t at_us;
    udpai_str record = line;
    if (!udpai_str_cut(&record, ' ', &when) || !read_number(when, 10, &at_us) ||
        at_us > INT64_MAX || !is_record(record))
        return UDPA_ERR_MALFORMED;
    udpai_strbuf source = {0};
    udpai_strbuf_str(&source, (udpai_str){key.data + 2, key.len - 2});
    udpai_strbuf_printf(&source, ".%u", place);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = udpai_bytes_of(&source), *name = NULL;
    if (!origin || udpa_bytes_new(&name, record.data, record.len) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_AUDIT,
                                              .origin = origin,
                                              .name = name,
                                              .number = at_us,
                                          });
}

udpa_err
udpai_replica_audit_read(udpai_str key, udpai_str value, udpai_durable_batch *batch)
{
    size_t n_before = batch->ops.n;
    udpai_str line, rest = value;
    for (unsigned place = 0; udpai_str_cut(&rest, '\n', &line); place++) {
        udpa_err err = add_line(key, line, place, batch);
        if (err == UDPA_ERR_NOMEM)
            return err;
    }
    return batch->ops.n > n_before ? UDPA_OK : UDPA_ERR_MALFORMED;
}

/* ---- the room that they take ---- */

typedef struct found {
    udpa_bytes *key;
    uint64_t at_us, size;
} found;

struct search {
    udpai_str prefix;
    UDPAI_VECTOR(found) all;
    bool has_failed;
};

/* One that is not as replicas write it has the size 0, and goes first. */
static void
read_key(udpai_str key, found *ret_found)
{
    const udpai_str time = {key.data + 2, TIME_DIGITS};
    const udpai_str size = {time.data + TIME_DIGITS + 1, SIZE_DIGITS};
    if (key.len != KEY_LEN || !read_number(time, 16, &ret_found->at_us) ||
        !read_number(size, 16, &ret_found->size))
        ret_found->at_us = ret_found->size = 0;
}

static void
visit(void *userdata, udpai_str key, int64_t mod_revision)
{
    struct search *search = userdata;
    const udpai_str behind = {key.data + search->prefix.len, key.len - search->prefix.len};
    found one = {0};
    (void)mod_revision;
    if (search->has_failed || !udpai_replica_audit_is_key(behind))
        return;
    read_key(behind, &one);
    search->has_failed = udpa_bytes_new(&one.key, key.data, key.len) != UDPA_OK;
    if (!search->has_failed && !udpai_vector_push(&search->all, one)) {
        udpa_bytes_unref(one.key);
        search->has_failed = true;
    }
}

static int
compare(const void *a, const void *b)
{
    const found *one = a, *other = b;
    return (one->at_us > other->at_us) - (one->at_us < other->at_us);
}

static size_t
count_old(const struct search *search)
{
    const found *all = search->all.items;
    size_t n = search->all.n, n_old = 0;
    uint64_t bytes = 0, newest = n ? all[n - 1].at_us : 0;
    uint64_t oldest = newest > UDPAI_REPLICA_AUDIT_AGE_US ? newest - UDPAI_REPLICA_AUDIT_AGE_US : 0;
    for (size_t i = 0; i < n; i++)
        bytes += all[i].size;
    while (n_old < n && (bytes > UDPAI_REPLICA_AUDIT_BYTES || all[n_old].at_us < oldest))
        bytes -= all[n_old++].size;
    return n_old;
}

udpa_err
udpai_replica_audit_find_old(const udpai_mirror *mirror,
                             udpai_str prefix,
                             size_t max,
                             udpai_replica_audit_keys *ret_keys)
{
    struct search search = {.prefix = prefix};
    udpai_mirror_visit(mirror, visit, &search);
    if (search.all.n)
        qsort(search.all.items, search.all.n, sizeof(found), compare);
    size_t n_old = search.has_failed ? 0 : udpai_min_size(count_old(&search), max);
    for (size_t i = 0; i < search.all.n; i++) {
        udpa_bytes *key = search.all.items[i].key;
        bool is_taken = i < n_old && udpai_vector_push(ret_keys, key);
        search.has_failed |= i < n_old && !is_taken;
        if (!is_taken)
            udpa_bytes_unref(key);
    }
    udpai_vector_done(&search.all);
    return search.has_failed ? UDPA_ERR_NOMEM : UDPA_OK;
}
