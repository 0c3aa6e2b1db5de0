import { hash } from 'node:crypto';

/** Identifies a set of texts by the sum of their hashes, so that updates are cheap and order does not matter. */
export class SetDigest {
  #high = 0n;
  #low = 0n;

  add(text: Uint8Array): void {
    this.#count(text, 1n);
  }

  remove(text: Uint8Array): void {
    this.#count(text, -1n);
  }

  toString(): string {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(16, '0')).join('');
  }

  #count(text: Uint8Array, times: bigint): void {
    const digest = hash('sha256', text, 'buffer');
    this.#high = BigInt.asUintN(64, this.#high + times * digest.readBigUInt64LE(0));
    this.#low = BigInt.asUintN(64, this.#low + times * digest.readBigUInt64LE(8));
  }
}
