// What readers ask for. The keys of a file are known to its reader alone: who reads a file that has
// one of everything, while an Outline listens, knows them, too.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera::spec {

/// What the value of a key may be. `any`: the reader takes it apart itself.
enum class Shape {
    any,
    name,
    text,
    choice,
    list,
    expression,
    set,
    set_map,
    boolean,
    number,
    integer
};

struct OutlinedKey {
    Shape shape = Shape::any;
    bool required = false;
    bool single = false;                    ///< list: one value without brackets, too
    std::vector<std::string> choices = {};  ///< choice
    std::string without_effect = {};        ///< why; empty: it has one
};

struct OutlinedMap {
    std::string what;  ///< as in messages, "a memory"
    std::map<std::string, OutlinedKey> keys;
};

/// Hears every `Fields` of this thread while it lives; of several the innermost hears.
class Outline {
public:
    Outline();
    ~Outline();
    Outline(const Outline&) = delete;
    Outline& operator=(const Outline&) = delete;

    /// By the path of the map in its file: "arch.nodes[2].tensors".
    const std::map<std::string, OutlinedMap>& maps() const {
        return maps_;
    }

    /// The one that hears, or nullptr.
    static Outline* heard();
    OutlinedKey& key(const std::string& path, const std::string& what, const std::string& key);

private:
    std::map<std::string, OutlinedMap> maps_;
    Outline* const outer_;
};

}  // namespace tessera::spec
