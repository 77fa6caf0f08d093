//! The names of a library's errors, for reasons that the server cannot influence.

/// The name of a variant without its fields, in lower case: `message too short`.
pub fn word(variant: &impl std::fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let name = text.split([' ', '(', '{']).next().unwrap_or_default();
    let mut words = String::with_capacity(name.len() + 8);
    for (place, letter) in name.chars().enumerate() {
        if place > 0 && letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
