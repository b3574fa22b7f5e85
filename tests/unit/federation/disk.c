/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/federation/disk.h"

#include "tests/harness/test.h"

static void
unref_op(udpai_durable_op *op)
{
    udpa_bytes_unref(op->origin);
    udpa_resource_unref(op->resource);
    udpa_bytes_unref(op->type);
    udpa_bytes_unref(op->name);
}

static bool
same(const udpa_bytes *a, const udpa_bytes *b)
{
    return udpai_str_eq(a ? udpai_bytes_view(a) : (udpai_str){0},
                        b ? udpai_bytes_view(b) : (udpai_str){0});
}

static udpai_str
key_of(const udpai_durable_op *op)
{
    return op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
}

static udpa_bytes *
url_in(const udpai_durable_op *op)
{
    return op->resource ? udpai_resource_type(op->resource) : op->type;
}

static void
forget(fed_disk *disk, udpai_durable_kind kind, const udpai_durable_op *op)
{
    bool all = op->kind == UDPAI_DURABLE_FORGET_ORIGIN;
    for (size_t i = disk->n; i-- > 0;) {
        udpai_durable_op *kept = &disk->items[i];
        bool is_kind =
            kept->kind == kind || (kept->kind == UDPAI_DURABLE_DELETE && kind == UDPAI_DURABLE_PUT);
        if (!same(kept->origin, op->origin) ||
            (!all && (!is_kind || !same(url_in(kept), url_in(op)) ||
                      (kind != UDPAI_DURABLE_SEEN && kind != UDPAI_DURABLE_EPOCH &&
                       !udpai_str_eq(key_of(kept), key_of(op))))))
            continue;
        unref_op(kept);
        udpai_vector_remove_unordered(disk, i);
    }
}

void
fed_disk_do(fed_disk *disk, const udpai_durable_op *op)
{
    static const udpai_durable_kind kept_as[] = {
        [UDPAI_DURABLE_PUT] = UDPAI_DURABLE_PUT,     [UDPAI_DURABLE_DELETE] = UDPAI_DURABLE_PUT,
        [UDPAI_DURABLE_MARK] = UDPAI_DURABLE_MARK,   [UDPAI_DURABLE_UNMARK] = UDPAI_DURABLE_MARK,
        [UDPAI_DURABLE_USE] = UDPAI_DURABLE_USE,     [UDPAI_DURABLE_DISUSE] = UDPAI_DURABLE_USE,
        [UDPAI_DURABLE_HOLD] = UDPAI_DURABLE_HOLD,   [UDPAI_DURABLE_RELEASE] = UDPAI_DURABLE_HOLD,
        [UDPAI_DURABLE_SEEN] = UDPAI_DURABLE_SEEN,   [UDPAI_DURABLE_FORGET_ORIGIN] = 0,
        [UDPAI_DURABLE_EPOCH] = UDPAI_DURABLE_EPOCH,
    };
    if (op->kind == UDPAI_DURABLE_AUDIT) /* it is never loaded */
        return;
    forget(disk, kept_as[op->kind], op);
    if (op->kind == UDPAI_DURABLE_FORGET_ORIGIN || op->kind != kept_as[op->kind])
        return;
    assert_true(udpai_vector_push(disk, *op));
    udpa_bytes_ref(op->origin);
    udpa_resource_ref(op->resource);
    udpa_bytes_ref(op->type);
    udpa_bytes_ref(op->name);
}

void
fed_disk_done(fed_disk *disk)
{
    for (size_t i = 0; i < disk->n; i++)
        unref_op(&disk->items[i]);
    udpai_vector_done(disk);
}

bool
fed_disk_has(const fed_disk *disk, const char *name)
{
    for (size_t i = 0; i < disk->n; i++) {
        const udpai_durable_op *op = &disk->items[i];
        if ((op->kind == UDPAI_DURABLE_PUT || op->kind == UDPAI_DURABLE_DELETE) &&
            udpai_str_eq(key_of(op), udpai_str_from(name)))
            return true;
    }
    return false;
}

/* As an engine reports it. */
void
fed_disk_damage(fed_disk *disk, size_t at)
{
    udpai_durable_op *op = &disk->items[at];
    udpai_str name = key_of(op);
    op->kind = UDPAI_DURABLE_DELETE;
    op->type = udpa_bytes_ref(udpai_resource_type(op->resource));
    assert_ok(udpa_bytes_new(&op->name, name.data, name.len));
    op->resource = udpa_resource_unref(op->resource);
}
