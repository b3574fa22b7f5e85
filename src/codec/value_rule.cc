/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on single values: numbers, times, texts, enums. As Envoy's own code from
 * protoc-gen-validate does, a pattern must match the whole text, and what is not a number (NaN) is
 * in every range. */
#include "codec/rules.hh"

#include <optional>
#include <set>

#include <re2/re2.h>

#include "codec/text_form.h"

using namespace udpai;

namespace
{

/* Of one pattern; a larger one could make a node slow. */
constexpr int64_t kPatternMemory = 1 << 20;

const pb::FieldDescriptor *
field_named(const pb::Message &rules, const char *name)
{
    return rules.GetDescriptor()->FindFieldByName(name);
}

/* ---- numbers ---- */

template <typename T> T value_of(const Scalar &scalar);

template <>
int64_t
value_of(const Scalar &scalar)
{
    return scalar.integer;
}

template <>
uint64_t
value_of(const Scalar &scalar)
{
    return scalar.natural;
}

template <>
double
value_of(const Scalar &scalar)
{
    return scalar.real;
}

template <>
Nanos
value_of(const Scalar &scalar)
{
    return scalar.nanos;
}

/* The value of a rule's field, or of one of its elements. */
template <typename T>
T read_number(const pb::Message &rules, const pb::FieldDescriptor *field, int index = -1);

template <>
int64_t
read_number(const pb::Message &rules, const pb::FieldDescriptor *field, int index)
{
    const pb::Reflection *reflection = rules.GetReflection();
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_INT64)
        return index < 0 ? reflection->GetInt64(rules, field)
                         : reflection->GetRepeatedInt64(rules, field, index);
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_INT32)
        return index < 0 ? reflection->GetInt32(rules, field)
                         : reflection->GetRepeatedInt32(rules, field, index);
    return 0;
}

template <>
uint64_t
read_number(const pb::Message &rules, const pb::FieldDescriptor *field, int index)
{
    const pb::Reflection *reflection = rules.GetReflection();
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_UINT64)
        return index < 0 ? reflection->GetUInt64(rules, field)
                         : reflection->GetRepeatedUInt64(rules, field, index);
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_UINT32)
        return index < 0 ? reflection->GetUInt32(rules, field)
                         : reflection->GetRepeatedUInt32(rules, field, index);
    return 0;
}

template <>
double
read_number(const pb::Message &rules, const pb::FieldDescriptor *field, int index)
{
    const pb::Reflection *reflection = rules.GetReflection();
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_DOUBLE)
        return index < 0 ? reflection->GetDouble(rules, field)
                         : reflection->GetRepeatedDouble(rules, field, index);
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_FLOAT)
        return double(index < 0 ? reflection->GetFloat(rules, field)
                                : reflection->GetRepeatedFloat(rules, field, index));
    return 0;
}

template <>
Nanos
read_number(const pb::Message &rules, const pb::FieldDescriptor *field, int index)
{
    const pb::Reflection *reflection = rules.GetReflection();
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
        return 0;
    return nanos_of(index < 0 ? reflection->GetMessage(rules, field)
                              : reflection->GetRepeatedMessage(rules, field, index));
}

std::string
text_of(int64_t number)
{
    return std::to_string(number);
}

std::string
text_of(uint64_t number)
{
    return std::to_string(number);
}

std::string
text_of(double number)
{
    char text[32];
    snprintf(text, sizeof(text), "%.10g", number);
    return text;
}

/* "1.5s". */
std::string
text_of(Nanos nanos)
{
    char text[64];
    bool is_negative = nanos < 0;
    Nanos size = is_negative ? -nanos : nanos;
    int len = snprintf(text, sizeof(text), "%s%lld.%09lld", is_negative ? "-" : "",
                       (long long)(size / 1000000000), (long long)(size % 1000000000));
    while (len > 0 && text[len - 1] == '0')
        len--;
    if (len > 0 && text[len - 1] == '.')
        len--;
    return std::string(text, size_t(len)) + "s";
}

template <typename T>
std::string
text_of_list(const std::vector<T> &list)
{
    std::string text;
    for (const T &item : list)
        text += (text.empty() ? "" : ", ") + text_of(item);
    return text;
}

