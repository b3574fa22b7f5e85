/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/members.h"

#include "base/alloc.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "replica/set.h"
#include "session/spread.h"

/* One of them another replica receives behind what it has too many by. */
#define SIGNS_OF_LIFE 2
/* Bytes, of all but the files. */
#define TEXT_MAX 512

enum {
    FIELD_ID = 1,
    FIELD_VERSION,
    FIELD_ADDRESS,
    FIELD_CONFIG,
    FIELD_REVISION,
    FIELD_ADVERTISED,
    FIELD_STREAMS,
    FIELD_KEYS,
    FIELD_MISSING,
    FIELD_FILES,
    FIELDS_END
};

/* What is under way. */
typedef enum step {
    STEP_NONE,
    STEP_GRANT,
    STEP_CLAIM,
    STEP_KEEP,
    STEP_WRITE,
    STEP_LEAVE,
} step;

struct udpai_members {
    udpai_members_env env;
    udpa_bytes *prefix, *set_key;
    udpai_replica_member own; /* without its place */
    udpai_replica_member at[UDPAI_REPLICAS_MAX];
    bool has_changed;
    udpai_membership membership;
    uint64_t since_ms;
    unsigned place;                      /* 0: none */
    int64_t created[UDPAI_REPLICAS_MAX]; /* revisions of the places */
    int64_t lease;                       /* 0: none */
    int64_t revision, written;           /* of the last change; in the place, -1: nothing */
    bool has_other_texts, writes_texts;  /* than the place; they are under way */
    uint64_t kept_ms, written_ms;
    bool has_streams;
    uint64_t n_streams, streams_written, streams_wait_ms;
    unsigned n_signs;     /* of life, to be written … */
    bool is_another_over; /* … since another has too many streams */
    bool is_foreign;      /* it leaves its place, and claims none */
    step step;
    udpai_etcd_call call;
    udpai_timer again;
};

static void advance(udpai_members *members);

/* ---- places ---- */

bool
udpai_members_is_key(udpai_str key)
{
    return key.len == 3 && key.data[0] == 'm' && key.data[1] == '/' && key.data[2] > '0' &&
           key.data[2] <= '0' + UDPAI_REPLICAS_MAX;
}

/* With the prefix. */
static udpa_bytes *
key_of(const udpai_members *members, unsigned place)
{
    udpai_strbuf key = {0};
    udpai_strbuf_str(&key, udpai_bytes_view(members->prefix));
    udpai_strbuf_printf(&key, "m/%u", place);
    return udpai_bytes_of(&key);
}

static bool
take_text(udpa_bytes **text, udpai_str bytes, size_t max)
{
    udpa_bytes_unref(*text);
    *text = NULL;
    return bytes.len <= max && udpa_bytes_new(text, bytes.data, bytes.len) == UDPA_OK;
}

/* NULL: the field is no text. */
static udpa_bytes **
text_of(udpai_replica_member *member, uint32_t number)
{
    udpa_bytes **const texts[] = {
        [FIELD_ID] = &member->id,
        [FIELD_VERSION] = &member->version,
        [FIELD_ADDRESS] = &member->address,
        [FIELD_CONFIG] = &member->config,
        [FIELD_REVISION] = NULL,
        [FIELD_ADVERTISED] = &member->advertised,
        [FIELD_STREAMS] = NULL,
        [FIELD_KEYS] = &member->keys,
        [FIELD_MISSING] = &member->missing,
        [FIELD_FILES] = &member->files,
    };
    return number >= FIELD_ID && number < FIELDS_END ? texts[number] : NULL;
}

/* More than any replica has are nonsense, of which sums could overflow. */
static void
take_streams(udpai_replica_member *member, uint64_t n)
{
    member->n_streams = n < UINT32_MAX ? n : UINT32_MAX;
    member->has_streams = true;
}

static bool
read_member(udpai_str value, udpai_replica_member *member)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    bool is_good = true;
    while (is_good && udpai_proto_next(&reader, &field)) {
        udpa_bytes **text = text_of(member, field.number);
        if (field.type == UDPAI_WIRE_BYTES && text)
            is_good = take_text(text, field.bytes,
                                field.number == FIELD_FILES ? UDPAI_REPLICA_FILES_MAX : TEXT_MAX);
        else if (field.type == UDPAI_WIRE_VARINT && field.number == FIELD_REVISION)
            member->revision = (int64_t)field.value;
        else if (field.type == UDPAI_WIRE_VARINT && field.number == FIELD_STREAMS)
            take_streams(member, field.value);
    }
    for (uint32_t i = FIELD_ID; is_good && i < FIELDS_END; i++) {
        udpa_bytes **text = text_of(member, i);
        is_good = !text || *text || take_text(text, UDPAI_STR(""), 0);
    }
    return is_good && !reader.failed && udpa_bytes_size(member->id);
}

