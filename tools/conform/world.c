/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/world.h"

#include "base/alloc.h"
#include "model/xdstp.h"

/* What is there when a case begins. "s1" and "s2" are asked for to see whether the server still
 * listens, by cases that wait for nothing to come. */
static const char *const permanent[] = {"a", "b", "s1", "s2", "s0"};

void
udpai_world_init(udpai_world *world, const char *prefix, const udpai_changer *changer)
{
    *world = (udpai_world){.prefix = prefix, .authority = "conform.example"};
    if (changer)
        world->changer = *changer;
}

void
udpai_world_drop_staged(udpai_world *world)
{
    for (size_t i = 0; i < world->payloads.n; i++)
        udpa_bytes_unref(world->payloads.items[i]);
    world->payloads.n = world->staged.n = world->staged_entries.n = 0;
}

void
udpai_world_done(udpai_world *world)
{
    udpai_world_drop_staged(world);
    for (size_t i = 0; i < world->entries.n; i++) {
        udpai_free(world->entries.items[i]->alias);
        udpai_free(world->entries.items[i]->name);
        udpai_free(world->entries.items[i]);
    }
    udpai_vector_done(&world->entries);
    udpai_vector_done(&world->staged);
    udpai_vector_done(&world->payloads);
    udpai_vector_done(&world->staged_entries);
}

bool
udpai_world_can_change(const udpai_world *world)
{
    return world->changer.apply != NULL;
}

/* ---- names ---- */

static udpai_world_entry *
find_alias(const udpai_world *world, udpai_kind kind, const char *alias)
{
    for (size_t i = 0; i < world->entries.n; i++) {
        udpai_world_entry *entry = world->entries.items[i];
        if (entry->kind == kind && strcmp(entry->alias, alias) == 0)
            return entry;
    }
    return NULL;
}

static bool
are_same(udpai_str a, udpai_str b)
{
    udpai_xdstp first, second;
    if (udpai_str_eq(a, b))
        return true;
    return udpai_xdstp_is(a) && udpai_xdstp_is(b) &&
           udpai_xdstp_parse(a, &first, NULL) == UDPA_OK &&
           udpai_xdstp_parse(b, &second, NULL) == UDPA_OK &&
           udpai_str_eq(first.authority, second.authority) &&
           udpai_str_eq(first.type, second.type) && udpai_str_eq(first.id, second.id);
}

bool
udpai_world_same_name(const char *a, const char *b)
{
    return are_same(udpai_str_from(a), udpai_str_from(b));
}

/* Of several spellings the one that something was put there by. */
udpai_world_entry *
udpai_world_find(const udpai_world *world, udpai_kind kind, udpai_str name)
{
    udpai_world_entry *found = NULL;
    for (size_t i = 0; i < world->entries.n; i++) {
        udpai_world_entry *entry = world->entries.items[i];
        if (entry->kind == kind && are_same(udpai_str_from(entry->name), name) &&
            (!found || entry->variant))
            found = entry;
    }
    return found;
}

unsigned
udpai_world_variant(const udpai_world *world, udpai_kind kind, udpai_str name)
{
    const udpai_world_entry *entry = udpai_world_find(world, kind, name);
    return entry ? entry->variant : 0;
}

/* Takes both texts. */
static udpai_world_entry *
add_entry(udpai_world *world, udpai_kind kind, char *alias, char *name)
{
    udpai_world_entry *entry = udpai_alloc(sizeof(*entry));
    if (entry && alias && name && udpai_vector_push(&world->entries, entry)) {
        *entry = (udpai_world_entry){.kind = kind, .alias = alias, .name = name};
        return entry;
    }
    udpai_free(entry);
    udpai_free(alias);
    udpai_free(name);
    world->failed = true;
    return NULL;
}

/* Behind the scheme that is before it. */
static const char *
behind(const char *alias, const char *scheme)
{
    size_t len = strlen(scheme);
    return strncmp(alias, scheme, len) == 0 ? alias + len : NULL;
}

static bool
put_url(udpai_strbuf *out, const udpai_world *world, udpai_kind kind, const char *alias)
{
    const char *elsewhere = behind(alias, "xdstp-elsewhere:");
    const char *mistyped = behind(alias, "xdstp-mistyped:");
    const char *id = elsewhere ? elsewhere : mistyped ? mistyped : behind(alias, "xdstp:");
    if (!id && udpai_kind_is(kind, UDPAI_NAMED_BY_URL))
        id = alias;
    if (!id)
        return false;
    udpai_kind typed = !mistyped ? kind : kind == UDPAI_LISTENER ? UDPAI_CLUSTER : UDPAI_LISTENER;
    udpai_strbuf_printf(out, UDPAI_XDSTP_SCHEME "%s%s/%s/%s/%s", world->authority,
                        elsewhere ? ".elsewhere" : "", strchr(udpai_kind_url(typed).data, '/') + 1,
                        world->prefix, id);
    return true;
}

/* Virtual hosts are those of routes: ROUTES/HOST. */
static udpai_world_entry *
make_entry(udpai_world *world, udpai_kind kind, const char *alias)
{
    udpai_strbuf name = {0};
    if (!put_url(&name, world, kind, alias))
        udpai_strbuf_printf(&name, "%s-%s%s", world->prefix,
                            kind == UDPAI_HOST && !strchr(alias, '/') ? "routes/" : "", alias);
    return add_entry(world, kind, udpai_strdup(alias), udpai_strbuf_take(&name));
}