template <typename T>
bool
contains(const std::vector<T> &list, T value)
{
    for (const T &item : list)
        if (item == value)
            return true;
    return false;
}

/* One end of a range. */
template <typename T> struct Bound {
    std::optional<T> at;
    bool is_included = false;
};

template <typename T> class NumberRule : public ValueRule
{
  public:
    explicit NumberRule(const pb::Message &rules)
    {
        exactly_ = Read(rules, "const");
        upper_ = {Read(rules, "lt"), false};
        if (!upper_.at)
            upper_ = {Read(rules, "lte"), true};
        lower_ = {Read(rules, "gt"), false};
        if (!lower_.at)
            lower_ = {Read(rules, "gte"), true};
        ReadList(rules, "in", &in_);
        ReadList(rules, "not_in", &not_in_);
        ignore_empty_ = rule_flag(rules, "ignore_empty");
    }

    std::string Check(const Scalar &scalar) const override
    {
        T value = value_of<T>(scalar);
        if (ignore_empty_ && value == T(0))
            return "";
        if (exactly_ && value != *exactly_)
            return "must be " + text_of(*exactly_);
        std::string problem = CheckRange(value);
        if (!problem.empty())
            return problem;
        if (!in_.empty() && !contains(in_, value))
            return "must be one of " + text_of_list(in_);
        if (contains(not_in_, value))
            return "must be none of " + text_of_list(not_in_);
        return "";
    }

  private:
    static std::optional<T> Read(const pb::Message &rules, const char *name)
    {
        if (!rule_has(rules, name))
            return std::nullopt;
        return read_number<T>(rules, field_named(rules, name));
    }

    static void ReadList(const pb::Message &rules, const char *name, std::vector<T> *list)
    {
        const pb::FieldDescriptor *field = field_named(rules, name);
        int n = field && field->is_repeated() ? rules.GetReflection()->FieldSize(rules, field) : 0;
        for (int i = 0; i < n; i++)
            list->push_back(read_number<T>(rules, field, i));
    }

    std::string UpperText() const
    {
        return (upper_.is_included ? "at most " : "less than ") + text_of(*upper_.at);
    }

    std::string LowerText() const
    {
        return (lower_.is_included ? "at least " : "greater than ") + text_of(*lower_.at);
    }

    /* Bounds that leave nothing between them mean what is outside. */
    std::string CheckRange(T value) const
    {
        bool above =
            upper_.at && (value > *upper_.at || (!upper_.is_included && value == *upper_.at));
        bool below =
            lower_.at && (value < *lower_.at || (!lower_.is_included && value == *lower_.at));
        if (upper_.at && lower_.at && !(*upper_.at > *lower_.at))
            return above && below ? "must be " + UpperText() + " or " + LowerText() : "";
        if (!above && !below)
            return "";
        if (upper_.at && lower_.at)
            return "must be " + LowerText() + " and " + UpperText();
        return "must be " + (above ? UpperText() : LowerText());
    }

    std::optional<T> exactly_;
    Bound<T> upper_, lower_;
    std::vector<T> in_, not_in_;
    bool ignore_empty_ = false;
};

class BoolRule : public ValueRule
{
  public:
    explicit BoolRule(const pb::Message &rules)
        : is_set_(rule_has(rules, "const")), expected_(rule_flag(rules, "const"))
    {
    }

    std::string Check(const Scalar &scalar) const override
    {
        if (!is_set_ || (scalar.natural != 0) == expected_)
            return "";
        return expected_ ? "must be true" : "must be false";
    }

  private:
    bool is_set_, expected_;
};

class EnumRule : public NumberRule<int64_t>
{
  public:
    explicit EnumRule(const pb::Message &rules)
        : NumberRule(rules), defined_only_(rule_flag(rules, "defined_only"))
    {
    }

    std::string Check(const Scalar &scalar) const override
    {
        std::string problem = NumberRule::Check(scalar);
        if (problem.empty() && defined_only_ && scalar.enumeration &&
            !scalar.enumeration->FindValueByNumber(int(scalar.integer)))
            problem = "must be one of the values of " + scalar.enumeration->full_name();
        return problem;
    }

  private:
    bool defined_only_;
};

