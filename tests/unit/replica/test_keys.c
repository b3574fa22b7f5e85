/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of replicas, and the keys for them: what cannot be decrypted stays as it was, and is
 * decrypted once the key is there; sealing anew changes nothing but the key. */
#include "model/digest.h"
#include "tests/unit/replica/replicator_bed.h"

#define VALUE "plain-text-of-a-secret-that-is-long-enough"

/* Both replicas are opened again, with these keys. */
static void
open_with(const char *keys_a, const char *keys_b)
{
    close_replica(&a);
    close_replica(&b);
    a.keys = keys_a;
    b.keys = keys_b;
    open_replica(&a, "a");
    open_replica(&b, "b");
    run_ms(100);
    (void)reported(&a);
    (void)reported(&b);
}

static void
set_keys(replica *self, const char *keys)
{
    self->keys = keys;
    udpai_replicator_set_keys(self->replicator, udpai_str_from(keys));
    run_ms(50);
}

static void
add_secret(udpai_durable_batch *batch, const char *name, const char *value)
{
    udpa_resource *resource = RESOURCE(name, .type = SECRET, .value = value, .version = "1",
                                       .authority = "acme", .generation = 5);
    add_resource(batch, bytes_of("o"), resource);
}

static void
put_secret(replica *by, const char *name, const char *value)
{
    udpai_durable_batch *batch = new_batch(by);
    add_secret(batch, name, value);
    propose(by, batch);
    run_ms(100);
}

static void
reseal(replica *by)
{
    udpai_replicator_reseal(by->replicator);
    for (int i = 0; i < 400 && (i == 0 || by->resealing.is_running); i++)
        run_ms(50);
    assert_false(by->resealing.is_running);
}

/* Of a sealed value it is the first byte of the resource, which is the first field. */
static size_t
n_sealed_with(char letter)
{
    size_t n = 0;
    for (size_t i = 0; i < model.history.n; i++) {
        const etcd_model_event *event = &model.history.items[i];
        const char prefix[] = PREFIX "c/";
        if (strncmp(event->key, prefix, sizeof(prefix) - 1) != 0 || event->is_delete ||
            etcd_model_find(&model, udpai_str_from(event->key), model.revision) != event)
            continue;
        udpai_str sealed = udpai_proto_last_bytes(event->value, 1);
        n += sealed.len && sealed.data[0] == letter;
    }
    return n;
}

/* ---- a key that is missing ---- */

static void
what_cannot_be_decrypted_stays(void **state)
{
    (void)state;
    open_with("A", "A");
    put_secret(&a, X, "1");
    assert_reported(&a, ": +o/x=1; 1: committed");
    assert_reported(&b, ": +o/x=1");
    set_keys(&a, "BA");
    put_secret(&a, X, "2");
    assert_reported(&b, "locked -o/x; :"); /* neither put nor deleted */
    put_secret(&a, Y, "3");
    assert_reported(&b, "locked -o/x -o/y; :");
    put(&a, "p", "com.acme/z", "plain"); /* all else goes on */
    run_ms(100);
    assert_reported(&b, ": +p/z=plain");
}

static void
with_the_key_it_is_decrypted(void **state)
{
    (void)state;
    open_with("BA", "A");
    put_secret(&a, X, "2");
    assert_reported(&b, "locked -o/x; :");
    set_keys(&b, "CA"); /* not that one */
    assert_reported(&b, "");
    set_keys(&b, "AB");
    assert_reported(&b, ": +o/x=2; unlocked"); /* never is it neither */
    put_secret(&b, X, "3");
    assert_reported(&b, ": +o/x=3; 2: committed");
}

static void
what_ends_is_not_locked_any_more(void **state)
{
    (void)state;
    open_with("BA", "A");
    put_secret(&a, X, "2");
    assert_reported(&b, "locked -o/x; :");
    udpai_durable_batch *batch = new_batch(&a);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = bytes_of("o"), *name = bytes_of(X);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(SECRET));
    assert_ok(udpai_durable_batch_add(
        batch, &(udpai_durable_op){UDPAI_DURABLE_DELETE, key, .type = type, .name = name}));
    propose(&a, batch);
    run_ms(100);
    assert_reported(&b, ": -o/x; unlocked");
    set_keys(&b, "AB"); /* there is nothing to come */
    assert_reported(&b, "");
}

