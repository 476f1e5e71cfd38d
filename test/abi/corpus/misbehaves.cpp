// Strategies that break their contract once they run.
#include <stdexcept>

#include "tessera/plugin/search_strategy.hpp"

namespace {

using namespace tessera::search;

class Throws : public SearchStrategy {
public:
    std::string name() const override {
        return "throws";
    }
    void start(const Space&, std::uint64_t) override {}
    std::size_t ask(std::span<Candidate>) override {
        throw std::runtime_error("out of ideas");
    }
    void tell(std::span<const Candidate>) override {}
};

class ThrowsInCreate : public Throws {
public:
    ThrowsInCreate() {
        throw std::runtime_error("no licence file");
    }
};

class ThrowsInAsk : public Throws {};

class ThrowsNumber : public Throws {
public:
    std::size_t ask(std::span<Candidate>) override {
        throw 42;
    }
};

TESSERA_PLUGIN(SearchStrategy, ThrowsInCreate, "throws_in_create", "throws", "");
TESSERA_PLUGIN(SearchStrategy, ThrowsInAsk, "throws_in_ask", "throws", "");
TESSERA_PLUGIN(SearchStrategy, ThrowsNumber, "throws_number", "throws", "");

}  // namespace

TESSERA_PLUGIN_LIBRARY("misbehaves", "1.0", "corpus", "", "throws");
