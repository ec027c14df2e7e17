//! The minimum of a smooth convex function of many variables.
//!
//! Limited-memory BFGS: the last few steps `s` and changes of the gradient `y` stand for
//! the inverse Hessian, applied in two loops over them. The length of each step satisfies
//! the weak Wolfe conditions, found by doubling and bisection, so that `s · y > 0` and the
//! direction always leads down:
//!
//! ```text
//! f(x + t p) ≤ f(x) + c₁ t ∇f · p,    ∇f(x + t p) · p ≥ c₂ ∇f · p,    c₁ = 10⁻⁴, c₂ = 0.9
//! ```
//!
//! Near the minimum the decrease drowns in rounding; the first condition leaves it room.
//! Cost: one value and gradient, and `O(k n)`, per step, for `n` variables and `k` steps
//! in memory. No randomness.
//!
//! Source: D. Liu, J. Nocedal, "On the limited memory BFGS method for large scale
//! optimization", Math. Program. 45, 1989; A. Lewis, M. Overton, "Nonsmooth optimization
//! via quasi-Newton methods", Math. Program. 141, 2013 (the line search).

use std::collections::VecDeque;

use super::lanes::dot;

/// How many past steps stand for the inverse Hessian.
const MEMORY: usize = 10;

/// How often the length of one step may be changed.
const MAX_TRIALS: usize = 60;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The largest entry of the gradient at which the minimum counts as found.
    pub tolerance: f64,
    /// The most steps to take.
    pub max_steps: usize,
    /// The relative error of a value of the function, from rounding.
    pub rounding: f64,
}

/// Where the search ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// The variables.
    pub point: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// The largest entry of its gradient, by amount.
    pub gradient: f64,
    /// How many steps it took.
    pub steps: usize,
    /// Whether the gradient is within the tolerance.
    pub converged: bool,
}

/// One point that was looked at.
#[derive(Clone)]
struct Visit {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// A step that was taken: `s`, `y` and `1 / (s · y)`.
struct Step {
    moved: Vec<f64>,
    turned: Vec<f64>,
    inverse: f64,
}

/// Finds the minimum of a convex function from `start` on.
///
/// `function` puts the gradient at a point into its second argument and returns the value.
///
/// # Examples
/// ```
/// use local2global::linalg::lbfgs::{Limits, minimise};
///
/// let limits = Limits { tolerance: 1e-8, max_steps: 100, rounding: 1e-14 };
/// let found = minimise(vec![5.0, 5.0], limits, |x, gradient| {
///     gradient.copy_from_slice(&[2.0 * (x[0] - 1.0), 200.0 * (x[1] + 2.0)]);
///     (x[0] - 1.0).powi(2) + 100.0 * (x[1] + 2.0).powi(2)
/// });
/// assert!(found.converged);
/// assert!((found.point[0] - 1.0).abs() < 1e-6 && (found.point[1] + 2.0).abs() < 1e-6);
/// ```
pub fn minimise(
    start: Vec<f64>,
    limits: Limits,
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> Minimum {
    let mut visit = |point: Vec<f64>| {
        let mut gradient = vec![0.0; point.len()];
        let value = function(&point, &mut gradient);
        Visit { point, value, gradient }
    };
    let mut current = visit(start);
    let mut memory = VecDeque::with_capacity(MEMORY);
    let mut steps = 0;
    while largest(&current.gradient) > limits.tolerance && steps < limits.max_steps {
        let direction = descent(&current.gradient, &memory);
        let Some(next) = search(&current, &direction, memory.is_empty(), limits.rounding, &mut visit) else {
            break;
        };
        remember(&mut memory, &current, &next);
        current = next;
        steps += 1;
    }
    let gradient = largest(&current.gradient);
    let converged = gradient <= limits.tolerance;
    Minimum { point: current.point, value: current.value, gradient, steps, converged }
}

/// Minus the inverse Hessian times the gradient, by the two loops.
fn descent(gradient: &[f64], memory: &VecDeque<Step>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|entry| -entry).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for step in memory.iter().rev() {
        let share = step.inverse * dot(&step.moved, &direction);
        add(&mut direction, -share, &step.turned);
        shares.push(share);
    }
    if let Some(last) = memory.back() {
        let scale = 1.0 / (last.inverse * dot(&last.turned, &last.turned));
        direction.iter_mut().for_each(|entry| *entry *= scale);
    }
    for (step, share) in memory.iter().zip(shares.into_iter().rev()) {
        let back = step.inverse * dot(&step.turned, &direction);
        add(&mut direction, share - back, &step.moved);
    }
    direction
}

/// A point along the direction that satisfies the Wolfe conditions; none if rounding
/// leaves no such point.
fn search(
    from: &Visit,
    direction: &[f64],
    is_first: bool,
    rounding: f64,
    visit: &mut impl FnMut(Vec<f64>) -> Visit,
) -> Option<Visit> {
    let slope = dot(&from.gradient, direction);
    let room = rounding * from.value.abs();
    let (mut low, mut high) = (0.0, f64::INFINITY);
    // Later directions have their own length; the first is as long as the gradient.
    let mut length = if is_first { 1.0_f64.min(1.0 / largest(direction)) } else { 1.0 };
    for _ in 0..MAX_TRIALS {
        let mut point = from.point.clone();
        add(&mut point, length, direction);
        let next = visit(point);
        // Written so that a value that is not a number counts as too far.
        let low_enough = next.value <= from.value + 1e-4 * length * slope + room;
        if !low_enough {
            high = length;
        } else if dot(&next.gradient, direction) < 0.9 * slope {
            low = length;
        } else {
            return Some(next);
        }
        length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * low };
    }
    None
}