/* What it decides is by what there was before. */
static void
nothing_is_proposed_about_what_is_locked(void **state)
{
    (void)state;
    open_with("BA", "A");
    put_secret(&a, X, "2");
    (void)reported(&b);
    int64_t before = model.revision;
    put_secret(&b, X, "3");
    const char *text = reported(&b);
    assert_non_null(strstr(text, "rejected, "));
    assert_non_null(strstr(text, "the key B"));
    assert_non_null(strstr(text, PREFIX "c/com.acme/"));
    udpai_durable_batch *batch = new_batch(&b);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = bytes_of("o"), *name = bytes_of(X);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(SECRET));
    assert_ok(udpai_durable_batch_add(
        batch, &(udpai_durable_op){UDPAI_DURABLE_DELETE, key, .type = type, .name = name}));
    propose(&b, batch); /* as its end would be, by the ttl of before */
    run_ms(100);
    assert_non_null(strstr(reported(&b), "rejected, "));
    for (size_t i = 0; i < model.history.n; i++)
        assert_true(model.history.items[i].revision <= before ||
                    !strstr(model.history.items[i].key, "/c/"));
    put_secret(&b, Y, "3"); /* others it takes */
    assert_non_null(strstr(reported(&b), "committed"));
}

static void
a_list_says_what_is_locked_first(void **state)
{
    (void)state;
    open_with("A", "A");
    put_secret(&a, X, "1");
    put(&a, "p", "com.acme/z", "plain");
    run_ms(100);
    close_replica(&b);
    b.keys = "C";
    open_replica(&b, "b");
    run_ms(100);
    assert_reported(&b, "locked -o/x; all: +p/z=plain; current");
    close_replica(&b);
    b.keys = "";
    open_replica(&b, "b");
    run_ms(100);
    assert_reported(&b, "locked -o/x; all: +p/z=plain; current");
}

/* What it was encrypted with is not known of what it has: so all is read again. */
static void
a_key_that_was_removed_too_early_is_missed(void **state)
{
    (void)state;
    open_with("A", "A");
    put_secret(&a, X, "1");
    assert_reported(&b, ": +o/x=1");
    set_keys(&b, "C");
    udpai_replicator_list_again(b.replicator);
    run_ms(200);
    const char *text = reported(&b);
    assert_non_null(strstr(text, "locked -o/x; all:"));
    assert_null(strstr(text, "+o/x"));
    set_keys(&b, "CA");
    assert_reported(&b, ": +o/x=1; unlocked");
}

/* Each report has all that is locked: it would be too much to make one with each change. */
static void
much_that_is_locked_is_reported_seldom(void **state)
{
    (void)state;
    char name[40];
    open_with("BA", "A");
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "com.acme/n%d", i);
        put_secret(&a, name, "1");
    }
    (void)reported(&b);
    run_ms(2000);
    (void)reported(&b);
    put_secret(&a, "com.acme/one", "1");
    put_secret(&a, "com.acme/two", "1");
    assert_reported(&b, ":; :");
    run_ms(2000);
    const char *text = reported(&b);
    assert_non_null(strstr(text, "locked"));
    assert_null(strstr(strstr(text, "locked") + 1, "locked"));
    assert_non_null(strstr(text, "-o/one"));
    assert_non_null(strstr(text, "-o/two"));
    set_keys(&b, "AB");
    text = reported(&b);
    assert_non_null(strstr(text, "+o/n69=1"));
    assert_string_equal(text + strlen(text) - strlen("; unlocked"), "; unlocked");
}

/* ---- sealing anew ---- */

static void
secrets_get_the_first_key(void **state)
{
    (void)state;
    open_with("A", "A");
    put_secret(&a, X, "1");
    put_secret(&a, Y, "2");
    put(&a, "p", "com.acme/z", "plain");
    run_ms(100);
    (void)reported(&a);
    (void)reported(&b);
    set_keys(&b, "AB");
    set_keys(&a, "BA");
    assert_int_equal(n_sealed_with('A'), 2);
    reseal(&a);
    assert_int_equal(n_sealed_with('A'), 0);
    assert_int_equal(n_sealed_with('B'), 2);
    assert_int_equal(a.resealing.n_secrets, 2);
    assert_int_equal(a.resealing.n_sealed, 2);
    assert_int_equal(a.resealing.n_left + a.resealing.n_lost, 0);
    assert_string_equal(a.resealing.error, "");
    assert_reported(&b, ": +o/x=1, +o/y=2"); /* as they were */
    set_keys(&b, "B");
    put_secret(&b, X, "3");
    assert_non_null(strstr(reported(&b), "committed"));
    int64_t before = model.revision;
    reseal(&a); /* there is nothing to do */
    assert_int_equal(a.resealing.n_sealed, 0);
    assert_int_equal(a.resealing.n_secrets, 2);
    for (size_t i = 0; i < model.history.n; i++)
        assert_true(model.history.items[i].revision <= before ||
                    !strstr(model.history.items[i].key, "/c/"));
}