/* Times have two rules more, which need to know what time it is. */
class TimeRule : public NumberRule<Nanos>
{
  public:
    explicit TimeRule(const pb::Message &rules)
        : NumberRule(rules), lt_now_(rule_flag(rules, "lt_now")),
          gt_now_(rule_flag(rules, "gt_now"))
    {
        if (const pb::Message *within = rule_message(rules, "within"))
            within_ = nanos_of(*within);
    }

    std::string Check(const Scalar &scalar) const override
    {
        Nanos now = Nanos(scalar.now_us) * 1000, distance = scalar.nanos - now;
        if (lt_now_ && distance >= 0)
            return "must lie in the past";
        if (gt_now_ && distance <= 0)
            return "must lie in the future";
        if (within_ && (distance > *within_ || distance < -*within_))
            return "must lie within " + text_of(*within_) + " of now";
        return NumberRule::Check(scalar);
    }

  private:
    bool lt_now_, gt_now_;
    std::optional<Nanos> within_;
};

/* ---- texts and bytes ---- */

using Form = bool (*)(udpai_str text);

bool
is_address(udpai_str text)
{
    return udpai_text_is_hostname(text) || udpai_text_is_ip(text);
}

struct NamedForm {
    const char *name;
    Form is;
    const char *problem;
};

constexpr NamedForm kTextForms[] = {
    {"ip", udpai_text_is_ip, "must be an IP address"},
    {"ipv4", udpai_text_is_ipv4, "must be an IPv4 address"},
    {"ipv6", udpai_text_is_ipv6, "must be an IPv6 address"},
    {"email", udpai_text_is_email, "must be an e-mail address"},
    {"address", is_address, "must be a host name or an IP address"},
    {"hostname", udpai_text_is_hostname, "must be a host name"},
    {"uri", udpai_text_is_uri, "must be a URI with a scheme"},
    {"uri_ref", udpai_text_is_uri_reference, "must be a URI, or a reference to one"},
    {"uuid", udpai_text_is_uuid, "must be a UUID"},
};

/* Addresses as bytes are in network order. */
bool
is_packed_ip(udpai_str bytes)
{
    return bytes.len == 4 || bytes.len == 16;
}

bool
is_packed_ipv4(udpai_str bytes)
{
    return bytes.len == 4;
}

bool
is_packed_ipv6(udpai_str bytes)
{
    return bytes.len == 16;
}

constexpr NamedForm kBytesForms[] = {
    {"ip", is_packed_ip, "must be an IP address of 4 or 16 bytes"},
    {"ipv4", is_packed_ipv4, "must be an IPv4 address of 4 bytes"},
    {"ipv6", is_packed_ipv6, "must be an IPv6 address of 16 bytes"},
};

/* The numbers of validate.KnownRegex. */
enum {
    kHeaderName = 1,
    kHeaderValue = 2
};

bool
is_header_name(const std::string &text)
{
    size_t start = !text.empty() && text[0] == ':' ? 1 : 0;
    if (text.size() == start)
        return false;
    for (size_t i = start; i < text.size(); i++) {
        char c = text[i];
        bool is_token = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                        (c >= 'a' && c <= 'z') || (c && strchr("!#$%&'*+,-.^_|~`", c));
        if (!is_token)
            return false;
    }
    return true;
}

/* Strict: no control characters but tabs. Else only what would end a header is refused. */
bool
is_header_text(const std::string &text, bool is_strict)
{
    for (char c : text) {
        unsigned char code = (unsigned char)c;
        if (is_strict ? (code < 0x20 && c != '\t') || code == 0x7f
                      : c == '\0' || c == '\n' || c == '\r')
            return false;
    }
    return true;
}

size_t
count_characters(const std::string &text)
{
    size_t n = 0;
    for (char c : text)
        n += ((unsigned char)c & 0xc0) != 0x80;
    return n;
}

std::string
read_text(const pb::Message &rules, const char *name)
{
    const pb::FieldDescriptor *field = field_named(rules, name);
    if (!field || field->is_repeated() || field->cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING)
        return "";
    return rules.GetReflection()->GetString(rules, field);
}

