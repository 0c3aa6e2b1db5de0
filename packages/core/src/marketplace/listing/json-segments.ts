import { joinChecksums, noBytes, compressPart, type Checksum, type GzipPart } from './gzip.ts';

/**
 * The JSON of all machines, cut into short segments so that a change compresses only a few. Finished bytes never
 * change, so responses can continue to send replaced ones.
 */

/** Small, so that changed machines rarely share a segment; not smaller, because compression works within one. */
const ROWS_IN_SEGMENT = 16;
/** Segments are sent in blocks, because one socket write per segment would be slower. */
const SEGMENTS_IN_BLOCK = 16;

const COMMA_BYTES = 1;

/** Machines whose JSON is contiguous, each preceded by a comma. */
interface Segment {
  slots: number[];
  bytes: Buffer;
  /** End offset of each slot's machine in `bytes`. */
  ends: number[];
  /** Set while the segment is being changed. */
  rows: Buffer[] | null;
  packed: (GzipPart & { readonly isFirst: boolean }) | null;
}

/** Consecutive machines, each preceded by a comma. */
export interface ByteRange {
  readonly bytes: Buffer;
  readonly from: number;
  readonly until: number;
}

/** All segments compressed, without the comma before the first machine. */
export interface CompressedSegments {
  readonly blocks: readonly Buffer[];
  readonly checksum: Checksum;
}

interface Block {
  readonly pieces: readonly GzipPart[];
  readonly bytes: Buffer;
  readonly checksum: Checksum;
}

export class JsonSegments {
  readonly #idOf: (slot: number) => string;
  readonly #segments: Segment[] = [];
  /** The segment of each slot. */
  readonly #home: (Segment | undefined)[] = [];
  readonly #open = new Set<Segment>();
  #blocks: readonly Block[] = [];