static void
put_member(udpai_proto_writer *writer, const void *what)
{
    const udpai_members *members = what;
    const udpai_replica_member *member = &members->own;
    udpai_proto_put_bytes(writer, FIELD_ID, udpai_bytes_view(member->id));
    udpai_proto_put_bytes(writer, FIELD_VERSION, udpai_bytes_view(member->version));
    udpai_proto_put_bytes(writer, FIELD_ADDRESS, udpai_bytes_view(member->address));
    udpai_proto_put_bytes(writer, FIELD_CONFIG, udpai_bytes_view(member->config));
    udpai_proto_put_varint(writer, FIELD_REVISION, (uint64_t)members->revision);
    udpai_proto_put_bytes(writer, FIELD_ADVERTISED, udpai_bytes_view(member->advertised));
    if (members->has_streams)
        udpai_proto_put_varint(writer, FIELD_STREAMS, members->n_streams);
    if (member->keys)
        udpai_proto_put_bytes_opt(writer, FIELD_KEYS, udpai_bytes_view(member->keys));
    if (member->missing)
        udpai_proto_put_bytes_opt(writer, FIELD_MISSING, udpai_bytes_view(member->missing));
    if (member->files)
        udpai_proto_put_bytes_opt(writer, FIELD_FILES, udpai_bytes_view(member->files));
}

static bool
is_own(const udpai_members *members, const udpai_replica_member *member)
{
    return member->id &&
           udpai_str_eq(udpai_bytes_view(member->id), udpai_bytes_view(members->own.id));
}

static void
lose_lease(udpai_members *members)
{
    members->lease = 0;
    members->place = 0;
    members->written = -1;
    members->streams_written = UINT64_MAX;
}

void
udpai_members_take(udpai_members *members, udpai_str key, const udpai_etcd_kv *kv)
{
    unsigned place = (unsigned)(key.data[2] - '0');
    udpai_replica_member *at = &members->at[place - 1];
    udpai_replica_member taken = {.place = place, .written = kv ? kv->mod_revision : 0};
    if (kv && !read_member(kv->value, &taken)) {
        udpai_replica_member_done(&taken);
        return;
    }
    udpai_replica_member_done(at);
    *at = taken;
    members->created[place - 1] = kv ? kv->create_revision : 0;
    at->is_own = is_own(members, at);
    members->has_changed = true;
    if (members->place == place && !at->is_own) /* its lease has ended */
        lose_lease(members);
}

void
udpai_members_clear(udpai_members *members)
{
    for (size_t i = 0; i < UDPAI_REPLICAS_MAX; i++)
        udpai_replica_member_done(&members->at[i]);
    members->has_changed = true;
}

/* ---- what it states ---- */

static void
text_has_changed(udpai_members *members)
{
    members->has_other_texts = true;
    if (members->step == STEP_NONE)
        udpai_timer_set(members->env.wheel, &members->again, members->env.wheel->now_ms);
}

static void
set_text(udpai_members *members, udpa_bytes **text, udpai_str value)
{
    udpa_bytes *copy;
    if ((*text && udpai_str_eq(udpai_bytes_view(*text), value)) ||
        udpa_bytes_new(&copy, value.data, value.len) != UDPA_OK)
        return;
    udpa_bytes_unref(*text);
    *text = copy;
    text_has_changed(members);
}

void
udpai_members_set_config(udpai_members *members, udpai_str config)
{
    set_text(members, &members->own.config, config);
}

void
udpai_members_set_keys(udpai_members *members, udpai_str key_ids)
{
    set_text(members, &members->own.keys, key_ids);
}

void
udpai_members_set_missing(udpai_members *members, udpa_bytes *key_ids)
{
    udpa_bytes_ref(key_ids);
    udpa_bytes_unref(members->own.missing);
    members->own.missing = key_ids;
    text_has_changed(members);
}

void
udpai_members_set_files(udpai_members *members, udpai_str files)
{
    set_text(members, &members->own.files, files);
}

/* ---- what is reported ---- */