std::set<std::string>
read_texts(const pb::Message &rules, const char *name)
{
    std::set<std::string> texts;
    const pb::FieldDescriptor *field = field_named(rules, name);
    if (!field || !field->is_repeated() || field->cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING)
        return texts;
    int n = rules.GetReflection()->FieldSize(rules, field);
    for (int i = 0; i < n; i++)
        texts.insert(rules.GetReflection()->GetRepeatedString(rules, field, i));
    return texts;
}

/* A least and a greatest size. */
struct Sizes {
    uint64_t min = 0, max = UINT64_MAX;

    Sizes() = default;

    Sizes(const pb::Message &rules, const char *exactly, const char *least, const char *most)
        : min(rule_number(rules, exactly, rule_number(rules, least, 0))),
          max(rule_number(rules, exactly, rule_number(rules, most, UINT64_MAX)))
    {
    }

    bool IsSet() const
    {
        return min || max != UINT64_MAX;
    }

    std::string Check(uint64_t size, const char *unit) const
    {
        std::string problem;
        if (size >= min && size <= max)
            return problem;
        if (min == max)
            problem = "must have " + std::to_string(min);
        else if (size < min)
            problem = "must have at least " + std::to_string(min);
        else
            problem = "must have at most " + std::to_string(max);
        return problem + " " + unit + ((min == max || size < min ? min : max) == 1 ? "" : "s");
    }
};

/* Of both: rules on bytes have fewer fields, and what is not there is not set. */
class TextRule : public ValueRule
{
  public:
    TextRule(const pb::Message &rules, bool is_bytes)
        : is_bytes_(is_bytes), ignore_empty_(rule_flag(rules, "ignore_empty")),
          has_exactly_(rule_has(rules, "const")), exactly_(read_text(rules, "const")),
          in_(read_texts(rules, "in")), not_in_(read_texts(rules, "not_in")),
          prefix_(read_text(rules, "prefix")), suffix_(read_text(rules, "suffix")),
          contains_(read_text(rules, "contains")), not_contains_(read_text(rules, "not_contains"))
    {
        (is_bytes ? bytes_ : characters_) = Sizes(rules, "len", "min_len", "max_len");
        if (!is_bytes)
            bytes_ = Sizes(rules, "len_bytes", "min_bytes", "max_bytes");
        if (rule_has(rules, "pattern"))
            SetPattern(read_text(rules, "pattern"));
        SetForm(rules);
    }

    std::string Check(const Scalar &scalar) const override
    {
        const std::string &text = *scalar.text;
        if (ignore_empty_ && text.empty())
            return "";
        if (has_exactly_ && text != exactly_)
            return "must be '" + exactly_ + "'";
        if (!in_.empty() && !in_.count(text))
            return "must be one of " + Listed(in_);
        if (not_in_.count(text))
            return "must be none of " + Listed(not_in_);
        std::string problem = bytes_.Check(text.size(), "byte");
        if (problem.empty() && characters_.IsSet())
            problem = characters_.Check(count_characters(text), "character");
        if (problem.empty())
            problem = CheckParts(text);
        return problem.empty() ? CheckForm(text) : problem;
    }

  private:
    void SetPattern(const std::string &pattern)
    {
        re2::RE2::Options options;
        options.set_log_errors(false);
        options.set_max_mem(kPatternMemory);
        if (is_bytes_)
            options.set_encoding(re2::RE2::Options::EncodingLatin1);
        pattern_ = std::make_unique<re2::RE2>(pattern, options);
    }

    void SetForm(const pb::Message &rules)
    {
        const NamedForm *forms = is_bytes_ ? kBytesForms : kTextForms;
        size_t n = is_bytes_ ? UDPAI_ARRAY_LEN(kBytesForms) : UDPAI_ARRAY_LEN(kTextForms);
        for (size_t i = 0; i < n; i++)
            if (rule_flag(rules, forms[i].name))
                form_ = &forms[i];
        const pb::FieldDescriptor *known = field_named(rules, "well_known_regex");
        if (known && known->cpp_type() == pb::FieldDescriptor::CPPTYPE_ENUM)
            header_ = rules.GetReflection()->GetEnumValue(rules, known);
        is_strict_ = rule_flag(rules, "strict", true);
    }

    static std::string Listed(const std::set<std::string> &texts)
    {
        std::string list;
        for (const std::string &text : texts)
            list += (list.empty() ? "'" : ", '") + text + "'";
        return list;
    }