  constructor(idOf: (slot: number) => string) {
    this.#idOf = idOf;
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  put(slot: number, json: string): void {
    const row = Buffer.from(`,${json}`);
    const home = this.#home[slot];
    if (home === undefined) this.#insert(slot, row);
    else this.#opened(home)[home.slots.indexOf(slot)] = row;
  }

  remove(slot: number): void {
    const home = this.#home[slot];
    if (home === undefined) return;
    const at = this.#segmentFor(this.#idOf(slot));
    const index = home.slots.indexOf(slot);
    this.#opened(home).splice(index, 1);
    home.slots.splice(index, 1);
    this.#home[slot] = undefined;
    if (home.slots.length > 0) return;
    this.#open.delete(home);
    this.#segments.splice(at, 1);
  }

  /** Rebuilds changed segments. Must be called before `runs` and `pack`. */
  settle(): void {
    for (const segment of this.#open) {
      const rows = segment.rows ?? [];
      segment.bytes = joined(rows);
      segment.ends = endsOf(rows);
      segment.rows = null;
      segment.packed = null;
    }
    this.#open.clear();
  }

  /** Also returns rows that are not settled yet. */
  row(slot: number): Buffer {
    const home = this.#home[slot];
    const row = home?.rows?.[home.slots.indexOf(slot)];
    if (row !== undefined) return row.subarray(COMMA_BYTES);
    const { bytes, from, until } = this.#find(slot);
    return bytes.subarray(from + COMMA_BYTES, until);
  }

  /** Adjacent machines are merged to one range. */
  runs(slots: Iterable<number>): ByteRange[] {
    const runs: ByteRange[] = [];
    let last: ByteRange | undefined;
    for (const slot of slots) {
      const run = this.#find(slot);
      if (last !== undefined && last.bytes === run.bytes && last.until === run.from) {
        last = { bytes: run.bytes, from: last.from, until: run.until };
        runs[runs.length - 1] = last;
      } else {
        last = run;
        runs.push(run);
      }
    }
    return runs;
  }

  all(): ByteRange[] {
    return this.#segments.map(({ bytes }) => ({ bytes, from: 0, until: bytes.length }));
  }

  /** In order of the machines' ids. */
  slots(): number[] {
    return this.#segments.flatMap(({ slots }) => slots);
  }

  /** Compresses one changed segment per step, then returns all. */
  *pack(): Generator<void, CompressedSegments> {
    const segments = [...this.#segments];
    const pieces: GzipPart[] = [];
    for (const [index, segment] of segments.entries()) {
      const isFirst = index === 0;
      if (segment.packed?.isFirst !== isFirst) {
        const plain = isFirst ? segment.bytes.subarray(COMMA_BYTES) : segment.bytes;
        segment.packed = { ...compressPart(plain), isFirst };
        yield;
      }
      pieces.push(segment.packed);
    }
    this.#blocks = blocksOf(pieces, this.#blocks);
    return {
      blocks: this.#blocks.map(({ bytes }) => bytes),
      checksum: this.#blocks.map(({ checksum }) => checksum).reduce(joinChecksums, noBytes),
    };
  }

  #find(slot: number): ByteRange {
    const home = this.#home[slot];
    const index = home?.slots.indexOf(slot) ?? -1;
    const until = home?.ends[index];
    if (home === undefined || until === undefined) throw new Error('The machine is in no segment.');
    return { bytes: home.bytes, from: home.ends[index - 1] ?? 0, until };
  }

  #insert(slot: number, row: Buffer): void {
    const id = this.#idOf(slot);
    const at = this.#segmentFor(id);
    const segment = this.#segments[at];
    const isAtEnd = at === this.#segments.length - 1 && segment !== undefined && this.#lastId(segment) < id;
    if (segment === undefined || (isAtEnd && segment.slots.length >= ROWS_IN_SEGMENT)) {
      // Machines usually arrive in order of id, so segments that fill from the front stay full.
      this.#adopt(this.#segments.length, [slot], [row]);
      return;
    }
    const rows = this.#opened(segment);
    const found = segment.slots.findIndex((other) => this.#idOf(other) > id);
    const index = found === -1 ? segment.slots.length : found;
    segment.slots.splice(index, 0, slot);
    rows.splice(index, 0, row);
    this.#home[slot] = segment;
    if (segment.slots.length <= ROWS_IN_SEGMENT) return;
    const half = ROWS_IN_SEGMENT >>> 1;
    this.#adopt(at + 1, segment.slots.splice(half), rows.splice(half));
  }

  #adopt(at: number, slots: number[], rows: Buffer[]): void {
    const segment: Segment = { slots, bytes: Buffer.alloc(0), ends: [], rows, packed: null };
    this.#segments.splice(at, 0, segment);
    this.#open.add(segment);
    for (const slot of slots) this.#home[slot] = segment;
  }

  /** The first segment that does not end before the id, or the last one. */
  #segmentFor(id: string): number {
    let [low, high] = [0, this.#segments.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const segment = this.#segments[middle];
      if (segment !== undefined && this.#lastId(segment) < id) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low);
  }

  #lastId(segment: Segment): string {
    return this.#idOf(segment.slots.at(-1) ?? -1);
  }

  #opened(segment: Segment): Buffer[] {
    segment.rows ??= segment.ends.map((end, index) =>
      segment.bytes.subarray(segment.ends[index - 1] ?? 0, end),
    );
    this.#open.add(segment);
    return segment.rows;
  }
}

/** Not pooled: small buffers would keep shared pages alive. */
function joined(pieces: readonly Uint8Array[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function endsOf(rows: readonly Buffer[]): number[] {
  let end = 0;
  return rows.map(({ length }) => (end += length));
}

/** Reuses blocks whose parts are unchanged. */
function blocksOf(pieces: readonly GzipPart[], before: readonly Block[]): readonly Block[] {
  const blocks: Block[] = [];
  for (let first = 0; first < pieces.length; first += SEGMENTS_IN_BLOCK) {
    const own = pieces.slice(first, first + SEGMENTS_IN_BLOCK);
    const known = before[blocks.length];
    const isSame =
      known?.pieces.length === own.length && own.every((part, index) => part === known.pieces[index]);
    blocks.push(
      known !== undefined && isSame
        ? known
        : {
            pieces: own,
            bytes: joined(own.map(({ bytes }) => bytes)),
            checksum: own.reduce(joinChecksums, noBytes),
          },
    );
  }
  return blocks;
}
