//! A table of a summary, and its rendering.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The lowest number of columns for words beside the figures; with less room they follow below.
const BESIDE: usize = 24;

/// The indentation of words below the figures, in columns.
const BELOW: usize = 6;

/// The content of a table's first column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    /// A left-aligned name.
    Name,
    /// A figure. The description of the row is in the last column, and may be long.
    Figure,
}

/// A table with a title, column names, and rows. The last column contains words, which are folded;
/// the columns between the first and the last contain figures.
#[derive(Debug)]
pub struct Table {
    title: &'static str,
    lead: Lead,
    head: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows. The title is the name of the first column.
    pub fn new<const N: usize>(title: &'static str, lead: Lead, others: [&str; N]) -> Self {
        let head = std::iter::once(title).chain(others).map(str::to_owned).collect();
        Self { title, lead, head, rows: Vec::new() }
    }

    /// The table as text. No line is longer than `columns`, as far as words can be folded. Figures
    /// are right-aligned.
    pub fn text(&self, columns: usize) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let last = self.head.len() - 1;
        let width = |column: usize| lines().map(|line| length(&line[column])).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..last).map(width).collect();
        // The title starts two columns to the left of the rows.
        let first = self.rows.iter().map(|row| length(&row[0])).max().unwrap_or(0);
        widths[0] = (first + 2).max(length(self.title));
        let start = widths.iter().sum::<usize>() + 2 * last;
        let room = columns.saturating_sub(start);
        let (indent, room, is_beside) = if room >= BESIDE || width(last) <= room {
            (start, room, true)
        } else {
            (BELOW, columns - BELOW, false)
        };
        let mut text = String::new();
        for (number, line) in lines().enumerate() {
            let mut drawn = self.first(&line[0], widths[0], number == 0);
            for (cell, &width) in line[1..last].iter().zip(&widths[1..]) {
                drawn += &format!("  {cell:>width$}");
            }
            for (place, words) in folded(&line[last], room).into_iter().enumerate() {
                if place > 0 || !is_beside {
                    drawn.push('\n');
                    drawn += &" ".repeat(indent);
                } else {
                    drawn += "  ";
                }
                drawn += &words;
            }
            drawn.lines().for_each(|line| {
                text.push_str(line.trim_end());
                text.push('\n');
            });
        }
        text
    }

    /// The first cell of a line, in this width.
    fn first(&self, cell: &str, width: usize, is_head: bool) -> String {
        match self.lead {
            Lead::Figure => format!("{cell:>width$}"),
            Lead::Name if is_head => format!("{cell:<width$}"),
            Lead::Name => format!("  {cell:<0$}", width - 2),
        }
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<_> = cells.iter().map(|cell| escaped(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let last = self.head.len() - 1;
        let is_words = |column| column == last || column == 0 && self.lead == Lead::Name;
        let rule = |column| if is_words(column) { "---" } else { "---:" };
        let rules: Vec<_> = (0..=last).map(rule).collect();
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}| {} |\n{rows}", line(&self.head), rules.join(" | "))
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The text of a cell in Markdown, where a bar ends the cell (GitHub Flavored Markdown, section
/// 4.10).
fn escaped(cell: &str) -> String {
    cell.trim().replace('\\', "\\\\").replace('|', "\\|")
}

/// Words in lines of N columns, with the indentation of the first line. A word that is too long is
/// broken.
fn folded(text: &str, columns: usize) -> Vec<String> {
    let words = text.trim_start_matches(' ');
    let indent = &text[..text.len() - words.len()];
    if words.is_empty() {
        return Vec::new();
    }
    let options = Options::new(columns)
        .initial_indent(indent)
        .subsequent_indent(indent)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(words, options).into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_what_is_too_long_is_broken() {
        assert_eq!(folded("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(folded("abcdefg h", 3), ["abc", "def", "g h"]);
        assert_eq!(folded("", 9), [""; 0]);
    }

    #[test]
    fn words_stand_below_figures_that_leave_them_no_room() {
        let mut table = Table::new("times", Lead::Name, ["p50", ""]);
        table
            .rows
            .push(["a name", "1.000", "some words on what that is"].map(str::to_owned).into());
        let beside = "times       p50\n  a name  1.000  some words on what that is\n";
        assert_eq!(table.text(80), beside);
        let below = "times       p50\n  a name  1.000\n      some words on what that is\n";
        assert_eq!(table.text(35), below);
    }

    #[test]
    fn a_bar_is_no_end_of_a_cell_in_markdown() {
        let mut table = Table::new("failures", Lead::Figure, ["of all", ""]);
        table.rows.push(["1", "5.00 %", r"  a|b\|c"].map(str::to_owned).into());
        let lines =
            "| failures | of all |  |\n| ---: | ---: | --- |\n| 1 | 5.00 % | a\\|b\\\\\\|c |\n";
        assert_eq!(table.markdown(), lines);
    }
}
