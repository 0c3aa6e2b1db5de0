/** A received message violates the protocol. */
export class MalformedResponseError extends Error {
  override readonly name = 'MalformedAnswer';
}

const padding = (length: number): number => (4 - (length % 4)) % 4;

/** Writes XDR (RFC 4506): big-endian, in units of four bytes. */
export class XdrWriter {
  readonly #deps: Buffer[] = [];

  u32(value: number): this {
    const part = Buffer.alloc(4);
    part.writeUInt32BE(value);
    this.#deps.push(part);
    return this;
  }

  u64(value: bigint): this {
    const part = Buffer.alloc(8);
    part.writeBigUInt64BE(value);
    this.#deps.push(part);
    return this;
  }

  /** Without a length prefix, padded to four bytes. */
  fixed(bytes: Buffer): this {
    this.#deps.push(bytes, Buffer.alloc(padding(bytes.length)));
    return this;
  }

  /** With a length prefix. */
  opaque(bytes: Buffer | string): this {
    const part = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    return this.u32(part.length).fixed(part);
  }

  bytes(): Buffer {
    return Buffer.concat(this.#deps);
  }
}

/** Reads XDR and throws instead of reading past the end. */
export class XdrReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  u32(): number {
    return this.#take(4).readUInt32BE();
  }

  u64(): bigint {
    return this.#take(8).readBigUInt64BE();
  }

  /** Copies, so that a small value does not retain a large response. */
  fixed(length: number): Buffer {
    const value = Buffer.from(this.#take(length));
    this.#take(padding(length));
    return value;
  }

  opaque(): Buffer {
    return this.fixed(this.u32());
  }

  bitmap(): number[] {
    const words = this.u32();
    if (words > 8) throw new MalformedResponseError('A bitmap is longer than any of the protocol.');
    return Array.from({ length: words }, () => this.u32());
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length)
      throw new MalformedResponseError('The response ends before a length that it announces.');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}
