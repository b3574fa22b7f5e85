/* SPDX-License-Identifier: Apache-2.0 */
/* Rules from the options of descriptors. Programs that do not link the extension find it among the
 * unknown fields of the options; its message is read by the descriptors that the schema has of it.
 * A rule that does not fit its field is passed over, as protoc-gen-validate would have refused it.
 * Of its rules one alone does nothing here: no_sparse, as a map on the wire has no value that is
 * missing. */
#include "codec/rules.hh"
#include "codec/validate.h"

using namespace udpai;

namespace
{

/* The numbers of the extensions of FieldOptions, OneofOptions, MessageOptions. */
constexpr int kRules = 1071, kRequired = 1071, kDisabled = 1071, kIgnored = 1072;

/* NULL: the field has no rules. */
std::unique_ptr<pb::Message>
rules_of(pb::DynamicMessageFactory *factory,
         const pb::Descriptor *rules_type,
         const pb::FieldDescriptor *field)
{
    std::string bytes;
    const pb::Message &options = field->options();
    const pb::UnknownFieldSet &fields = options.GetReflection()->GetUnknownFields(options);
    for (int i = 0; i < fields.field_count(); i++)
        if (fields.field(i).number() == kRules &&
            fields.field(i).type() == pb::UnknownField::TYPE_LENGTH_DELIMITED)
            bytes += fields.field(i).length_delimited(); /* parts of one message merge so */
    if (bytes.empty() || !rules_type)
        return nullptr;
    std::unique_ptr<pb::Message> rules(factory->GetPrototype(rules_type)->New());
    return rules->ParsePartialFromString(bytes) ? std::move(rules) : nullptr;
}

bool
is_wrapper(const pb::Descriptor *type)
{
    switch (type->well_known_type()) {
    case pb::Descriptor::WELLKNOWNTYPE_DOUBLEVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_FLOATVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_INT64VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_UINT64VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_INT32VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_UINT32VALUE:
    case pb::Descriptor::WELLKNOWNTYPE_STRINGVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_BYTESVALUE:
    case pb::Descriptor::WELLKNOWNTYPE_BOOLVALUE:
        return true;
    default:
        return false;
    }
}

void compile_element(const pb::Message &from, const pb::FieldDescriptor *field, Rules *to);

/* Of the items of a list, or the keys or values of a map. */
std::unique_ptr<Rules>
new_element_rules(const pb::Message &parent, const char *name, const pb::FieldDescriptor *field)
{
    const pb::Message *from = rule_message(parent, name);
    if (!from)
        return nullptr;
    auto rules = std::make_unique<Rules>();
    compile_element(*from, field, rules.get());
    return rules;
}

/* The member of the oneof with the kind of the rules; NULL: none is set. */
const pb::FieldDescriptor *
kind_of_rules(const pb::Message &rules)
{
    const pb::OneofDescriptor *kinds = rules.GetDescriptor()->FindOneofByName("type");
    const pb::FieldDescriptor *kind =
        kinds ? rules.GetReflection()->GetOneofFieldDescriptor(rules, kinds) : nullptr;
    return kind && kind->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE ? kind : nullptr;
}

/* One value: of a field that is no list, or in one. */
void
compile_element(const pb::Message &from, const pb::FieldDescriptor *field, Rules *to)
{
    if (const pb::Message *message = rule_message(from, "message")) {
        to->skip = rule_flag(*message, "skip");
        to->required = rule_flag(*message, "required");
    }
    const pb::FieldDescriptor *kind = kind_of_rules(from);
    if (!kind)
        return;
    const pb::Message &rules = from.GetReflection()->GetMessage(from, kind);
    to->required = to->required || rule_flag(rules, "required");
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE &&
        is_wrapper(field->message_type()))
        to->wrapped = field->message_type()->FindFieldByNumber(1);
    to->value = new_value_rule(rules, kind, to->wrapped ? to->wrapped : field);
}

void
compile_list(const pb::Message &rules, const pb::FieldDescriptor *field, Rules *to)
{
    to->min = rule_number(rules, "min_items", 0);
    to->max = rule_number(rules, "max_items", UINT64_MAX);
    to->unique = rule_flag(rules, "unique");
    to->ignore_empty = rule_flag(rules, "ignore_empty");
    to->items = new_element_rules(rules, "items", field);
}

void
compile_map(const pb::Message &rules, const pb::FieldDescriptor *field, Rules *to)
{
    to->min = rule_number(rules, "min_pairs", 0);
    to->max = rule_number(rules, "max_pairs", UINT64_MAX);
    to->ignore_empty = rule_flag(rules, "ignore_empty");
    to->keys = new_element_rules(rules, "keys", field->message_type()->map_key());
    to->values = new_element_rules(rules, "values", field->message_type()->map_value());
}

Rules
compile_field(const pb::Message &from, const pb::FieldDescriptor *field)
{
    Rules rules;
    if (!field->is_repeated()) {
        compile_element(from, field, &rules);
        return rules;
    }
    const pb::FieldDescriptor *kind = kind_of_rules(from);
    const char *expected = field->is_map() ? "map" : "repeated";
    if (!kind || kind->name() != expected)
        return rules;
    const pb::Message &of_kind = from.GetReflection()->GetMessage(from, kind);
    if (field->is_map())
        compile_map(of_kind, field, &rules);
    else
        compile_list(of_kind, field, &rules);
    return rules;
}

} /* namespace */

const char *
udpai_rules_absent(void)
{
    return nullptr;
}

std::unique_ptr<TypeRules>
udpai::compile_rules(pb::DynamicMessageFactory *factory,
                     const pb::Descriptor *rules_type,
                     const pb::Descriptor *type)
{
    auto compiled = std::make_unique<TypeRules>();
    compiled->is_disabled =
        option_flag(type->options(), kDisabled) || option_flag(type->options(), kIgnored);
    for (bool in_oneof : {false, true}) {
        for (int i = 0; i < type->field_count(); i++) {
            const pb::FieldDescriptor *field = type->field(i);
            if ((field->containing_oneof() != nullptr) != in_oneof)
                continue;
            std::unique_ptr<pb::Message> from = rules_of(factory, rules_type, field);
            FieldRules rules{field, from ? compile_field(*from, field) : Rules()};
            if (rules.rules.Any() || field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
                compiled->fields.push_back(std::move(rules));
        }
    }
    for (int i = 0; i < type->real_oneof_decl_count(); i++)
        if (option_flag(type->oneof_decl(i)->options(), kRequired))
            compiled->required_oneofs.push_back(type->oneof_decl(i));
    compiled->deprecated = deprecated_fields(type);
    return compiled;
}
