/**
 * Decides which processed messages may be purged. Newer ones stay in the stream for a time, because a database that is restored to an
 * earlier point charges them again. Pure.
 */
export class PurgeDelay {
  readonly #retainMs: number;
  #noted: { readonly atMs: number; readonly passed: bigint }[] = [];
  #through = 0n;

  constructor(retainMs: number) {
    this.#retainMs = retainMs;
  }

  /** The position up to which messages may be purged. If the stream is crowded, the older half of the processed ones may be. */
  through(nowMs: number, passed: bigint, isCrowded: boolean): bigint {
    const newest = this.#noted.at(-1);
    const isDue = newest === undefined || (nowMs - newest.atMs) * NOTES_MAX >= this.#retainMs;
    if (isDue && passed > (newest?.passed ?? 0n)) this.#noted.push({ atMs: nowMs, passed });
    const expired = this.#noted.findLastIndex(({ atMs }) => nowMs - atMs >= this.#retainMs);
    const last = isCrowded ? Math.max(expired, this.#noted.length >> 1) : expired;
    for (const { passed: position } of this.#noted.splice(0, last + 1)) this.#through = position;
    return this.#through;
  }
}

/** Positions that are remembered during the time. */
const NOTES_MAX = 60;
