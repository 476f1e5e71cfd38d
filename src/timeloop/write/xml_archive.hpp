// The bookkeeping of a C++ serialization library's XML archives: the first value of every class
// carries a class_id, objects behind pointers are numbered, later ones refer to their class.
#pragma once

#include <array>
#include <cstdio>
#include <map>
#include <ostream>
#include <set>
#include <string>

#include "base/printable.hpp"

namespace tessera::timeloop::xml {

inline std::string number(double value) {
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.17e", value);
    return text.data();
}
template <class Integer>
std::string number(Integer value) {
    return std::to_string(value);
}
inline std::string number(bool value) {
    return value ? "1" : "0";
}
inline std::string number(const std::string& text) {
    std::string result;
    for (const char c : base::one_line(text)) {
        result += c == '<'   ? "&lt;"
                  : c == '>' ? "&gt;"
                  : c == '&' ? "&amp;"
                  : c == '"' ? "&quot;"
                             : std::string(1, c);
    }
    return result;
}

class Archive {
public:
    explicit Archive(std::ostream& out) : out_(out) {
        out_ << "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\" ?>\n"
                "<!DOCTYPE boost_serialization>\n"
                "<boost_serialization signature=\"serialization::archive\" version=\"18\">\n";
    }
    void finish() {
        out_ << "</boost_serialization>\n\n";
    }

    /// An element with children. `type`: the class, "" for one without number.
    template <class Body>
    void element(const std::string& name, const std::string& type, const Body& body,
                 int version = 0) {
        out_ << tabs_ << "<" << name << class_text(type, version) << ">\n";
        tabs_ += '\t';
        body();
        tabs_.pop_back();
        out_ << tabs_ << "</" << name << ">\n";
    }
    void empty(const std::string& name, const std::string& type) {
        out_ << tabs_ << "<" << name << class_text(type, 0) << "></" << name << ">\n";
    }
    template <class T>
    void value(const std::string& name, const T& what) {
        out_ << tabs_ << "<" << name << ">" << number(what) << "</" << name << ">\n";
    }
    /// A class that takes a number without telling it.
    void number_silently(const std::string& type) {
        next_class_ += seen_.insert(type).second ? 1 : 0;
    }
    /// An object behind a pointer.
    template <class Body>
    void object(const std::string& class_name, const Body& body) {
        const auto known = pointers_.find(class_name);
        out_ << tabs_ << "<px ";
        if (known == pointers_.end()) {
            pointers_[class_name] = next_class_;
            out_ << "class_id=\"" << next_class_++ << "\" class_name=\"" << class_name
                 << "\" tracking_level=\"1\" version=\"0\"";
        } else {
            out_ << "class_id_reference=\"" << known->second << "\"";
        }
        out_ << " object_id=\"_" << next_object_++ << "\">\n";
        tabs_ += '\t';
        body();
        tabs_.pop_back();
        out_ << tabs_ << "</px>\n";
    }
    /// The top-level object that is tracked.
    std::string tracked(const std::string& name) {
        return name + " class_id=\"" + std::to_string(next_class_++) +
               "\" tracking_level=\"1\" version=\"0\" object_id=\"_" +
               std::to_string(next_object_++) + "\"";
    }
    void raw(const std::string& line, int indent) {
        if (indent < 0) {
            tabs_.pop_back();
        }
        out_ << tabs_ << line << "\n";
        if (indent > 0) {
            tabs_ += '\t';
        }
    }

private:
    std::string class_text(const std::string& type, int version) {
        if (type.empty() || !seen_.insert(type).second) {
            return "";
        }
        return " class_id=\"" + std::to_string(next_class_++) +
               "\" tracking_level=\"0\" version=\"" + std::to_string(version) + "\"";
    }

    std::ostream& out_;
    std::string tabs_;
    std::set<std::string> seen_;
    std::map<std::string, int> pointers_;
    int next_class_ = 0, next_object_ = 0;
};

}  // namespace tessera::timeloop::xml