static void
report(udpai_members *members)
{
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_MEMBERS);
    if (!event)
        return;
    for (size_t i = 0; i < UDPAI_REPLICAS_MAX; i++)
        if (members->at[i].id)
            udpai_replica_member_copy(&event->members[event->n_members++], &members->at[i]);
    event->membership = members->membership;
    members->has_changed = false;
    members->env.report(members->env.userdata, event);
}

static void
set_membership(udpai_members *members, udpai_membership membership)
{
    members->has_changed |= members->membership != membership;
    members->membership = membership;
}

/* ---- its place ---- */

static void
on_again(udpai_timer *timer)
{
    advance(UDPAI_CONTAINER_OF(timer, udpai_members, again));
}

static void
again_in(udpai_members *members, uint64_t ms)
{
    udpai_timer_set(members->env.wheel, &members->again, members->env.wheel->now_ms + ms);
}

/* One that is its own already, else a free one; 0: there is none. */
static unsigned
choose_place(const udpai_members *members)
{
    unsigned chosen = 0;
    for (unsigned i = UDPAI_REPLICAS_MAX; i > 0; i--) {
        const udpai_replica_member *at = &members->at[i - 1];
        if (at->is_own)
            return i;
        chosen = at->id ? chosen : i;
    }
    return chosen;
}

static void
done_step(udpai_members *members, const udpai_etcd_result *result)
{
    bool is_done = result->outcome == UDPAI_ETCD_DONE;
    switch (members->step) {
    case STEP_GRANT:
        members->lease = is_done ? result->lease : 0;
        break;
    case STEP_KEEP:
        if (is_done && result->ttl_s == 0)
            lose_lease(members);
        if (is_done)
            members->kept_ms = members->env.wheel->now_ms;
        break;
    case STEP_LEAVE:
        if (is_done)
            lose_lease(members);
        break;
    default: /* what was written is seen in the mirror; with a lease that has ended it is rejected
              */
        if (result->outcome == UDPAI_ETCD_REJECTED)
            lose_lease(members);
        if (!is_done || !result->succeeded)
            members->has_other_texts |= members->writes_texts;
        break;
    }
}

/* The mirror may show what was written before etcd answers. */
static bool
has_claimed(const udpai_members *members, const udpai_etcd_result *result)
{
    unsigned place = choose_place(members);
    return members->step == STEP_CLAIM && result->outcome == UDPAI_ETCD_DONE && result->succeeded &&
           place && members->at[place - 1].is_own;
}

static void
on_done(udpai_etcd_call *call, const udpai_etcd_result *result)
{
    udpai_members *members = UDPAI_CONTAINER_OF(call, udpai_members, call);
    bool is_grant = members->step == STEP_GRANT && result->outcome == UDPAI_ETCD_DONE;
    bool goes_on = is_grant || has_claimed(members, result);
    done_step(members, result);
    members->step = STEP_NONE;
    if (is_grant)
        members->kept_ms = members->env.wheel->now_ms;
    again_in(members, goes_on ? 0 : UDPAI_MEMBERS_RETRY_MS);
}

/* ---- how many streams it has ---- */

static uint64_t
random_of(const udpai_members *members)
{
    return members->env.random ? members->env.random(members->env.userdata) : 0;
}

/* Another one that has too many rejects streams only if it sees that who has room lives. */
static void
look_at_others(udpai_members *members)
{
    uint64_t sum = 0;
    size_t n = 0;
    bool is_one_over = false;
    for (size_t i = 0; i < UDPAI_REPLICAS_MAX; i++)
        if (members->at[i].has_streams) {
            sum += members->at[i].n_streams;
            n++;
        }
    uint64_t share = udpai_spread_share(sum, n);
    for (size_t i = 0; i < UDPAI_REPLICAS_MAX; i++)
        is_one_over |= members->at[i].has_streams && !members->at[i].is_own &&
                       members->at[i].n_streams > udpai_spread_limit(share);
    if (is_one_over && !members->is_another_over && members->n_streams < share)
        members->n_signs = SIGNS_OF_LIFE;
    members->is_another_over = is_one_over;
}

static bool
has_news_of_streams(const udpai_members *members)
{
    return members->has_streams &&
           (members->n_signs || members->streams_written == UINT64_MAX ||
            udpai_spread_is_news(members->streams_written, members->n_streams));
}

static uint64_t
streams_due_ms(const udpai_members *members)
{
    return members->written_ms + members->streams_wait_ms;
}

