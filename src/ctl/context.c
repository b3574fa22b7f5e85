/* SPDX-License-Identifier: Apache-2.0 */
/* context: named settings of nodes, which udpactl uses without being given them each time. */
#include "base/alloc.h"
#include "cli/context_file.h"
#include "cli/output.h"
#include "codec/json_text.h"
#include "ctl/commands.h"
#include "ctl/whole_path.h"
#include "model/name.h"
#include "model/server_list.h"
#include "transport/grpc/stream_thread.h"

typedef struct contexts {
    const udpai_ctl_options *options;
    char *path;
    udpai_cli_contexts all;
} contexts;

static udpai_cli_exit
fail(const udpa_error *error)
{
    udpai_cli_complain_of(error);
    return UDPAI_CLI_MISTAKE;
}

static udpai_cli_exit
out_of_memory(void)
{
    udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
load(contexts *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    self->path = udpai_cli_context_file_path();
    if (!self->path) {
        udpai_cli_complain("there is no place for contexts: neither HOME nor XDG_CONFIG_HOME is "
                           "the path of a directory");
        return UDPAI_CLI_MISTAKE;
    }
    return udpai_cli_context_file_load(self->path, &self->all, &error) == UDPA_OK ? UDPAI_CLI_GOOD
                                                                                  : fail(error);
}

static udpai_cli_exit
save(const contexts *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_cli_context_file_save(self->path, &self->all, &error) == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain_of(error);
    return UDPAI_CLI_REFUSED;
}

/* NULL: there is none, which was printed. */
static udpai_cli_context *
find(const contexts *self, const char *name)
{
    char text[512];
    udpai_cli_context *found = udpai_cli_contexts_find(&self->all, udpai_str_from(name));
    if (!found)
        udpai_cli_complain("there is no context '%s' in %s%s", name, self->path,
                           udpai_cli_contexts_suggest(&self->all, name, text, sizeof(text)));
    return found;
}

/* ---- showing ---- */

static bool
is_current(const contexts *self, const udpai_cli_context *one)
{
    return self->all.current && strcmp(self->all.current, one->name) == 0;
}

static udpai_cli_exit
print_json(const contexts *self)
{
    udpai_strbuf out = {0};
    udpai_strbuf_putc(&out, '[');
    for (size_t i = 0; i < self->all.items.n; i++) {
        const udpai_cli_context *one = &self->all.items.items[i];
        udpai_strbuf_printf(&out, "%s{\"name\": \"%s\", \"current\": %s", i ? ", " : "", one->name,
                            is_current(self, one) ? "true" : "false");
        for (size_t k = 0; k < UDPAI_CLI_SETTINGS; k++) {
            if (!one->values[k])
                continue;
            udpai_strbuf_printf(
                &out, ", \"%s\": ", udpai_cli_setting_info_of((udpai_cli_setting)k)->field);
            udpai_json_put_string(&out, udpai_str_from(one->values[k]));
        }
        udpai_strbuf_putc(&out, '}');
    }
    udpai_strbuf_puts(&out, "]\n");
    return udpai_cli_print_json(&self->options->common, &out);
}

static udpai_cli_exit
list(contexts *self)
{
    static const char *const heads[] = {"CURRENT", "NAME", "SERVER", "NAMESPACE", "NODE ID"};
    static const udpai_cli_setting columns[] = {UDPAI_CLI_SERVER, UDPAI_CLI_NAMESPACE,
                                                UDPAI_CLI_NODE_ID};
    udpai_cli_layout layout = udpai_cli_layout_of(&self->options->common);
    udpai_cli_table table;
    udpai_strbuf out = {0};
    if (self->options->common.format == UDPAI_CLI_JSON)
        return print_json(self);
    udpai_cli_table_begin(&table, &layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < self->all.items.n; i++) {
        const udpai_cli_context *one = &self->all.items.items[i];
        udpai_cli_table_add_text(&table, is_current(self, one) ? "*" : "");
        udpai_cli_table_add_text(&table, one->name);
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(columns); k++)
            udpai_cli_table_add_text(&table,
                                     one->values[columns[k]] ? one->values[columns[k]] : "");
    }
    udpai_cli_table_write(&table, &out);
    udpai_cli_table_done(&table);
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
complain_of_none(void)
{
    udpai_cli_complain("no context is current: 'udpactl context use NAME' makes one so");
    return UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
print_current(contexts *self)
{
    if (!self->all.current)
        return complain_of_none();
    udpai_cli_print_line("%s", self->all.current);
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
show(contexts *self, const char *name)
{
    udpai_strbuf out = {0};
    if (!name && !self->all.current)
        return complain_of_none();
    const udpai_cli_context *found = find(self, name ? name : self->all.current);
    if (!found)
        return UDPAI_CLI_REFUSED;
    udpai_strbuf_printf(&out, "# context '%s' of %s\n", found->name, self->path);
    udpai_cli_context_put(found, "", &out);
    return udpai_cli_print(&out);
}

/* ---- changing ---- */

static udpai_cli_exit
use(contexts *self, const char *name)
{
    const udpai_cli_context *found = find(self, name);
    if (!found)
        return UDPAI_CLI_REFUSED;
    char *current = udpai_strdup(name);
    if (!current)
        return out_of_memory();
    udpai_free(self->all.current);
    self->all.current = current;
    udpai_cli_exit result = save(self);
    if (result == UDPAI_CLI_GOOD)
        udpai_cli_print_line("context '%s' is current", name);
    return result;
}

static udpai_cli_exit delete (contexts *self, const char *name)
{
    udpai_cli_context *found = find(self, name);
    if (!found)
        return UDPAI_CLI_REFUSED;
    bool was_current = is_current(self, found);
    udpai_cli_contexts_remove(&self->all, found);
    udpai_cli_exit result = save(self);
    if (result == UDPAI_CLI_GOOD)
        udpai_cli_print_line("context '%s' is deleted%s", name,
                             was_current ? ", and none is current" : "");
    return result;
}

static bool
put_addresses(udpai_strbuf *out, udpai_str list)
{
    udpai_str one, local = UDPAI_STR("unix:");
    bool is_good = true;
    while (is_good && udpai_server_list_cut(&list, &one)) {
        udpai_strbuf_puts(out, out->len ? "," : "");
        bool is_path = udpai_str_starts(one, local) && one.len > local.len;
        udpai_strbuf_str(out, is_path ? local : one);
        if (is_path)
            is_good = udpai_ctl_put_whole_path(
                out, (udpai_str){one.data + local.len, one.len - local.len});
    }
    return is_good;
}

/* What would be an error each time that it is used. */
static udpa_err
check_value(udpai_cli_setting setting, const char *text, udpa_error **ret_error)
{
    if (!*text)
        return UDPA_OK;
    if (setting == UDPAI_CLI_SERVER)
        return udpai_dial_list_check(text, ret_error);
    return setting == UDPAI_CLI_NAMESPACE ? udpai_prefix_check(udpai_str_from(text), ret_error)
                                          : UDPA_OK;
}

static udpai_cli_exit
set_one(udpai_cli_context *context, udpai_cli_setting setting, const char *text)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (check_value(setting, text, &error) != UDPA_OK) {
        udpai_cli_complain("%s %s: %s", udpai_cli_setting_info_of(setting)->option, text,
                           udpa_error_message(error));
        return UDPAI_CLI_MISTAKE;
    }
    udpai_strbuf value = {0};
    udpai_str given = udpai_str_from(text);
    bool is_good = true;
    if (given.len && udpai_cli_setting_info_of(setting)->is_file)
        is_good = udpai_ctl_put_whole_path(&value, given);
    else if (setting == UDPAI_CLI_SERVER || setting == UDPAI_CLI_ADMIN_ADDRESS)
        is_good = put_addresses(&value, given);
    else
        udpai_strbuf_str(&value, given);
    udpai_cli_exit result = is_good ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
    if (is_good && (udpai_strbuf_failed(&value) ||
                    udpai_cli_context_set(context, setting, udpai_strbuf_view(&value)) != UDPA_OK))
        result = out_of_memory();
    udpai_strbuf_done(&value);
    return result;
}

static udpai_cli_exit
set_given(contexts *self, udpai_cli_context *context)
{
    const udpai_cli_options *common = &self->options->common;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    size_t n = 0;
    for (size_t i = 0; i < UDPAI_CLI_SETTINGS && result == UDPAI_CLI_GOOD; i++) {
        if (common->levels[i] != UDPAI_CLI_OPTION)
            continue;
        result = set_one(context, (udpai_cli_setting)i,
                         udpai_cli_setting_value(common, (udpai_cli_setting)i));
        n++;
    }
    if (n == 0) {
        udpai_cli_complain("give what is to be kept: udpactl context set NAME --server HOST:PORT "
                           "--ca FILE -n NAMESPACE ...");
        return UDPAI_CLI_MISTAKE;
    }
    return result;
}

/* The first one that is made is current. */
static udpai_cli_exit
set(contexts *self, const char *name)
{
    if (!udpai_cli_context_name_is_good(udpai_str_from(name))) {
        udpai_cli_complain("'%s' cannot be the name of a context: write a letter, then at most %d "
                           "letters, digits, '-', '_' and '.'",
                           name, UDPAI_CLI_CONTEXT_NAME_MAX - 1);
        return UDPAI_CLI_MISTAKE;
    }
    bool is_first = self->all.items.n == 0;
    udpai_cli_context *context = udpai_cli_contexts_get(&self->all, udpai_str_from(name));
    udpai_cli_exit result = context ? set_given(self, context) : out_of_memory();
    if (result == UDPAI_CLI_GOOD && is_first && !self->all.current)
        return use(self, name);
    if (result == UDPAI_CLI_GOOD)
        result = save(self);
    if (result == UDPAI_CLI_GOOD)
        udpai_cli_print_line("context '%s' is set", name);
    return result;
}

/* ---- the command ---- */

static udpai_cli_exit
run(contexts *self, const char *word, const char *name)
{
    if (!name && (strcmp(word, "list") == 0 || strcmp(word, "contexts") == 0))
        return list(self);
    if (!name && strcmp(word, "current") == 0)
        return print_current(self);
    if (strcmp(word, "show") == 0)
        return show(self, name);
    if (name && strcmp(word, "use") == 0)
        return use(self, name);
    if (name && strcmp(word, "set") == 0)
        return set(self, name);
    if (name && strcmp(word, "delete") == 0)
        return delete (self, name);
    udpai_cli_complain("write 'udpactl context [list]', or context current, use NAME, show [NAME], "
                       "set NAME OPTION..., or delete NAME");
    return UDPAI_CLI_MISTAKE;
}

udpai_cli_exit
udpai_ctl_context(udpai_cli *cli)
{
    contexts self = {.options = udpai_ctl_options_of(cli->options)};
    const char *const *arguments = self.options->common.arguments.items;
    size_t n = self.options->common.arguments.n;
    udpai_cli_exit result = load(&self);
    if (result == UDPAI_CLI_GOOD && n <= 2)
        result = run(&self, n ? arguments[0] : "list", n > 1 ? arguments[1] : NULL);
    else if (result == UDPAI_CLI_GOOD)
        result = run(&self, "", NULL);
    udpai_cli_contexts_done(&self.all);
    udpai_free(self.path);
    return result;
}
