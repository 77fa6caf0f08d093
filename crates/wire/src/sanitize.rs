//! Sanitises text from a peer, which is shown in records, terminals and pages.

/// The first N characters of the text. Control characters, and characters that reorder the text
/// around them, become U+FFFD.
pub fn sanitize(text: &str, limit: usize) -> String {
    let replace = |c: char| if c.is_control() || is_bidi(c) { '\u{fffd}' } else { c };
    text.chars().map(replace).take(limit).collect()
}

/// Characters that reorder the text around them (Unicode Bidirectional Algorithm, UAX #9, table 4).
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_cannot_drive_the_terminal() {
        let said = "a\u{1b}[2Jb\u{202e}c\n\u{9b}m";
        assert_eq!(sanitize(said, 100), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}\u{fffd}m");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(sanitize("h\u{e4}\u{1f600}user", 3), "h\u{e4}\u{1f600}");
    }
}