    std::string CheckParts(const std::string &text) const
    {
        if (text.compare(0, prefix_.size(), prefix_) != 0)
            return "must begin with '" + prefix_ + "'";
        if (text.size() < suffix_.size() ||
            text.compare(text.size() - suffix_.size(), suffix_.size(), suffix_) != 0)
            return "must end with '" + suffix_ + "'";
        if (text.find(contains_) == std::string::npos)
            return "must contain '" + contains_ + "'";
        if (!not_contains_.empty() && text.find(not_contains_) != std::string::npos)
            return "must not contain '" + not_contains_ + "'";
        return "";
    }

    std::string CheckForm(const std::string &text) const
    {
        if (pattern_ && !pattern_->ok())
            return "cannot be checked: its rule has a pattern that is none: " + pattern_->error();
        if (pattern_ && !re2::RE2::FullMatch(text, *pattern_))
            return "must match the pattern " + pattern_->pattern();
        if (form_ && !form_->is({text.data(), text.size()}))
            return form_->problem;
        return CheckHeader(text);
    }

    std::string CheckHeader(const std::string &text) const
    {
        if (header_ == kHeaderName && is_strict_ && !is_header_name(text))
            return "must be the name of an HTTP header";
        if (header_ == kHeaderValue && is_strict_ && !is_header_text(text, true))
            return "must be the value of an HTTP header, without control characters";
        if (header_ != 0 && !is_strict_ && !is_header_text(text, false))
            return "must have no line ends and zero bytes";
        return "";
    }

    bool is_bytes_, ignore_empty_, has_exactly_;
    std::string exactly_;
    std::set<std::string> in_, not_in_;
    std::string prefix_, suffix_, contains_, not_contains_;
    Sizes characters_, bytes_;
    std::unique_ptr<re2::RE2> pattern_;
    const NamedForm *form_ = nullptr;
    int header_ = 0;
    bool is_strict_ = true;
};

/* ---- which rule is for what ---- */

template <typename T>
std::unique_ptr<ValueRule>
number_rule(const pb::Message &rules)
{
    return std::make_unique<NumberRule<T>>(rules);
}

std::unique_ptr<ValueRule>
new_rule_of_message(const pb::Message &rules,
                    const std::string &kind,
                    const pb::FieldDescriptor *field)
{
    const std::string &type = field->message_type()->full_name();
    if (kind == "duration" && type == "google.protobuf.Duration")
        return number_rule<Nanos>(rules);
    if (kind == "timestamp" && type == "google.protobuf.Timestamp")
        return std::make_unique<TimeRule>(rules);
    if (kind == "any" && type == "google.protobuf.Any")
        return std::make_unique<TextRule>(rules, true);
    return nullptr;
}

std::unique_ptr<ValueRule>
new_rule_of_number(const pb::Message &rules, pb::FieldDescriptor::CppType type)
{
    switch (type) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
    case pb::FieldDescriptor::CPPTYPE_INT64:
        return number_rule<int64_t>(rules);
    case pb::FieldDescriptor::CPPTYPE_UINT32:
    case pb::FieldDescriptor::CPPTYPE_UINT64:
        return number_rule<uint64_t>(rules);
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
        return number_rule<double>(rules);
    default:
        return nullptr;
    }
}

} /* namespace */

std::unique_ptr<ValueRule>
udpai::new_value_rule(const pb::Message &rules,
                      const pb::FieldDescriptor *kind,
                      const pb::FieldDescriptor *field)
{
    const std::string &name = kind->name();
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
        return new_rule_of_message(rules, name, field);
    if (name != field->type_name()) /* "int32", "string", "enum": rules are called like types */
        return nullptr;
    switch (field->type()) {
    case pb::FieldDescriptor::TYPE_STRING:
        return std::make_unique<TextRule>(rules, false);
    case pb::FieldDescriptor::TYPE_BYTES:
        return std::make_unique<TextRule>(rules, true);
    case pb::FieldDescriptor::TYPE_BOOL:
        return std::make_unique<BoolRule>(rules);
    case pb::FieldDescriptor::TYPE_ENUM:
        return std::make_unique<EnumRule>(rules);
    default:
        return new_rule_of_number(rules, field->cpp_type());
    }
}
