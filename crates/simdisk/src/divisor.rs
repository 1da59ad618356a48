//! Divides by a constant: multiplies by its reciprocal, exactly for every dividend.
//!
//! A simulated request makes some ten divisions by track lengths, heads and revolutions, which are known
//! when the device is created. The processor's own division takes several times as long.

#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    value: u64,
    /// 2^64 over the divisor, or one less.
    reciprocal: u64,
}

impl Divisor {
    pub fn new(value: u64) -> Self {
        let value = value.max(1);
        Self { value, reciprocal: u64::MAX / value }
    }

    #[inline]
    pub fn value(self) -> u64 {
        self.value
    }

    #[inline]
    pub fn divide(self, dividend: u64) -> (u64, u64) {
        // The reciprocal is at most one less than 2^64 / value. So the product divided by 2^64 is less than
        // one below the quotient, and its whole part is at most one too small.
        let quotient = ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64;
        let remainder = dividend - quotient * self.value;
        let short = remainder >= self.value;
        (quotient + u64::from(short), if short { remainder - self.value } else { remainder })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotient_and_remainder_are_those_of_the_processor_for_any_pair() {
        let mut values: Vec<u64> = (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1]).collect();
        values.extend([3, 7, 10, 512, 107_520, 8_333_333, 10_000_001, u64::MAX - 1, u64::MAX]);
        for &value in values.iter().filter(|&&value| value > 0) {
            let divisor = Divisor::new(value);
            for &base in &values {
                for dividend in [base, base.wrapping_mul(value), base.wrapping_mul(value) ^ 1] {
                    let expected = (dividend / value, dividend % value);
                    assert_eq!(divisor.divide(dividend), expected, "{dividend} / {value}");
                }
            }
        }
    }
}