/// Keeps the step from one visit to the next, and forgets the oldest.
fn remember(memory: &mut VecDeque<Step>, from: &Visit, to: &Visit) {
    let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>();
    let (moved, turned) = (difference(&to.point, &from.point), difference(&to.gradient, &from.gradient));
    let curvature = dot(&moved, &turned);
    // Positive by the second Wolfe condition, but for rounding.
    if curvature > f64::MIN_POSITIVE {
        if memory.len() == MEMORY {
            memory.pop_front();
        }
        memory.push_back(Step { moved, turned, inverse: 1.0 / curvature });
    }
}

fn add(target: &mut [f64], factor: f64, values: &[f64]) {
    target.iter_mut().zip(values).for_each(|(entry, value)| *entry += factor * value);
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { tolerance: 1e-9, max_steps: 500, rounding: 1e-14 };

    #[test]
    fn stretched_bowls_are_minimised() {
        for case in 1..6 {
            let curvature = |i: usize| 10_f64.powi((i as i32 * case) % 6 - 2);
            let found = minimise(vec![3.0; 30], LIMITS, |x, gradient| {
                let parts = x.iter().zip(gradient).enumerate().map(|(i, (x, slope))| {
                    let offset = x - i as f64;
                    *slope = curvature(i) * offset;
                    0.5 * curvature(i) * offset * offset
                });
                parts.sum()
            });
            assert!(found.converged, "case {case}: {found:?}");
            assert!(found.point.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-6), "case {case}");
        }
    }

    #[test]
    fn steep_and_flat_functions_are_minimised() {
        // exp(8 x) - x has its minimum at -ln(8) / 8, and grows out of bounds soon after.
        let found = minimise(vec![40.0], LIMITS, |x, gradient| {
            gradient[0] = 8.0 * (8.0 * x[0]).exp() - 1.0;
            (8.0 * x[0]).exp() - x[0]
        });
        assert!(found.converged && (found.point[0] + 8_f64.ln() / 8.0).abs() < 1e-8, "{found:?}");
    }

    #[test]
    fn a_start_at_the_minimum_stays() {
        let found = minimise(vec![0.0], LIMITS, |x, gradient| {
            gradient[0] = 2.0 * x[0];
            x[0] * x[0]
        });
        assert_eq!((found.steps, found.converged, found.point), (0, true, vec![0.0]));
    }

    #[test]
    fn too_few_steps_are_told() {
        let limits = Limits { max_steps: 1, ..LIMITS };
        let found = minimise(vec![1.0, 1.0], limits, |x, gradient| {
            gradient.copy_from_slice(&[x[0], 1000.0 * x[1]]);
            0.5 * (x[0] * x[0] + 1000.0 * x[1] * x[1])
        });
        assert!(!found.converged && found.steps == 1);
    }
}
