/** Rounds towards minus infinity. */
export function divideRoundDown(numerator: bigint, denominator: bigint): bigint {
  const [quotient, remainder] = divideBigint(numerator, denominator);
  return remainder === 0n || isPositive(numerator, denominator) ? quotient : quotient - 1n;
}

/** Rounds towards plus infinity. */
export function divideRoundUp(numerator: bigint, denominator: bigint): bigint {
  const [quotient, remainder] = divideBigint(numerator, denominator);
  return remainder !== 0n && isPositive(numerator, denominator) ? quotient + 1n : quotient;
}

/** Rounds to the nearest value, and to the even one of two equally near, so that many roundings do not drift. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  const floor = divideRoundDown(numerator, denominator);
  const twiceRest = 2n * absolute(numerator - floor * denominator);
  const size = absolute(denominator);
  if (twiceRest < size) return floor;
  if (twiceRest > size) return floor + 1n;
  return floor % 2n === 0n ? floor : floor + 1n;
}

function divideBigint(numerator: bigint, denominator: bigint): [bigint, bigint] {
  if (denominator === 0n) throw new RangeError('Cannot divide by zero.');
  return [numerator / denominator, numerator % denominator];
}

function isPositive(numerator: bigint, denominator: bigint): boolean {
  return numerator < 0n === denominator < 0n;
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/** All roundings of money. Each use names its rounding. */
export const roundings = { down: divideRoundDown, up: divideRoundUp, 'half even': divideHalfEven } as const;
export type Rounding = keyof typeof roundings;
