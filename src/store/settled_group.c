/* SPDX-License-Identifier: Apache-2.0 */
#include "store/settled_group.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "model/name.h"

/* Of a page, which is split when it is full. */
#define PAGE_MAX 64

struct udpai_settled_group {
    atomic_uint refs;
    udpai_str name_space;
    udpai_settled_part *parts;
    size_t n_parts;
    _Alignas(udpai_settled_part) char room[]; /* parts, then tables, then the text */
};

/* So many groups, one behind the other. */
typedef struct settled_page {
    atomic_uint refs;
    size_t n;
    udpai_settled_group *groups[];
} settled_page;

struct udpai_settled_groups {
    atomic_uint refs;
    size_t n; /* pages, of which none is empty */
    settled_page *pages[];
};

/* ---- one group ---- */

static size_t
size_of_texts(const udpai_str *texts, size_t n)
{
    size_t size = n * sizeof(*texts);
    for (size_t i = 0; i < n; i++)
        size += texts[i].len;
    return size;
}

static int
compare_texts(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

/* Where tables and text go on in a group's room. */
struct places {
    udpai_str *table;
    char *text;
};

static udpai_str
put_text(struct places *at, udpai_str text)
{
    udpai_str copy = {at->text, text.len};
    if (text.len)
        memcpy(at->text, text.data, text.len);
    at->text += text.len;
    return copy;
}

static const udpai_str *
put_texts(struct places *at, const udpai_str *texts, size_t n)
{
    udpai_str *table = at->table;
    for (size_t i = 0; i < n; i++)
        table[i] = put_text(at, texts[i]);
    if (n > 1)
        qsort(table, n, sizeof(*table), compare_texts);
    at->table += n;
    return table;
}

udpai_settled_group *
udpai_settled_group_new(udpai_str name_space, const udpai_settled_part *parts, size_t n_parts)
{
    size_t size = name_space.len + n_parts * sizeof(*parts), n_texts = 0;
    for (size_t i = 0; i < n_parts; i++) {
        n_texts += parts[i].n_answered + parts[i].n_asked;
        size += size_of_texts(parts[i].answered, parts[i].n_answered) +
                size_of_texts(parts[i].asked, parts[i].n_asked);
    }
    udpai_settled_group *group = udpai_alloc(sizeof(*group) + size);
    if (!group)
        return NULL;
    atomic_init(&group->refs, 1);
    group->parts = (udpai_settled_part *)group->room;
    group->n_parts = n_parts;
    struct places at = {.table = (udpai_str *)(group->parts + n_parts)};
    at.text = (char *)(at.table + n_texts);
    group->name_space = put_text(&at, name_space);
    for (size_t i = 0; i < n_parts; i++) {
        group->parts[i] = parts[i];
        group->parts[i].answered = put_texts(&at, parts[i].answered, parts[i].n_answered);
        group->parts[i].asked = put_texts(&at, parts[i].asked, parts[i].n_asked);
    }
    return group;
}

static udpai_settled_group *
ref_group(udpai_settled_group *group)
{
    atomic_fetch_add_explicit(&group->refs, 1, memory_order_relaxed);
    return group;
}

udpai_settled_group *
udpai_settled_group_unref(udpai_settled_group *group)
{
    if (group && atomic_fetch_sub_explicit(&group->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(group);
    return NULL;
}

udpai_str
udpai_settled_group_key(const udpai_settled_group *group)
{
    return group->name_space;
}

const udpai_settled_part *
udpai_settled_group_part(const udpai_settled_group *group, unsigned number)
{
    for (size_t i = 0; i < group->n_parts; i++)
        if (group->parts[i].number == number)
            return &group->parts[i];
    return NULL;
}

const udpai_settled_part *
udpai_settled_group_parts(const udpai_settled_group *group, size_t *ret_n)
{
    *ret_n = group->n_parts;
    return group->parts;
}

static bool
same_texts(const udpai_str *a, size_t n_a, const udpai_str *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!udpai_str_eq(a[i], b[i]))
            return false;
    return true;
}

static bool
same_part(const udpai_settled_part *a, const udpai_settled_part *b)
{
    return a->number == b->number && a->is_whole == b->is_whole &&
           same_texts(a->answered, a->n_answered, b->answered, b->n_answered) &&
           same_texts(a->asked, a->n_asked, b->asked, b->n_asked);
}

bool
udpai_settled_group_equal(const udpai_settled_group *a, const udpai_settled_group *b)
{
    if (a->n_parts != b->n_parts || !udpai_str_eq(a->name_space, b->name_space))
        return false;
    for (size_t i = 0; i < a->n_parts; i++)
        if (!same_part(&a->parts[i], &b->parts[i]))
            return false;
    return true;
}

/* ---- pages ---- */

static settled_page *
new_page(udpai_settled_group *const *groups, size_t n)
{
    settled_page *page = udpai_alloc(sizeof(*page) + n * sizeof(page->groups[0]));
    if (!page)
        return NULL;
    atomic_init(&page->refs, 1);
    page->n = n;
    for (size_t i = 0; i < n; i++)
        page->groups[i] = ref_group(groups[i]);
    return page;
}

static settled_page *
ref_page(settled_page *page)
{
    atomic_fetch_add_explicit(&page->refs, 1, memory_order_relaxed);
    return page;
}

static void
unref_page(settled_page *page)
{
    if (!page || atomic_fetch_sub_explicit(&page->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < page->n; i++)
        udpai_settled_group_unref(page->groups[i]);
    udpai_free(page);
}

/* The first group of the page that is not before the name space; n: none. */
static size_t
find_in_page(const settled_page *page, udpai_str name_space)
{
    size_t low = 0, high = page->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (udpai_str_cmp(page->groups[middle]->name_space, name_space) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- the table ---- */

/* The last page that does not begin behind the name space, or the first. */
static size_t
find_page(const udpai_settled_groups *table, udpai_str name_space)
{
    size_t low = 0, high = table->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (udpai_str_cmp(table->pages[middle]->groups[0]->name_space, name_space) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* The table with these pages (consumed; NULL: none) in the place of one (`at` n: of none). NULL
 * without memory. */
static udpai_settled_groups *
replace_page(const udpai_settled_groups *table, size_t at, settled_page *const fresh[2])
{
    size_t n_before = table ? table->n : 0, n = 0;
    udpai_settled_groups *made =
        udpai_alloc(sizeof(*made) + (n_before + 2) * sizeof(made->pages[0]));
    if (!made) {
        unref_page(fresh[0]);
        unref_page(fresh[1]);
        return NULL;
    }
    atomic_init(&made->refs, 1);
    for (size_t i = 0; i <= n_before; i++) {
        for (size_t k = 0; k < 2 && i == at; k++)
            if (fresh[k])
                made->pages[n++] = fresh[k];
        if (i != at && i < n_before)
            made->pages[n++] = ref_page(table->pages[i]);
    }
    made->n = n;
    return made;
}

/* Half of them each, if they are too many for one. */
static udpai_settled_groups *
replace_by(const udpai_settled_groups *table,
           size_t at,
           udpai_settled_group *const *groups,
           size_t n)
{
    size_t n_first = n > PAGE_MAX ? n / 2 : n;
    settled_page *pages[2] = {n ? new_page(groups, n_first) : NULL,
                              n > n_first ? new_page(groups + n_first, n - n_first) : NULL};
    if ((n && !pages[0]) || (n > n_first && !pages[1])) {
        unref_page(pages[0]);
        unref_page(pages[1]);
        return NULL;
    }
    return replace_page(table, at, pages);
}

static bool
is_there(const settled_page *page, size_t index, udpai_str name_space)
{
    return index < page->n && udpai_str_eq(page->groups[index]->name_space, name_space);
}

udpai_settled_groups *
udpai_settled_groups_with(const udpai_settled_groups *table, udpai_settled_group *group)
{
    udpai_settled_group *groups[PAGE_MAX + 1] = {group};
    if (!table || table->n == 0)
        return replace_by(NULL, 0, groups, 1);
    size_t at = find_page(table, group->name_space), n = 0;
    const settled_page *page = table->pages[at];
    size_t index = find_in_page(page, group->name_space);
    bool replaces = is_there(page, index, group->name_space);
    for (size_t i = 0; i <= page->n; i++) {
        if (i == index)
            groups[n++] = group;
        if (i < page->n && !(i == index && replaces))
            groups[n++] = page->groups[i];
    }
    return replace_by(table, at, groups, n);
}

static bool
are_rising(udpai_settled_group *const *groups, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (udpai_str_cmp(groups[i - 1]->name_space, groups[i]->name_space) >= 0)
            return false;
    return true;
}

/* Pages are half full, so that later changes of the table need not split them at once. */
udpa_err
udpai_settled_groups_of(udpai_settled_groups **ret_table,
                        udpai_settled_group *const *groups,
                        size_t n)
{
    const size_t n_pages = (n + PAGE_MAX / 2 - 1) / (PAGE_MAX / 2);
    if (!are_rising(groups, n))
        return UDPA_ERR_INVAL;
    UDPA_AUTO(udpai_settled_groups_unref)
    udpai_settled_groups *table = udpai_alloc(sizeof(*table) + n_pages * sizeof(table->pages[0]));
    if (!table)
        return UDPA_ERR_NOMEM;
    atomic_init(&table->refs, 1);
    for (size_t at = 0; at < n; at += PAGE_MAX / 2) {
        settled_page *page = new_page(groups + at, udpai_min_size(n - at, PAGE_MAX / 2));
        if (!page)
            return UDPA_ERR_NOMEM;
        table->pages[table->n++] = page;
    }
    *ret_table = UDPAI_TAKE(table);
    return UDPA_OK;
}

bool
udpai_settled_groups_without(const udpai_settled_groups *table,
                             udpai_str name_space,
                             udpai_settled_groups **ret_table)
{
    udpai_settled_group *groups[PAGE_MAX];
    size_t at = find_page(table, name_space), n = 0;
    const settled_page *page = table->pages[at];
    size_t index = find_in_page(page, name_space);
    for (size_t i = 0; i < page->n; i++)
        if (i != index)
            groups[n++] = page->groups[i];
    udpai_settled_groups *made = replace_by(table, at, groups, n);
    if (made)
        *ret_table = made;
    return made != NULL;
}

udpai_settled_groups *
udpai_settled_groups_ref(udpai_settled_groups *table)
{
    if (table)
        atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
    return table;
}

udpai_settled_groups *
udpai_settled_groups_unref(udpai_settled_groups *table)
{
    if (!table || atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < table->n; i++)
        unref_page(table->pages[i]);
    udpai_free(table);
    return NULL;
}

const udpai_settled_group *
udpai_settled_groups_find(const udpai_settled_groups *table, udpai_str name_space)
{
    if (!table || table->n == 0)
        return NULL;
    const settled_page *page = table->pages[find_page(table, name_space)];
    size_t index = find_in_page(page, name_space);
    return is_there(page, index, name_space) ? page->groups[index] : NULL;
}

/* What begins with the prefix lies together; among it may be what only looks so ("a.b" and "a"). */
bool
udpai_settled_groups_visit(const udpai_settled_groups *table,
                           udpai_str prefix,
                           udpai_settled_group_fn visit,
                           void *userdata)
{
    if (!table || table->n == 0)
        return true;
    size_t at = find_page(table, prefix), index = find_in_page(table->pages[at], prefix);
    for (; at < table->n; at++, index = 0)
        for (; index < table->pages[at]->n; index++) {
            const udpai_settled_group *group = table->pages[at]->groups[index];
            if (!udpai_str_starts(group->name_space, prefix))
                return true;
            if (udpai_prefix_covers(prefix, group->name_space) && !visit(userdata, group))
                return false;
        }
    return true;
}
