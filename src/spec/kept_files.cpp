#include "spec/kept_files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "spec/reader.hpp"
#include "tessera/base/error.hpp"

namespace tessera::spec {

namespace {

const KeptFiles* kept = nullptr;

bool equal(const Node& a, const Node& b) {
    return a.kind == b.kind && a.text == b.text && a.quoted == b.quoted && a.tag == b.tag &&
           std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equal) &&
           std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                      [](const Node::Entry& x, const Node::Entry& y) {
                          return x.key == y.key && equal(x.value, y.value);
                      });
}

}  // namespace

KeptFiles::KeptFiles(std::map<std::string, std::string> texts)
    : texts_(std::move(texts)), outer_(kept) {
    kept = this;
}

KeptFiles::~KeptFiles() {
    kept = outer_;
}

std::optional<std::string> kept_text(const std::string& path) {
    if (kept == nullptr || kept->texts_.empty()) {
        return std::nullopt;
    }
    const auto found =
        kept->texts_.find(std::filesystem::absolute(path).lexically_normal().string());
    return found == kept->texts_.end() ? std::nullopt : std::optional(found->second);
}

bool same_content(const std::string& a, const std::string& b, const std::string& name) {
    try {
        const bool libconfig = name.ends_with(".cfg");
        const auto read = [&](const std::string& text) {
            return libconfig ? read_libconfig(text, name) : read_text(text, name);
        };
        return a == b || equal(read(a), read(b));
    } catch (const UserError&) {
        return false;
    }
}

}  // namespace tessera::spec
