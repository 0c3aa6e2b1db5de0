/**
 * Memory that is used again. What is thrown away after each request counts as pressure on the heap although it is not in
 * it: after some tens of megabytes of it everything is collected, and everybody waits for that.
 */

/** Numbers that one computation at a time works with, without waiting for anything meanwhile. */
export class ReusedArray<Numbers extends Uint8Array | Uint32Array | Float64Array> {
  readonly #make: (length: number) => Numbers;
  #numbers: Numbers;

  constructor(make: (length: number) => Numbers) {
    this.#make = make;
    this.#numbers = make(0);
  }

  /** So many, with whatever was left in them. Those that were taken before are the same ones. */
  take(length: number): Numbers {
    if (this.#numbers.length < length) this.#numbers = this.#make(Math.max(length, this.#numbers.length * 2));
    return this.#numbers.subarray(0, length) as Numbers;
  }
}

/** Buffers of one size for work that does wait: each belongs to one taker until it is given back. */
export class BufferPool {
  readonly #bytes: number;
  readonly #most: number;
  readonly #spare: Buffer[] = [];

  /** More than `most` may be in use, and are not kept. */
  constructor(bytes: number, most: number) {
    this.#bytes = bytes;
    this.#most = most;
  }

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#bytes);
  }

  /** Nobody reads or writes it any more. One of which that is not certain is not given back, and forgotten. */
  giveBack(buffer: Buffer): void {
    if (this.#spare.length < this.#most) this.#spare.push(buffer);
  }
}