static void
note_streams_written(udpai_members *members)
{
    if (members->has_streams)
        members->streams_written = members->n_streams;
    members->n_signs -= members->n_signs > 0;
    members->streams_wait_ms =
        UDPAI_MEMBERS_STREAMS_MS + random_of(members) % (UDPAI_MEMBERS_STREAMS_MS / 2);
}

void
udpai_members_set_streams(udpai_members *members, uint64_t n)
{
    const udpai_wheel *wheel = members->env.wheel;
    members->has_streams = true;
    members->n_streams = n;
    if (!members->place || members->step != STEP_NONE || !has_news_of_streams(members))
        return;
    uint64_t due_ms = streams_due_ms(members);
    if (!udpai_timer_is_set(&members->again) || members->again.due_ms > due_ms)
        again_in(members, due_ms > wheel->now_ms ? due_ms - wheel->now_ms : 0);
}

/* Puts this replica into the place as the mirror shows it. */
static udpa_err
write_place(udpai_members *members, unsigned place)
{
    udpai_etcd *etcd = members->env.etcd;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = key_of(members, place);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *value = udpai_proto_encode(put_member, members);
    if (!key || !value)
        return UDPA_ERR_NOMEM;
    udpai_str text = udpai_bytes_view(key);
    udpai_str set = udpai_bytes_view(members->set_key);
    const udpai_etcd_compare compares[] = {
        {UDPAI_ETCD_COMPARE_MOD_REVISION, text,
         udpai_mirror_mod_revision(members->env.mirror, text)},
        {UDPAI_ETCD_COMPARE_MOD_REVISION, set, udpai_mirror_mod_revision(members->env.mirror, set)},
    };
    const udpai_etcd_op put = {
        .kind = UDPAI_ETCD_OP_PUT,
        .key = text,
        .value = udpai_bytes_view(value),
        .lease = members->lease,
    };
    const udpai_etcd_txn txn = {
        .compares = compares,
        .n_compares = UDPAI_ARRAY_LEN(compares),
        .ops = &put,
        .n_ops = 1,
    };
    members->written = members->revision;
    members->writes_texts = members->has_other_texts;
    members->has_other_texts = false;
    members->written_ms = members->env.wheel->now_ms;
    note_streams_written(members);
    return etcd->ops->txn(etcd, &members->call, &txn);
}

static void
begin(udpai_members *members, step next, unsigned place)
{
    udpai_etcd *etcd = members->env.etcd;
    udpa_err err = UDPA_OK;
    members->step = next;
    if (next == STEP_GRANT)
        err = etcd->ops->lease_grant(etcd, &members->call, UDPAI_MEMBERS_TTL_S);
    else if (next == STEP_KEEP)
        err = etcd->ops->lease_keep_alive(etcd, &members->call, members->lease);
    else if (next == STEP_LEAVE)
        err = etcd->ops->lease_revoke(etcd, &members->call, members->lease);
    else
        err = write_place(members, place);
    if (err == UDPA_OK)
        return;
    members->step = STEP_NONE;
    again_in(members, UDPAI_MEMBERS_RETRY_MS);
}

static void
wait_for_place(udpai_members *members)
{
    if (members->env.wheel->now_ms - members->since_ms > UDPAI_MEMBERS_PATIENCE_MS)
        set_membership(members, UDPAI_MEMBERSHIP_FULL);
    again_in(members, UDPAI_MEMBERS_RETRY_MS);
}

static void
claim(udpai_members *members)
{
    unsigned place = choose_place(members);
    const udpai_replica_member *at = place ? &members->at[place - 1] : NULL;
    if (at && at->is_own && members->written >= 0) {
        members->place = place;
        members->since_ms = members->env.wheel->now_ms;
        set_membership(members, UDPAI_MEMBERSHIP_JOINED);
        again_in(members, UDPAI_MEMBERS_KEEP_MS);
    } else if (place) {
        begin(members, STEP_CLAIM, place);
    } else {
        wait_for_place(members);
    }
}

static void
keep(udpai_members *members)
{
    uint64_t now = members->env.wheel->now_ms, due_ms = members->kept_ms + UDPAI_MEMBERS_KEEP_MS;
    bool is_old = members->revision != members->written;
    bool has_news = has_news_of_streams(members);
    if (now >= due_ms)
        begin(members, STEP_KEEP, 0);
    else if ((is_old && now >= members->written_ms + UDPAI_MEMBERS_KEEP_MS) ||
             members->has_other_texts)
        begin(members, STEP_WRITE, members->place);
    else if (has_news && now >= streams_due_ms(members))
        begin(members, STEP_WRITE, members->place);
    else if (has_news && streams_due_ms(members) < due_ms)
        again_in(members, streams_due_ms(members) - now);
    else
        again_in(members, due_ms - now);
}

