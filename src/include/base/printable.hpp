// Foreign text (names in files, arguments, what other processes sent) on its way to a person. A
// terminal obeys control characters, and bidirectional overrides turn a line around; both are shown
// as text instead: \u001b, \u202e, and \xe9 for a byte that is no UTF-8. The forms of code points
// are those of JSON, so that a document that is printed stays the same document.
#pragma once

#include <atomic>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace tessera::base {

/// What next_code_point() gives for a byte that is no part of valid UTF-8.
inline constexpr char32_t no_code_point = 0xffffffff;

/// The code point at `at`, which moves past it (past one byte if it is no UTF-8).
/// \pre at < text.size()
char32_t next_code_point(std::string_view text, std::size_t& at);

bool is_utf8(std::string_view text);

/// `text` with nothing in it that a terminal would obey. Line ends and tabs stay.
std::string printable(std::string_view text);
/// The same for text that must not end its line: a name, a cell of a table.
std::string one_line(std::string_view text);

/// In YAML's double quotes. Control characters, line ends and what else readers treat in their own
/// way are written by number, so that they are read back.
std::string yaml_quoted(std::string_view text);

/// While it lives, all that is written to the stream passes printable().
class PrintableOutput {
public:
    explicit PrintableOutput(std::ostream& stream);
    ~PrintableOutput();
    PrintableOutput(const PrintableOutput&) = delete;

    /// Whether anything was written since it lives.
    bool used() const {
        return buffer_.used();
    }

private:
    class Buffer : public std::streambuf {
    public:
        explicit Buffer(std::streambuf* to) : to_(to) {}
        ~Buffer() override;
        std::streambuf* target() const {
            return to_;
        }
        bool used() const {
            return used_;
        }

    protected:
        int_type overflow(int_type character) override;
        std::streamsize xsputn(const char* text, std::streamsize size) override;
        int sync() override;

    private:
        bool put(std::string_view text);

        std::streambuf* const to_;
        std::mutex lock_;
        std::atomic<bool> used_ = false;
        std::string begun_;  ///< of a code point whose rest is still to come
    };
    friend void write_unchanged(std::ostream& stream, const std::string& text);

    std::ostream& stream_;
    std::streambuf* const before_;
    Buffer buffer_;
};

/// Past a PrintableOutput: for our own escape codes. \pre no foreign text in it
void write_unchanged(std::ostream& stream, const std::string& text);

}  // namespace tessera::base
