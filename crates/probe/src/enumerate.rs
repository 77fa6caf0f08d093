//! Enumerates the server's supported items by elimination: each chosen item is left out of the next
//! offer, until the server refuses the rest. This takes one connection per item, and one more.

use super::connection::Stop;
use super::record::Order;
use tlslab_wire::tls::answer::Refusal;

/// The result of an offer: the chosen item with other observations, or the refusal.
pub type Choice<T> = Result<(u16, T), Refusal>;

/// The server's items, in the order in which it chose them.
#[derive(Debug)]
pub struct Found<T> {
    /// The chosen items, each with the observations at its choice.
    pub chosen: Vec<(u16, T)>,
    /// Whose order decides; `None` with fewer than two items.
    pub order: Option<Order>,
    /// The refusal of the rest; `None` if there was no rest. The first silence, if there was one.
    pub refusal: Option<Refusal>,
}

impl<T> Found<T> {
    /// Stores a refusal, but keeps a silence: after it, the list may lack items.
    pub fn refuse(&mut self, refusal: Refusal) {
        if !self.refusal.as_ref().is_some_and(Refusal::is_silence) {
            self.refusal = Some(refusal);
        }
    }
}

/// Finds the server's items among the candidates, one offer per lot of candidates.
pub fn enumerate<T>(
    lots: &[Vec<u16>],
    mut ask: impl FnMut(&[u16]) -> Result<Choice<T>, Stop>,
) -> Result<Found<T>, Stop> {
    let mut found = Found { chosen: Vec::new(), order: None, refusal: None };
    for lot in lots {
        take_away(lot, &mut found, &mut ask)?;
    }
    if lots.len() > 1 {
        // Several lots do not show the server's order, so all items are offered together. Items
        // that the server does not choose again follow those that it does.
        let apart = std::mem::take(&mut found.chosen);
        let refusal = found.refusal.take();
        let numbers: Vec<u16> = apart.iter().map(|(number, _)| *number).collect();
        take_away(&numbers, &mut found, &mut ask)?;
        let missing = |number: u16| !found.chosen.iter().any(|(other, _)| *other == number);
        let rest: Vec<_> = apart.into_iter().filter(|(number, _)| missing(*number)).collect();
        found.chosen.extend(rest);
        found.refusal = refusal;
    }
    found.order = order(&found.chosen, ask)?;
    Ok(found)
}

fn take_away<T>(
    candidates: &[u16],
    found: &mut Found<T>,
    ask: &mut impl FnMut(&[u16]) -> Result<Choice<T>, Stop>,
) -> Result<(), Stop> {
    let mut left = candidates.to_vec();
    while !left.is_empty() {
        match ask(&left)? {
            Ok((number, seen)) if left.contains(&number) => {
                left.retain(|other| *other != number);
                found.chosen.push((number, seen));
            }
            Ok((number, _)) => {
                let words = format!("chose 0x{number:04x}, which was not offered");
                found.refuse(Refusal::other("choice", words));
                break;
            }
            Err(refusal) => {
                found.refuse(refusal);
                break;
            }
        }
    }
    Ok(())
}

/// Finds whose order decides: offers the server's items in reverse order. The server then chooses
/// the first one offered (the client's order) or its own first one.
fn order<T>(
    chosen: &[(u16, T)],
    mut ask: impl FnMut(&[u16]) -> Result<Choice<T>, Stop>,
) -> Result<Option<Order>, Stop> {
    let reversed: Vec<u16> = chosen.iter().rev().map(|(number, _)| *number).collect();
    let [first, .., last] = reversed[..] else { return Ok(None) };
    Ok(match ask(&reversed)? {
        Ok((number, _)) if number == first => Some(Order::Client),
        Ok((number, _)) if number == last => Some(Order::Server),
        Ok(_) => Some(Order::Mixed),
        Err(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Choice<()> {
        Err(Refusal::alert(40))
    }

    /// A server with these items, which follows its own order or the client's.
    fn server(has: &[u16], own_order: bool) -> impl FnMut(&[u16]) -> Result<Choice<()>, Stop> {
        let has = has.to_vec();
        move |offered: &[u16]| {
            let (list, other) = if own_order { (&has[..], offered) } else { (offered, &has[..]) };
            let number = list.iter().find(|number| other.contains(number));
            Ok(number.map_or_else(refused, |number| Ok((*number, ()))))
        }
    }

    fn numbers(found: &Found<()>) -> Vec<u16> {
        found.chosen.iter().map(|(number, ())| *number).collect()
    }

    #[test]
    fn the_order_of_the_server_is_found_and_distinguished_from_that_of_the_client() {
        for lots in [&[vec![1, 2, 3, 4, 5]][..], &[vec![1, 2, 3], vec![4, 5]]] {
            let found = enumerate(lots, server(&[4, 2, 9], true)).unwrap();
            assert_eq!((numbers(&found), found.order), (vec![4, 2], Some(Order::Server)));
            let found = enumerate(lots, server(&[4, 2], false)).unwrap();
            assert_eq!((numbers(&found), found.order), (vec![2, 4], Some(Order::Client)));
            assert_eq!(found.refusal, Some(Refusal::alert(40)));
        }
    }

    #[test]
    fn one_has_no_order_and_all_have_no_refusal() {
        let found = enumerate(&[vec![1]], server(&[1], true)).unwrap();
        assert_eq!((numbers(&found), found.order, found.refusal), (vec![1], None, None));
        let found = enumerate(&[vec![1]], server(&[], true)).unwrap();
        assert_eq!((numbers(&found), found.order), (vec![], None));
    }

    #[test]
    fn what_a_server_hides_behind_something_else_is_found_in_a_lot_of_its_own() {
        let picky = |offered: &[u16]| match offered {
            [1, rest @ ..] if rest.contains(&2) => Ok(Err(Refusal::alert(40))),
            [first, ..] => Ok(Ok((*first, ()))),
            [] => Ok(refused()),
        };
        assert!(enumerate(&[vec![1, 2]], picky).unwrap().chosen.is_empty());
        assert_eq!(numbers(&enumerate(&[vec![1], vec![2]], picky).unwrap()), [1, 2]);
    }

    #[test]
    fn a_server_that_chooses_what_was_not_offered_cannot_hold_the_probe() {
        let found = enumerate(&[vec![1, 2]], |_| Ok(Ok((7, ())))).unwrap();
        assert!(found.chosen.is_empty());
        assert_eq!(found.refusal.unwrap().words, "chose 0x0007, which was not offered");
        let mut asked = 0;
        let again = enumerate(&[vec![1, 2]], |_| {
            asked += 1;
            Ok(Ok((2, ())))
        });
        assert_eq!((numbers(&again.unwrap()), asked), (vec![2], 2));
    }

    #[test]
    fn a_silence_is_kept_beside_later_refusals() {
        let mut found = enumerate(&[vec![1], vec![2], vec![3]], |offered| {
            Ok(match offered {
                [1, ..] => Err(Refusal::silence()),
                [2, ..] => Ok((2, ())),
                _ => refused(),
            })
        });
        let found = found.as_mut().unwrap();
        assert_eq!((numbers(found), &found.refusal), (vec![2], &Some(Refusal::silence())));
        found.refuse(Refusal::alert(40));
        assert_eq!(found.refusal, Some(Refusal::silence()));
    }

    #[test]
    fn a_limit_ends_it() {
        let limit = Err(Stop::Connections(0));
        assert!(enumerate::<()>(&[vec![1]], |_| limit.clone()).is_err());
    }
}