void
udpai_world_learn(udpai_world *world, udpai_kind kind, udpai_str name)
{
    char url_alias[] = "xdstp:a", plain_alias[] = "a";
    bool is_url = udpai_xdstp_is(name) && !udpai_kind_is(kind, UDPAI_NAMED_BY_URL);
    char *alias = is_url ? url_alias : plain_alias, *letter = alias + strlen(alias) - 1;
    if (!name.len || udpai_world_find(world, kind, name))
        return;
    while (*letter < 'c' && find_alias(world, kind, alias))
        ++*letter;
    if (*letter < 'c')
        (void)add_entry(world, kind, udpai_strdup(alias), udpai_strndup(name.data, name.len));
}

const char *
udpai_world_name(udpai_world *world, udpai_kind kind, const char *alias)
{
    if (strcmp(alias, "*") == 0)
        return "*";
    udpai_world_entry *entry = find_alias(world, kind, alias);
    bool is_made_up = udpai_world_can_change(world) || strstr(alias, "nobody") != NULL;
    if (!entry && is_made_up)
        entry = make_entry(world, kind, alias);
    return entry ? entry->name : NULL;
}

/* ---- changes ---- */

static void
stage(udpai_world *world, udpai_world_entry *entry, const udpai_edit *change)
{
    bool is_kept =
        udpai_vector_reserve(&world->staged, 1) && udpai_vector_reserve(&world->staged_entries, 1);
    if (!is_kept) {
        world->failed = true;
        return;
    }
    (void)udpai_vector_push(&world->staged, *change);
    (void)udpai_vector_push(&world->staged_entries, entry);
}

static udpai_world_entry *
entry_of(udpai_world *world, udpai_kind kind, const char *alias)
{
    udpai_world_entry *entry = find_alias(world, kind, alias);
    return entry ? entry : make_entry(world, kind, alias);
}

void
udpai_world_set(udpai_world *world,
                udpai_kind kind,
                const char *alias,
                const udpai_world_extra *extra)
{
    static const udpai_world_extra nothing;
    udpai_world_entry *entry = entry_of(world, kind, alias);
    extra = extra ? extra : &nothing;
    unsigned variant = extra->variant ? extra->variant : ++world->last_variant;
    udpa_bytes *payload = entry ? udpai_kind_payload(kind, entry->name, variant) : NULL;
    if (!payload || !udpai_vector_push(&world->payloads, payload)) {
        udpa_bytes_unref(payload);
        world->failed = true;
        return;
    }
    entry->is_special = extra->ttl_ms || extra->other_name || extra->is_lazy;
    stage(world, entry,
          &(udpai_edit){
              .kind = kind,
              .name = entry->name,
              .variant = variant,
              .payload = udpai_bytes_view(payload),
              .ttl_ms = extra->ttl_ms,
              .alias = extra->other_name,
              .is_lazy = extra->is_lazy,
          });
}

void
udpai_world_remove(udpai_world *world, udpai_kind kind, const char *alias)
{
    udpai_world_entry *entry = entry_of(world, kind, alias);
    if (entry)
        stage(world, entry, &(udpai_edit){.is_removal = true, .kind = kind, .name = entry->name});
}

udpai_change_result
udpai_world_commit(udpai_world *world, udpai_strbuf *why)
{
    udpai_change_result result = UDPAI_CHANGE_FAILED;
    if (world->failed)
        udpai_strbuf_puts(why, "out of memory");
    else
        result =
            world->changer.apply(world->changer.self, world->staged.items, world->staged.n, why);
    for (size_t i = 0; i < world->staged.n; i++) {
        udpai_world_entry *entry = world->staged_entries.items[i];
        entry->is_changed =
            !world->is_between; /* though it failed: it is not known what became of it */
        if (result == UDPAI_CHANGE_MADE)
            entry->variant = world->staged.items[i].variant;
    }
    udpai_world_drop_staged(world);
    world->is_between = false;
    return result;
}

/* ---- between cases ---- */

void
udpai_world_stage_begin(udpai_world *world, udpai_kind kind)
{
    world->is_between = true;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(permanent); i++) {
        udpai_world_entry *entry = entry_of(world, kind, permanent[i]);
        if (entry)
            entry->is_permanent = true;
        udpai_world_set(world, kind, permanent[i], NULL);
    }
}

static bool
needs_repair(const udpai_world_entry *entry)
{
    if (!entry->is_changed || strcmp(entry->alias, "s0") == 0)
        return false;
    return entry->is_permanent ? entry->is_special || !entry->variant : entry->variant != 0;
}

unsigned
udpai_world_stage_restore(udpai_world *world)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < world->entries.n; i++) {
        udpai_world_entry *entry = world->entries.items[i];
        kinds |= entry->is_changed ? 1U << entry->kind : 0;
        if (needs_repair(entry) && entry->is_permanent)
            udpai_world_set(world, entry->kind, entry->alias, NULL);
        else if (needs_repair(entry))
            udpai_world_remove(world, entry->kind, entry->alias);
        entry->is_changed = false;
    }
    for (size_t kind = 0; kind < UDPAI_KINDS; kind++)
        if (kinds & 1U << kind)
            udpai_world_set(world, (udpai_kind)kind, "s0", NULL);
    world->is_between = kinds != 0;
    return kinds;
}

void
udpai_world_stage_end(udpai_world *world)
{
    world->is_between = true;
    for (size_t i = 0; i < world->entries.n; i++)
        if (world->entries.items[i]->variant)
            udpai_world_remove(world, world->entries.items[i]->kind,
                               world->entries.items[i]->alias);
}
