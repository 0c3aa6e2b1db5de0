/** Reads the binary form of an SSH public key (RFC 4253, section 6.6): a sequence of length-prefixed strings. */
export class SshWireReader {
  #offset = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The next string, or null if the rest is not a whole one. */
  next(): Buffer | null {
    const start = this.#offset + 4;
    if (start > this.#bytes.length) return null;
    const end = start + this.#bytes.readUInt32BE(this.#offset);
    if (end > this.#bytes.length) return null;
    this.#offset = end;
    return this.#bytes.subarray(start, end);
  }

  get atEnd(): boolean {
    return this.#offset === this.#bytes.length;
  }
}

/** Strict base64: Node's decoder skips unknown characters, but a key must have one spelling. */
export function decodeBase64(text: string): Buffer | null {
  if (text === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64').replace(/(?<!=)=+$/, '') === text.replace(/(?<!=)=+$/, '') ? bytes : null;
}