static void
advance(udpai_members *members)
{
    if (members->step == STEP_NONE &&
        udpai_mirror_get_state(members->env.mirror) == UDPAI_MIRROR_CURRENT) {
        if (members->is_foreign && members->lease)
            begin(members, STEP_LEAVE, 0);
        else if (members->is_foreign)
            set_membership(members, UDPAI_MEMBERSHIP_UNKNOWN);
        else if (!members->lease)
            begin(members, STEP_GRANT, 0);
        else if (!members->place)
            claim(members);
        else
            keep(members);
    } else if (members->step == STEP_NONE) {
        again_in(members, UDPAI_MEMBERS_RETRY_MS);
    }
    if (members->has_changed)
        report(members);
}

void
udpai_members_set_foreign(udpai_members *members, bool is_foreign)
{
    members->is_foreign = is_foreign;
}

void
udpai_members_go_on(udpai_members *members, int64_t revision)
{
    members->revision = revision;
    if (members->has_changed)
        look_at_others(members);
    if (members->has_changed || !udpai_timer_is_set(&members->again))
        again_in(members, members->has_changed ? 0 : UDPAI_MEMBERS_RETRY_MS);
}

int64_t
udpai_members_place_created(const udpai_members *members, unsigned place)
{
    bool is_own = place >= 1 && place <= UDPAI_REPLICAS_MAX && members->at[place - 1].is_own;
    return is_own ? members->created[place - 1] : 0;
}

/* ---- the first one ---- */

bool
udpai_members_is_janitor(const udpai_members *members,
                         unsigned *ret_place,
                         int64_t *ret_create_revision)
{
    unsigned i = 0;
    while (i < UDPAI_REPLICAS_MAX && !members->at[i].id)
        i++;
    if (i >= UDPAI_REPLICAS_MAX || !members->at[i].is_own || !members->place)
        return false;
    *ret_place = i + 1;
    *ret_create_revision = members->created[i];
    return true;
}

/* ---- its life ---- */

static udpa_err
copy_own(udpai_members *members, const udpai_replica_description *own)
{
    udpai_replica_member *copy = &members->own;
    udpa_err err = udpa_bytes_new(&copy->id, own->id.data, own->id.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&copy->version, own->version.data, own->version.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&copy->address, own->address.data, own->address.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&copy->config, own->config.data, own->config.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&copy->advertised, own->advertised.data, own->advertised.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&copy->keys, own->keys.data, own->keys.len);
    return err == UDPA_OK ? udpa_bytes_new(&copy->files, own->files.data, own->files.len) : err;
}

udpa_err
udpai_members_new(udpai_members **ret_members,
                  const udpai_members_env *env,
                  udpai_str prefix,
                  const udpai_replica_description *own)
{
    udpai_members *members = udpai_alloc(sizeof(*members));
    if (!members)
        return UDPA_ERR_NOMEM;
    members->env = *env;
    members->since_ms = env->wheel->now_ms;
    members->written = -1;
    members->streams_written = UINT64_MAX;
    members->call.done = on_done;
    udpai_timer_init(&members->again, on_again);
    udpai_strbuf set_key = {0};
    udpai_strbuf_str(&set_key, prefix);
    udpai_strbuf_puts(&set_key, UDPAI_SET_KEY);
    members->set_key = udpai_bytes_of(&set_key);
    udpa_err err = udpa_bytes_new(&members->prefix, prefix.data, prefix.len);
    if (err == UDPA_OK)
        err = members->set_key ? copy_own(members, own) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        *ret_members = members;
    else
        udpai_members_free(members);
    return err;
}

udpai_members *
udpai_members_free(udpai_members *members)
{
    if (!members)
        return NULL;
    udpai_timer_cancel(&members->again);
    if (members->step != STEP_NONE)
        members->env.etcd->ops->cancel(members->env.etcd, &members->call);
    for (size_t i = 0; i < UDPAI_REPLICAS_MAX; i++)
        udpai_replica_member_done(&members->at[i]);
    udpai_replica_member_done(&members->own);
    udpa_bytes_unref(members->prefix);
    udpa_bytes_unref(members->set_key);
    udpai_free(members);
    return NULL;
}
