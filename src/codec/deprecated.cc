/* SPDX-License-Identifier: Apache-2.0 */
/* Fields and values of enums are marked by the option "deprecated" that every descriptor can have,
 * and disallowed by extensions of Envoy's (envoy/annotations/deprecation.proto). */
#include "codec/deprecated.hh"

using namespace udpai;

namespace
{

/* The extensions disallowed_by_default and disallowed_by_default_enum. */
constexpr int kDisallowedField = 189503207, kDisallowedValue = 70100853;

bool
has_deprecated_value(const pb::EnumDescriptor *values)
{
    for (int i = 0; i < values->value_count(); i++)
        if (values->value(i)->options().deprecated())
            return true;
    return false;
}

/* Of a map: of its values. */
const pb::EnumDescriptor *
deprecated_values(const pb::FieldDescriptor *field)
{
    if (field->is_map())
        field = field->message_type()->map_value();
    const pb::EnumDescriptor *values = field->enum_type(); /* NULL: it has none */
    return values && has_deprecated_value(values) ? values : nullptr;
}

/* visit(value, is_default) for each value that is deprecated. */
template <typename Visit>
void
visit_number(const pb::EnumDescriptor *values, int number, bool is_default, const Visit &visit)
{
    const pb::EnumValueDescriptor *value = values->FindValueByNumber(number);
    if (value && value->options().deprecated())
        visit(value, is_default);
}

template <typename Visit>
void
visit_values(const pb::Message &message, const DeprecatedField &of, const Visit &visit)
{
    const pb::Reflection *reflection = message.GetReflection();
    if (!of.field->is_repeated()) {
        bool is_there = reflection->HasField(message, of.field);
        if (is_there || of.has_default)
            visit_number(of.values, reflection->GetEnumValue(message, of.field), !is_there, visit);
        return;
    }
    const pb::FieldDescriptor *in_entry =
        of.field->is_map() ? of.field->message_type()->map_value() : nullptr;
    for (int i = 0; i < reflection->FieldSize(message, of.field); i++) {
        if (!in_entry) {
            visit_number(of.values, reflection->GetRepeatedEnumValue(message, of.field, i), false,
                         visit);
            continue;
        }
        const pb::Message &entry = reflection->GetRepeatedMessage(message, of.field, i);
        visit_number(of.values, entry.GetReflection()->GetEnumValue(entry, in_entry), false, visit);
    }
}

bool
is_there(const pb::Message &message, const pb::FieldDescriptor *field)
{
    const pb::Reflection *reflection = message.GetReflection();
    return field->is_repeated() ? reflection->FieldSize(message, field) > 0
                                : reflection->HasField(message, field);
}

} /* namespace */

std::vector<DeprecatedField>
udpai::deprecated_fields(const pb::Descriptor *type)
{
    std::vector<DeprecatedField> fields;
    for (int i = 0; i < type->field_count(); i++) {
        const pb::FieldDescriptor *field = type->field(i);
        const pb::EnumDescriptor *values = deprecated_values(field);
        bool is_marked = field->options().deprecated();
        if (is_marked || values)
            fields.push_back(
                {field, is_marked, values, !field->is_repeated() && !field->has_presence()});
    }
    return fields;
}

DeprecatedUses::Use
DeprecatedUses::Begin(const pb::FieldDescriptor *field,
                      const pb::EnumValueDescriptor *value,
                      bool is_default,
                      const std::string &path) const
{
    Use use{field, value, is_default, path + (path.empty() ? "" : ".") + field->name()};
    const udpai_deprecated printed = Shown(use);
    use.is_allowed =
        asked_.allows ? asked_.allows(asked_.userdata, &printed) : !printed.is_disallowed;
    return use;
}

void
DeprecatedUses::Look(const pb::Message &message,
                     const std::vector<DeprecatedField> &fields,
                     const std::string &path,
                     const Refuse &refuse)
{
    for (const DeprecatedField &of : fields) {
        bool is_refused = false; /* once is enough to report of a list */
        auto note = [&](const pb::EnumValueDescriptor *value, bool is_default) {
            const void *key = value ? static_cast<const void *>(value) : of.field;
            auto [at, is_new] = found_.try_emplace(key, uses_.size());
            if (is_new)
                uses_.push_back(Begin(of.field, value, is_default, path));
            Use &use = uses_[at->second];
            use.n++;
            if (!use.is_allowed && !is_refused)
                refuse(of.field, Reason(use));
            is_refused = is_refused || !use.is_allowed;
        };
        if (of.is_deprecated && is_there(message, of.field))
            note(nullptr, false);
        if (of.values)
            visit_values(message, of, note);
    }
}

udpai_deprecated
DeprecatedUses::Shown(const Use &use) const
{
    udpai_deprecated printed = {};
    printed.name = use.value ? use.value->full_name().c_str() : use.field->full_name().c_str();
    printed.holder = use.value ? use.field->full_name().c_str() : nullptr;
    printed.is_default = use.is_default;
    printed.is_disallowed = use.value ? option_flag(use.value->options(), kDisallowedValue)
                                      : option_flag(use.field->options(), kDisallowedField);
    printed.path = use.path.c_str();
    printed.n_uses = use.n;
    return printed;
}

std::string
DeprecatedUses::Reason(const Use &use) const
{
    const udpai_deprecated printed = Shown(use);
    std::string reason = use.is_default ? "has by default the deprecated value '"
                         : use.value    ? "has the deprecated value '"
                                        : "is the deprecated option '";
    return reason + printed.name + "', which is disallowed" +
           (printed.is_disallowed ? " by default" : "") + "; the runtime key " +
           UDPAI_DEPRECATED_KEY + printed.name + " allows it";
}

void
DeprecatedUses::ReportAll() const
{
    for (size_t i = 0; asked_.used && i < uses_.size(); i++) {
        const udpai_deprecated printed = Shown(uses_[i]);
        asked_.used(asked_.userdata, &printed);
    }
}
