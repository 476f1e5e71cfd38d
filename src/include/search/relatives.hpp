// Which templates of an Einsum differ in one attribute alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace tessera::search {

struct TemplateData;

/// What a template consists of, each attribute numbered within its Einsum.
struct Attributes {
    int fused = 0;    ///< nodes above the last backing holder, in order
    int holders = 0;  ///< which memories hold which tensors below, and which compute
    int spatial = 0;  ///< loops over spatial dimensions below
};

class Relatives {
public:
    /// Of all templates of an Einsum.
    void build(const std::vector<TemplateData>& templates);

    const Attributes& of(std::uint32_t tmpl) const {
        return attributes_[tmpl];
    }
    /// Templates with all attributes alike: they differ in the order of nodes. `tmpl` is one.
    const std::vector<std::uint32_t>& orders(std::uint32_t tmpl) const {
        const Attributes& a = attributes_[tmpl];
        return alike_.at({a.fused, a.holders, a.spatial});
    }
    /// Templates that share all but the holders and the order; `tmpl` is one.
    const std::vector<std::uint32_t>& holders(std::uint32_t tmpl) const {
        const Attributes& a = attributes_[tmpl];
        return alike_.at({a.fused, -1, a.spatial});
    }

private:
    std::vector<Attributes> attributes_;
    std::map<std::array<int, 3>, std::vector<std::uint32_t>> alike_;
};

}  // namespace tessera::search
