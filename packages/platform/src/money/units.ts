// All divisions of numbers that are not money are here, so that a `/` elsewhere is visibly a mistake.

const msPerSecond = 1_000;

export function msToSeconds(ms: number): number {
  return ms / msPerSecond;
}

/** Rounds up, so that `Retry-After` is never too early. */
export function msToSecondsRoundUp(ms: number): number {
  return Math.ceil(ms / msPerSecond);
}

/** Rounds down, for timestamps in whole seconds. */
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

/** A share from 0 to 1; 0 if the whole is 0. */
export function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** The number of groups of at most `size` items, so it rounds up. */
export function floorDivide(count: number, size: number): number {
  return Math.ceil(count / size);
}

/** Whole groups and the rest: 125 by 60 is 2 and 5. */
export function divideWithRemainder(count: number, size: number): readonly [groups: number, rest: number] {
  return [Math.floor(count / size), count % size];
}

/** Events per second from a count and a duration. */
export function perSecond(count: number, elapsedMs: number): number {
  return (count * msPerSecond) / elapsedMs;
}
