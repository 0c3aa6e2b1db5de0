/**
 * One policy as arithmetic. A bucket of `limit` units refills evenly over `windowMs`; what is used of it is
 * kept multiplied by `windowMs`, so that a millisecond gives back exactly `limit` and nothing is ever rounded.
 * The script in script.ts does the same sums on the server; a property test holds the two together.
 */
export interface Bucket {
  /** Units used, times `windowMs`. */
  readonly used: number;
  /** When `used` was last true. */
  readonly atMs: number;
}

export interface BucketPolicy {
  readonly limit: number;
  readonly windowMs: number;
  readonly cost: number;
}

/** Beyond this the sums would lose whole units: numbers are exact up to 2^53. */
export const maxBucketSpan = Number.MAX_SAFE_INTEGER;

/** What is used at `nowMs`. A clock that stepped back gives nothing back and takes nothing. */
export function settle(bucket: Bucket | null, policy: BucketPolicy, nowMs: number): Bucket {
  if (bucket === null) return { used: 0, atMs: nowMs };
  const elapsedMs = Math.min(Math.max(0, nowMs - bucket.atMs), policy.windowMs);
  return { used: Math.max(0, bucket.used - elapsedMs * policy.limit), atMs: Math.max(nowMs, bucket.atMs) };
}

export function fits(bucket: Bucket, policy: BucketPolicy): boolean {
  return bucket.used + policy.cost * policy.windowMs <= policy.limit * policy.windowMs;
}

export function take(bucket: Bucket, policy: BucketPolicy): Bucket {
  return { used: bucket.used + policy.cost * policy.windowMs, atMs: bucket.atMs };
}
