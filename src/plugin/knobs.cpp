// Knob values from text, and what is said about knobs.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/json.hpp"
#include "tessera/plugin/registry.hpp"

namespace tessera::plugin {

namespace {

std::string plain(double value) {
    char text[64];
    const auto [end, code] = std::to_chars(text, text + sizeof text, value);
    return code == std::errc() ? std::string(text, end) : "?";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

/// The value in the notation of tessera_value; empty if it is not understood or out of range.
std::string checked(const Knob& knob, const std::string& value) {
    const char* begin = value.data();
    const char* end = begin + value.size();
    switch (knob.type) {
        case KnobType::integer: {
            std::int64_t number = 0;
            const auto [stop, code] = std::from_chars(begin, end, number);
            const bool good = code == std::errc() && stop == end &&
                              static_cast<double>(number) >= knob.lowest &&
                              static_cast<double>(number) <= knob.highest;
            return good ? std::to_string(number) : "";
        }
        case KnobType::number: {
            double number = 0;
            const auto [stop, code] = std::from_chars(begin, end, number);
            const bool good = code == std::errc() && stop == end && std::isfinite(number) &&
                              number >= knob.lowest && number <= knob.highest;
            return good ? value : "";
        }
        case KnobType::flag:
            return value == "1" || value == "true" || value == "yes"   ? "1"
                   : value == "0" || value == "false" || value == "no" ? "0"
                                                                       : "";
        default:
            for (const std::string& choice : knob.choices) {
                if (choice == value) {
                    return value;
                }
            }
            return knob.choices.empty() ? value : "";
    }
}

}  // namespace

std::string describe(const Knob& knob) {
    const std::string unit = knob.unit.empty() ? "" : " " + knob.unit;
    switch (knob.type) {
        case KnobType::integer:
        case KnobType::number: {
            const std::string kind = knob.type == KnobType::integer ? "whole number" : "number";
            if (std::isinf(knob.lowest) && std::isinf(knob.highest)) {
                return kind + unit;
            }
            if (std::isinf(knob.highest)) {
                return kind + " from " + plain(knob.lowest) + unit;
            }
            return kind + " from " + plain(knob.lowest) + " to " + plain(knob.highest) + unit;
        }
        case KnobType::flag:
            return "yes or no";
        default:
            return knob.choices.empty() ? "text" : "one of " + joined(knob.choices);
    }
}

KnobValues read_knobs(const std::string& component, const std::vector<Knob>& knobs,
                      const KnobSettings& given) {
    KnobValues values;
    std::vector<std::string> names;
    for (const Knob& knob : knobs) {
        names.push_back(knob.name);
        const auto set = given.find(knob.name);
        if (set == given.end()) {
            values.set(knob.name, knob.standard);
            continue;
        }
        const std::string value = checked(knob, set->second);
        if (value.empty() && !(knob.type == KnobType::text && set->second.empty())) {
            throw UserError("knob " + component + "." + knob.name + ": '" + set->second +
                            "' is not understood (expected " + describe(knob) + ")");
        }
        values.set(knob.name, value);
    }
    for (const auto& [name, value] : given) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            const std::string near = nearest(name, names);
            throw UserError("'" + component + "' has no knob '" + name + "'" +
                            (near.empty()
                                 ? names.empty() ? "; it has none" : "; it has: " + joined(names)
                                 : std::string() + "; did you mean '" + near + "'?"));
        }
    }
    return values;
}

std::string knob_schema(const std::string& component, const std::vector<Knob>& knobs) {
    base::Json schema;
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    schema["title"] = component;
    schema["type"] = "object";
    schema["additionalProperties"] = false;
    auto& properties = schema["properties"] = base::Json::object();
    for (const Knob& knob : knobs) {
        auto& p = properties[knob.name];
        p["description"] = knob.text;
        if (!knob.unit.empty()) {
            p["x-unit"] = knob.unit;
        }
        switch (knob.type) {
            case KnobType::integer:
            case KnobType::number: {
                const bool whole = knob.type == KnobType::integer;
                const auto number = [&](double v) {
                    return whole ? base::Json(static_cast<std::int64_t>(v)) : base::Json(v);
                };
                p["type"] = whole ? "integer" : "number";
                if (std::isfinite(knob.lowest)) {
                    p["minimum"] = number(knob.lowest);
                }
                if (std::isfinite(knob.highest)) {
                    p["maximum"] = number(knob.highest);
                }
                p["default"] = number(std::strtod(knob.standard.c_str(), nullptr));
                break;
            }
            case KnobType::flag:
                p["type"] = "boolean";
                p["default"] = knob.standard == "1";
                break;
            default:
                p["type"] = "string";
                if (!knob.choices.empty()) {
                    p["enum"] = knob.choices;
                }
                p["default"] = knob.standard;
        }
    }
    return schema.dump(2) + "\n";
}

}  // namespace tessera::plugin