static void
all_else_of_a_record_stays(void **state)
{
    (void)state;
    char key[300] = "";
    udpai_strbuf more = {0};
    open_with("A", "A");
    put_secret(&a, X, "1");
    for (size_t i = 0; i < model.history.n; i++)
        if (strstr(model.history.items[i].key, "/c/"))
            snprintf(key, sizeof(key), "%s", model.history.items[i].key);
    const etcd_model_event *event = etcd_model_find(&model, udpai_str_from(key), model.revision);
    udpai_str_put(&(char *){udpai_strbuf_extend(&more, event->value.len)}, event->value);
    more.len = event->value.len;
    udpai_strbuf_puts(&more, "\xf8\x01\x07"); /* field 31, of a later version */
    udpai_strbuf_putc(&more, '\0');
    etcd_model_put(&model, key, udpai_strbuf_view(&more).data);
    udpai_strbuf_done(&more);
    run_ms(100);
    set_keys(&a, "BA");
    reseal(&a);
    event = etcd_model_find(&model, udpai_str_from(key), model.revision);
    assert_int_equal(n_sealed_with('B'), 1);
    assert_memory_equal(event->value.data + event->value.len - 3, "\xf8\x01\x07", 3);
    assert_non_null(memmem(event->value.data, event->value.len,
                           "\x22\x01"
                           "a",
                           3)); /* its writer */
}

static void
what_cannot_be_decrypted_is_left(void **state)
{
    (void)state;
    open_with("A", "BC");
    put_secret(&a, X, "1");
    reseal(&b);
    assert_int_equal(b.resealing.n_left, 1);
    assert_int_equal(b.resealing.n_sealed, 0);
    assert_int_equal(n_sealed_with('A'), 1);
    set_keys(&b, "BA");
    reseal(&b);
    assert_int_equal(b.resealing.n_left, 0);
    assert_int_equal(n_sealed_with('B'), 1);
}

static void
without_etcd_it_ends_with_the_reason(void **state)
{
    (void)state;
    open_with("A", "A");
    put_secret(&a, X, "1");
    etcd_model_away(&model, true);
    run_ms(10000);
    reseal(&a);
    assert_string_not_equal(a.resealing.error, "");
    etcd_model_away(&model, false);
    run_ms(5000);
    set_keys(&a, "BA");
    reseal(&a);
    assert_string_equal(a.resealing.error, "");
    assert_int_equal(n_sealed_with('B'), 1);
}

/* Both at once, while both are published to, and etcd is at its worst. */
static void
nothing_is_lost_meanwhile(void **state)
{
    (void)state;
    char name[40];
    for (uint64_t seed = 1; seed <= 10; seed++) {
        open_with("A", "A");
        chance = seed;
        for (int i = 0; i < 80; i++) {
            udpai_durable_batch *batch = new_batch(&a);
            snprintf(name, sizeof(name), "com.acme/n%d", i);
            add_secret(batch, name, "old");
            propose(&a, batch);
        }
        run_ms(1000);
        set_keys(&a, "BA");
        set_keys(&b, "BA");
        model.faults = (etcd_faults){.lost_responses = 50, .refused = 20, .latency_ms = 20};
        udpai_replicator_reseal(a.replicator);
        udpai_replicator_reseal(b.replicator);
        for (int i = 0; i < 20; i++) {
            udpai_durable_batch *batch = new_batch(&b);
            snprintf(name, sizeof(name), "com.acme/n%d", 3 * i);
            add_secret(batch, name, "new");
            propose(&b, batch);
            run_ms(10);
        }
        run_ms(20000);
        model.faults = (etcd_faults){0};
        run_ms(10000);
        reseal(&a);
        assert_string_equal(a.resealing.error, "");
        assert_int_equal(n_sealed_with('A'), 0);
        assert_int_equal(n_sealed_with('B'), 80);
        char text[TEXT];
        memcpy(text, reported(&b), TEXT);
        size_t n_new = 0; /* of those that were committed none has the old value now */
        close_replica(&b);
        open_replica(&b, "b");
        run_ms(200);
        const char *now = reported(&b);
        for (int i = 0; i < 20; i++) {
            snprintf(name, sizeof(name), "+o/n%d=new", 3 * i);
            bool was_committed = strstr(text, name) != NULL;
            n_new += was_committed;
            assert_true(!was_committed || strstr(now, name));
        }
        assert_true(n_new > 0);
        memset(b.text, 0, sizeof(b.text));
        memset(a.text, 0, sizeof(a.text));
    }
}

