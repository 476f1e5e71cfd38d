#include "spec/kept_files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "spec/reader.hpp"
#include "tessera/base/error.hpp"

namespace tessera::spec {

namespace fs = std::filesystem;

namespace {

const KeptFiles* kept = nullptr;
thread_local ReadOnce* once = nullptr;

bool equal(const Node& a, const Node& b) {
    return a.kind == b.kind && a.text == b.text && a.quoted == b.quoted && a.tag == b.tag &&
           std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), equal) &&
           std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                      [](const Node::Entry& x, const Node::Entry& y) {
                          return x.key == y.key && equal(x.value, y.value);
                      });
}

}  // namespace

std::string file_identity(const std::string& path) {
    std::error_code failed;
    const fs::path whole = fs::absolute(path, failed);
    const fs::path canonical = fs::weakly_canonical(whole, failed);
    return failed ? whole.lexically_normal().string() : canonical.string();
}

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
    auto found = kept->texts_.find(path);
    if (found == kept->texts_.end()) {
        found = kept->texts_.find(file_identity(path));
    }
    return found == kept->texts_.end() ? std::nullopt : std::optional(found->second);
}

ReadOnce::ReadOnce() {
    once = once == nullptr ? this : once;
}

ReadOnce::~ReadOnce() {
    once = once == this ? nullptr : once;
}

std::optional<std::string> text_read_before(const std::string& path) {
    if (once == nullptr) {
        return std::nullopt;
    }
    const auto found = once->texts_.find(file_identity(path));
    if (found == once->texts_.end()) {
        return std::nullopt;
    }
    once->spelled_.emplace(path, found->second);
    return found->second;
}

void remember_text(const std::string& path, const std::string& text) {
    if (once != nullptr) {
        once->texts_.emplace(file_identity(path), text);
        once->spelled_.emplace(path, text);
    }
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
