#include "tessera/model/formula_pool.hpp"

#include <algorithm>
#include <bit>

#include "tessera/base/error.hpp"
#include "tessera/base/hash.hpp"

// Interning: every structure is stored once. Tables hold indices and compare structure exactly, so
// a collision of hashes costs time, never correctness. The canonical key alone relies on 128 bits.

namespace tessera::model {

namespace {

constexpr std::size_t few_terms = 12;

thread_local FormulaPool* current_pool = nullptr;

StructuralHash combine(const StructuralHash& h, std::uint64_t value) {
    return {base::mix(h.first ^ (value * base::golden_ratio + 0x1234567)),
            base::mix(h.second + value * 0xd6e8feb86659fd93ull + 0x89abcdef)};
}

std::uint64_t bits_of(double value) {
    return std::bit_cast<std::uint64_t>(value + 0.0);
}

StructuralHash hash_of(const Exponents& exponents, std::size_t words, const StructuralHash& atoms) {
    const auto& w = exponents.words;
    const std::uint64_t low = base::mix(w[0] * base::golden_ratio + (w[1] ^ 0x2545f4914f6cdd1dull));
    const std::uint64_t high =
        base::mix(w[2] * 0xd6e8feb86659fd93ull + (w[3] ^ 0x8cb92ba72f3d8dd7ull));
    StructuralHash hash =
        combine({low + atoms.first, (low >> 32 | low << 32) ^ atoms.second}, high);
    // Words further on add to the hash only where there is a symbol.
    for (std::size_t i = 4; i < words; ++i) {
        if (w[i] != 0) {
            hash = combine(hash, w[i] + i);
        }
    }
    return hash;
}

/// Adds the signed bytes of two words without carries between them.
std::uint64_t add_bytes(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7full;
    return ((a & low) + (b & low)) ^ ((a ^ b) & ~low);
}

/// As far as the first words, of which there are four or more, tell.
bool same_words(const Exponents& a, const Exponents& b, std::size_t words) {
    std::uint64_t other = 0;
    for (std::size_t w = 0; w < 4; ++w) {
        other |= a.words[w] ^ b.words[w];
    }
    for (std::size_t w = 4; w < words; ++w) {
        other |= a.words[w] ^ b.words[w];
    }
    return other == 0;
}

bool same(const AtomPower& a, const AtomPower& b) {
    return a.atom == b.atom && a.exponent == b.exponent;
}

}  // namespace

FormulaScope::FormulaScope(FormulaPool& pool) : previous_(current_pool) {
    current_pool = &pool;
}

FormulaScope::~FormulaScope() {
    current_pool = previous_;
}

void Exponents::set(int symbol, int exponent) {
    const int shift = (symbol & 7) * 8;
    std::uint64_t& word = words[symbol >> 3];
    word &= ~(0xffull << shift);
    word |= (static_cast<std::uint64_t>(exponent) & 0xff) << shift;
}

SymbolSet Exponents::mask() const {
    SymbolSet result;
    for (int w = 0; w < kWords; ++w) {
        if (words[w] == 0) {
            // Most have symbols in the first words only.
            if (w % 4 == 0 && (words[w + 1] | words[w + 2] | words[w + 3]) == 0) {
                w += 3;
            }
            continue;
        }
        // Bit 0 of every byte that is not 0, then those eight bits side by side.
        std::uint64_t bits = words[w];
        bits |= bits >> 4 & 0x0f0f0f0f0f0f0f0full;
        bits |= bits >> 2 & 0x3f3f3f3f3f3f3f3full;
        bits |= bits >> 1;
        bits &= 0x0101010101010101ull;
        result.set_byte(w, bits * 0x0102040810204080ull >> 56);
    }
    return result;
}

FormulaPool& FormulaPool::current() {
    if (!current_pool) {
        throw Bug("a formula was used outside a FormulaScope");
    }
    return *current_pool;
}

FormulaPool::FormulaPool() : cache_(8192) {
    clear();
}

void FormulaPool::clear() {
    monomials_.clear();
    atom_products_.clear();
    atom_product_of_.clear();
    atoms_.clear();
    nodes_.clear();
    terms_.clear();
    branches_.clear();
    monomial_table_.assign(std::max<std::size_t>(256, monomial_table_.size()), 0);
    node_table_.assign(std::max<std::size_t>(256, node_table_.size()), 0);
    keep_sums_ = false;
    ++epoch_;  // empties the cache
    atom_products_.emplace_back();
    nodes_.emplace_back();
    Monomial one;
    words_ = fewest_words;
    one.hash = hash_of(one.exponents, words_, atom_products_[0].hash);
    monomials_.push_back(one);
}

MonomialId FormulaPool::intern(const Exponents& exponents, std::uint32_t atom_product) {
    std::uint64_t further = 0;
    for (std::size_t w = fewest_words; w < exponents.words.size(); ++w) {
        further |= exponents.words[w];
    }
    for (std::size_t w = words_; further != 0 && w < exponents.words.size(); ++w) {
        words_ = exponents.words[w] != 0 ? w + 1 : words_;
    }
    return intern_used(exponents, atom_product);
}

MonomialId FormulaPool::intern_used(const Exponents& exponents, std::uint32_t atom_product) {
    const StructuralHash hash = hash_of(exponents, words_, atom_products_[atom_product].hash);
    if (atom_product == 0 && hash.first == monomials_[0].hash.first &&
        same_words(exponents, monomials_[0].exponents, words_)) {
        return 0;
    }
    std::size_t slot = hash.first & (monomial_table_.size() - 1);
    for (; monomial_table_[slot] != 0; slot = (slot + 1) & (monomial_table_.size() - 1)) {
        const Monomial& known = monomials_[monomial_table_[slot]];
        if (known.hash.first == hash.first && known.atoms == atom_product &&
            same_words(exponents, known.exponents, words_)) {
            return monomial_table_[slot];
        }
    }
    Monomial made;
    made.exponents = exponents;
    made.hash = hash;
    made.atoms = atom_product;
    made.mask = atom_products_[atom_product].mask;
    made.mask |= exponents.mask();
    const auto id = static_cast<MonomialId>(monomials_.size());
    monomials_.push_back(made);
    monomial_table_[slot] = id;
    if (monomials_.size() * 2 > monomial_table_.size()) {
        monomial_table_.assign(monomial_table_.size() * 2, 0);
        for (MonomialId m = 1; m < monomials_.size(); ++m) {
            std::size_t place = monomials_[m].hash.first & (monomial_table_.size() - 1);
            while (monomial_table_[place] != 0) {
                place = (place + 1) & (monomial_table_.size() - 1);
            }
            monomial_table_[place] = m;
        }
    }
    return id;
}

std::uint32_t FormulaPool::intern_atoms(std::span<const AtomPower> powers) {
    if (powers.empty()) {
        return 0;
    }
    std::size_t key = powers.size();
    for (const AtomPower& power : powers) {
        key = key * 1000003 + power.atom * 31 + static_cast<std::size_t>(power.exponent + 16);
    }
    const auto [from, to] = atom_product_of_.equal_range(key);
    for (auto i = from; i != to; ++i) {
        const std::vector<AtomPower>& known = atom_products_[i->second].powers;
        if (std::equal(known.begin(), known.end(), powers.begin(), powers.end(), same)) {
            return i->second;
        }
    }
    AtomProduct made;
    made.powers.assign(powers.begin(), powers.end());
    for (const AtomPower& power : powers) {
        made.hash = combine(made.hash, atoms_[power.atom].hash.first);
        made.hash = combine(made.hash, atoms_[power.atom].hash.second);
        made.hash = combine(made.hash, static_cast<std::uint64_t>(power.exponent));
        made.mask |= atoms_[power.atom].mask;
    }
    atom_products_.push_back(std::move(made));
    const auto id = static_cast<std::uint32_t>(atom_products_.size() - 1);
    atom_product_of_.emplace(key, id);
    return id;
}

MonomialId FormulaPool::product(MonomialId a, MonomialId b) {
    if (a == 0 || b == 0) {
        return a | b;
    }
    Exponents sum;
    for (std::size_t w = 0; w < words_; ++w) {
        sum.words[w] =
            add_bytes(monomials_[a].exponents.words[w], monomials_[b].exponents.words[w]);
    }
    const std::uint32_t left = monomials_[a].atoms;
    const std::uint32_t right = monomials_[b].atoms;
    if (left == 0 || right == 0) {
        return intern_used(sum, left | right);
    }
    std::vector<AtomPower> powers = atom_products_[left].powers;
    for (const AtomPower& power : atom_products_[right].powers) {
        const auto at = std::find_if(powers.begin(), powers.end(),
                                     [&](const AtomPower& p) { return p.atom == power.atom; });
        if (at == powers.end()) {
            powers.push_back(power);
        } else if ((at->exponent += power.exponent) == 0) {
            powers.erase(at);
        }
    }
    std::sort(powers.begin(), powers.end(), [this](const AtomPower& x, const AtomPower& y) {
        return atoms_[x.atom].hash.first < atoms_[y.atom].hash.first;
    });
    return intern(sum, intern_atoms(powers));
}

MonomialId FormulaPool::power(MonomialId a, int exponent) {
    if (a == 0 || exponent == 1) {
        return a;
    }
    if (exponent == 0) {
        return 0;
    }
    Exponents scaled;
    for (const int s : monomials_[a].own_symbols()) {
        scaled.set(s, monomials_[a].exponents.get(s) * exponent);
    }
    std::vector<AtomPower> powers = atom_products_[monomials_[a].atoms].powers;
    for (AtomPower& p : powers) {
        p.exponent *= exponent;
    }
    return intern(scaled, intern_atoms(powers));
}

StructuralHash FormulaPool::hash(const Formula& f) const {
    return f.node() != 0 ? nodes_[f.node()].hash : hash_of_constant(f.constant_value());
}

StructuralHash FormulaPool::hash_of_constant(double value) {
    return combine({0x77, 0x99}, bits_of(value));
}

std::span<const Formula> FormulaPool::branches(const Formula& f) const {
    const Node& node = nodes_[f.node()];
    if (!node.is_max) {
        return {};
    }
    return std::span(branches_).subspan(node.begin, node.end - node.begin);
}

std::span<const Term> FormulaPool::terms(const Formula& f) const {
    const Node& node = nodes_[f.node()];
    if (f.node() == 0 || node.is_max) {
        return {};
    }
    return std::span(terms_).subspan(node.begin, node.end - node.begin);
}

std::uint32_t FormulaPool::find_node(const StructuralHash& hash, bool is_max,
                                     std::span<const Term> terms,
                                     std::span<const Formula> branches) const {
    std::size_t slot = hash.first & (node_table_.size() - 1);
    for (; node_table_[slot] != 0; slot = (slot + 1) & (node_table_.size() - 1)) {
        const Node& node = nodes_[node_table_[slot]];
        if (node.hash.first != hash.first || node.is_max != is_max) {
            continue;
        }
        const bool equal =
            is_max
                ? std::equal(branches.begin(), branches.end(), branches_.begin() + node.begin,
                             branches_.begin() + node.end)
                : std::equal(terms.begin(), terms.end(), terms_.begin() + node.begin,
                             terms_.begin() + node.end, [](const Term& a, const Term& b) {
                                 return a.monomial == b.monomial && a.coefficient == b.coefficient;
                             });
        if (equal) {
            return node_table_[slot];
        }
    }
    return 0;
}

void FormulaPool::remember_node(std::uint32_t id) {
    const auto place = [this](std::uint32_t node) {
        std::size_t slot = nodes_[node].hash.first & (node_table_.size() - 1);
        while (node_table_[slot] != 0) {
            slot = (slot + 1) & (node_table_.size() - 1);
        }
        node_table_[slot] = node;
    };
    if (nodes_.size() * 2 > node_table_.size()) {
        node_table_.assign(node_table_.size() * 2, 0);
        for (std::uint32_t n = 1; n < nodes_.size(); ++n) {
            place(n);
        }
        return;
    }
    place(id);
}

Formula FormulaPool::polynomial_sorted(std::span<const Term> terms) {
    if (terms.empty()) {
        return Formula(0.0);
    }
    if (terms.size() == 1 && terms[0].monomial == 0) {
        return Formula(terms[0].coefficient);
    }
    Node node;
    node.hash = {0x1111, 0x2222};
    for (const Term& term : terms) {
        // A commutative sum, although the terms are sorted: order must never matter here.
        const StructuralHash h = combine(monomials_[term.monomial].hash, bits_of(term.coefficient));
        node.hash.first += h.first;
        node.hash.second += h.second;
        node.mask |= monomials_[term.monomial].mask;
    }
    node.hash = combine(node.hash, terms.size());
    if (const std::uint32_t known = find_node(node.hash, false, terms, {})) {
        return Formula(known, 0);
    }
    node.begin = static_cast<std::uint32_t>(terms_.size());
    terms_.insert(terms_.end(), terms.begin(), terms.end());
    node.end = static_cast<std::uint32_t>(terms_.size());
    nodes_.push_back(node);
    const auto id = static_cast<std::uint32_t>(nodes_.size() - 1);
    remember_node(id);
    return Formula(id, 0);
}

Formula FormulaPool::polynomial(std::vector<Term>& terms) {
    const auto before = [this](const Term& a, const Term& b) {
        const StructuralHash& x = monomials_[a.monomial].hash;
        const StructuralHash& y = monomials_[b.monomial].hash;
        return x.first != y.first ? x.first < y.first : x.second < y.second;
    };
    if (terms.size() > few_terms) {
        std::stable_sort(terms.begin(), terms.end(), before);
    } else {
        // In place: most sums are short, and a stable sort of the library takes memory.
        for (std::size_t i = 1; i < terms.size(); ++i) {
            const Term term = terms[i];
            std::size_t at = i;
            for (; at > 0 && before(term, terms[at - 1]); --at) {
                terms[at] = terms[at - 1];
            }
            terms[at] = term;
        }
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < terms.size();) {
        Term sum = terms[i];
        for (++i; i < terms.size() && terms[i].monomial == sum.monomial; ++i) {
            sum.coefficient += terms[i].coefficient;
        }
        if (sum.coefficient != 0.0) {
            terms[kept++] = sum;
        }
    }
    terms.resize(kept);
    return polynomial_sorted(terms);
}

Formula FormulaPool::maximum_of(std::vector<Formula>& branches) {
    std::sort(branches.begin(), branches.end(), [this](const Formula& a, const Formula& b) {
        const StructuralHash x = hash(a);
        const StructuralHash y = hash(b);
        return x.first != y.first ? x.first < y.first : x.second < y.second;
    });
    branches.erase(std::unique(branches.begin(), branches.end()), branches.end());
    if (branches.size() == 1) {
        return branches[0];
    }
    Node node;
    node.is_max = true;
    node.hash = {0x3333, 0x4444};
    for (const Formula& branch : branches) {
        node.hash = combine(node.hash, hash(branch).first);
        node.hash.second += base::mix(hash(branch).second);
        node.mask |= mask(branch);
    }
    if (const std::uint32_t known = find_node(node.hash, true, {}, branches)) {
        return Formula(known, 0);
    }
    node.begin = static_cast<std::uint32_t>(branches_.size());
    branches_.insert(branches_.end(), branches.begin(), branches.end());
    node.end = static_cast<std::uint32_t>(branches_.size());
    nodes_.push_back(node);
    const auto id = static_cast<std::uint32_t>(nodes_.size() - 1);
    remember_node(id);
    return Formula(id, 0);
}

Formula FormulaPool::as_atom(AtomKind kind, std::span<const Formula> arguments) {
    Atom made;
    made.kind = kind;
    made.arguments.assign(arguments.begin(), arguments.end());
    if (kind == AtomKind::min || kind == AtomKind::max) {
        // Their arguments have no order.
        std::sort(
            made.arguments.begin(), made.arguments.end(),
            [this](const Formula& a, const Formula& b) { return hash(a).first < hash(b).first; });
    }
    made.hash = combine({0x5555, 0x6666}, static_cast<std::uint64_t>(kind));
    for (const Formula& argument : made.arguments) {
        const StructuralHash h = hash(argument);
        made.hash = {combine(made.hash, h.first).first, combine(made.hash, h.second).second};
        made.mask |= mask(argument);
    }
    AtomId id = 0;
    while (id < atoms_.size() &&
           (atoms_[id].kind != kind || atoms_[id].arguments != made.arguments)) {
        ++id;
    }
    if (id == atoms_.size()) {
        atoms_.push_back(std::move(made));
    }
    const AtomPower power{id, 1};
    const Term term{1.0, intern(Exponents{}, intern_atoms({&power, 1}))};
    return polynomial_sorted({&term, 1});
}

Formula FormulaPool::multiplied_out(const Formula& f) {
    if (f.is_constant() || is_max(f)) {
        return f;
    }
    const std::vector<Term> list(terms(f).begin(), terms(f).end());
    Formula out;
    for (const Term& t : list) {
        const Monomial m = monomials_[t.monomial];
        const std::vector<AtomPower> powers(atom_powers(m).begin(), atom_powers(m).end());
        std::vector<AtomPower> rest;
        Formula product(1.0);
        for (const AtomPower& p : powers) {
            if (atoms_[p.atom].kind != AtomKind::sum || p.exponent < 0) {
                rest.push_back(p);
                continue;
            }
            const Formula argument = atoms_[p.atom].arguments[0];
            for (int e = 0; e < p.exponent; ++e) {
                product = multiply(product, argument);
            }
        }
        const Term plain{t.coefficient, intern(m.exponents, intern_atoms(rest))};
        out = add(out, multiply(polynomial_sorted({&plain, 1}), product), 1);
    }
    return out;
}

Formula FormulaPool::whole(const Formula& f) {
    if (!keep_sums_ || f.is_constant() || is_max(f) ||
        std::ranges::none_of(terms(f), [](const Term& t) { return t.coefficient < 0; })) {
        return f;
    }
    return as_atom(AtomKind::sum, {&f, 1});
}

}  // namespace tessera::model