/* ---- what etcd has of a secret ---- */

static bool
holds(const etcd_model_event *event, const void *bytes, size_t len)
{
    return memmem(event->key, strlen(event->key), bytes, len) ||
           memmem(event->value.data ? event->value.data : "", event->value.len, bytes, len);
}

/* Neither the text, nor a digest of it, in any key or value that there ever was. */
static void
check_history(udpai_str text)
{
    char hex[UDPAI_CONTENT_HASH_HEX + 1] = "";
    udpai_content_hash of_text = udpai_content_hash_of(UDPAI_STR(""), text);
    udpai_content_hash of_type = udpai_content_hash_of(UDPAI_STR(SECRET), text);
    uint64_t digest = udpai_digest(UDPAI_STR(""), text);
    for (size_t i = 0; i < model.history.n; i++) {
        const etcd_model_event *event = &model.history.items[i];
        assert_false(holds(event, text.data, text.len));
        assert_false(holds(event, &of_text, sizeof(of_text)));
        assert_false(holds(event, &of_type, sizeof(of_type)));
        assert_false(holds(event, &digest, sizeof(digest)));
        udpai_content_hash_hex(of_text, hex);
        assert_false(holds(event, hex, 16));
        udpai_content_hash_hex(of_type, hex);
        assert_false(holds(event, hex, 16));
    }
}

static void
nothing_in_etcd_has_a_secret_or_its_digest(void **state)
{
    (void)state;
    char name[40];
    size_t n_locks = 0;
    open_with("A", "A");
    put_secret(&a, X, VALUE);
    udpai_durable_batch *batch = new_batch(&a);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "com.acme/n%d", i);
        add_secret(batch, name, VALUE);
    }
    propose(&a, batch);
    run_ms(3000);
    set_keys(&a, "BA");
    reseal(&a);
    for (size_t i = 0; i < model.history.n; i++)
        n_locks += strncmp(model.history.items[i].key, PREFIX "p/", 5) == 0;
    assert_true(n_locks >= 100);
    assert_int_equal(n_sealed_with('B'), 101);
    check_history(UDPAI_STR(VALUE));
}

static void
nothing_is_encrypted_anew_in_an_older_etcd(void **state)
{
    (void)state;
    open_with("A", "A");
    put_secret(&a, X, "1");
    int64_t snapshot = model.revision;
    put_secret(&a, Y, "2");
    etcd_model_restore(&model, snapshot);
    run_ms(1000);
    set_keys(&a, "BA");
    udpai_replicator_reseal(a.replicator);
    assert_false(a.resealing.is_running);
    assert_string_not_equal(a.resealing.error, "");
    assert_int_equal(n_sealed_with('A'), 1);
    assert_int_equal(n_sealed_with('B'), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_decrypted_stays),
        TEST(with_the_key_it_is_decrypted),
        TEST(what_ends_is_not_locked_any_more),
        TEST(nothing_is_proposed_about_what_is_locked),
        TEST(a_list_says_what_is_locked_first),
        TEST(a_key_that_was_removed_too_early_is_missed),
        TEST(much_that_is_locked_is_reported_seldom),
        TEST(secrets_get_the_first_key),
        TEST(all_else_of_a_record_stays),
        TEST(what_cannot_be_decrypted_is_left),
        TEST(without_etcd_it_ends_with_the_reason),
        TEST(nothing_is_lost_meanwhile),
        TEST(nothing_in_etcd_has_a_secret_or_its_digest),
        TEST(nothing_is_encrypted_anew_in_an_older_etcd),
    };
    return cmocka_run_group_tests_name("replica keys", tests, NULL, NULL);
}
