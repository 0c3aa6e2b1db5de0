/** Reuses memory: discarded buffers would trigger full garbage collections that delay all requests. */

/** A scratch array for synchronous computations, one at a time. */
export class ReusedArray<Numbers extends Uint8Array | Uint32Array | Float64Array> {
  readonly #make: (length: number) => Numbers;
  #numbers: Numbers;

  constructor(make: (length: number) => Numbers) {
    this.#make = make;
    this.#numbers = make(0);
  }

  /** The content is undefined, and earlier results share the same memory. */
  take(length: number): Numbers {
    if (this.#numbers.length < length) this.#numbers = this.#make(Math.max(length, this.#numbers.length * 2));
    return this.#numbers.subarray(0, length) as Numbers;
  }
}

/** Buffers of one size for asynchronous work; each has one owner until it is returned. */
export class BufferPool {
  readonly #bytes: number;
  readonly #most: number;
  readonly #spare: Buffer[] = [];

  /** More than `most` may be in use; the surplus is not kept. */
  constructor(bytes: number, most: number) {
    this.#bytes = bytes;
    this.#most = most;
  }

  take(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.#bytes);
  }

  /** The buffer must be unused. If that is uncertain, do not return it. */
  giveBack(buffer: Buffer): void {
    if (this.#spare.length < this.#most) this.#spare.push(buffer);
  }
}
