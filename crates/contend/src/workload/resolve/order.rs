//! Puts things after those they refer to.

/// The indexes of `count` things, each after the things it `needs`, otherwise as they stand.
///
/// # Errors
/// The index of a thing that, through others, refers to itself.
pub fn ordered(count: usize, needs: impl Fn(usize) -> Vec<usize>) -> Result<Vec<usize>, usize> {
    let mut order = Vec::with_capacity(count);
    let mut state = vec![State::New; count];
    for i in 0..count {
        visit(i, &needs, &mut state, &mut order)?;
    }
    Ok(order)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Begun,
    Done,
}

fn visit(
    i: usize,
    needs: &impl Fn(usize) -> Vec<usize>,
    state: &mut [State],
    order: &mut Vec<usize>,
) -> Result<(), usize> {
    match state[i] {
        State::Done => return Ok(()),
        State::Begun => return Err(i),
        State::New => state[i] = State::Begun,
    }
    for needed in needs(i) {
        visit(needed, needs, state, order)?;
    }
    state[i] = State::Done;
    order.push(i);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_after_what_they_need() {
        let needs = |i: usize| [vec![2], vec![], vec![1]][i].clone();
        assert_eq!(ordered(3, needs), Ok(vec![1, 2, 0]));
        assert!(ordered(2, |i| vec![1 - i]).is_err());
        assert_eq!(ordered(1, |_| vec![0]), Err(0));
    }
}
