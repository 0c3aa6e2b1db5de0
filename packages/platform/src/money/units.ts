// Plain numbers that are not money: durations, sizes, shares. They are divided here so that a `/` anywhere else
// in the product stands out as a mistake.

const msPerSecond = 1_000;

/** Exact up to the precision of a number: 1500 becomes 1.5. */
export function msToSeconds(ms: number): number {
  return ms / msPerSecond;
}

/** For `Retry-After` and the like: never tells anyone to come back too early. */
export function msToSecondsRoundUp(ms: number): number {
  return Math.ceil(ms / msPerSecond);
}

/** For timestamps in whole seconds. */
export function msToSecondsRoundDown(ms: number): number {
  return Math.floor(ms / msPerSecond);
}

export function secondsToMs(seconds: number): number {
  return seconds * msPerSecond;
}

export function nanosecondsToMs(ns: number): number {
  return ns / 1_000_000;
}

export function bytesToMebibytes(bytes: number): number {
  return bytes / 1_048_576;
}

/** `part` of `whole` as a number from 0 to 1; an empty whole has the share 0. */
export function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** How many groups of at most `size` hold `count` things. */
export function floorDivide(count: number, size: number): number {
  return Math.ceil(count / size);
}

/** Whole groups of `size` in `count`, and what is left over: 125 by 60 is 2 and 5. */
export function divideWithRemainder(count: number, size: number): readonly [groups: number, rest: number] {
  return [Math.floor(count / size), count % size];
}

/** How often something happened in a second, given a count and a duration. */
export function perSecond(count: number, elapsedMs: number): number {
  return (count * msPerSecond) / elapsedMs;
}
