import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGzip, gzip, type Gzip } from 'node:zlib';
import { Fault } from '@millrace/platform/fault';
import type { ReplyBytes } from '@millrace/platform/http';
import { gzipHeader, gzipTrailer, joinChecksums, compressPart, type Checksum } from './gzip.ts';
import { BufferPool } from './reused-buffers.ts';
import type { CompressedSegments, ByteRange } from './json-segments.ts';
import type { Selection } from './machine-table.ts';

/** Builds response bytes for the precomputed whole list and for query results. */

const HEAD = Buffer.from('{"instances":[');
const TAIL = Buffer.from(']}');
const compressedHead = compressPart(HEAD);
const compressedTail = compressPart(TAIL);

/** Takes half the time of the default level and is a tenth larger. */
const LEVEL = 1;
/** Longer responses are streamed, which bounds the memory per response. */
const BUFFERED_BYTES_MAX = 512 * 1_024;
const CHUNK_BYTES = 64 * 1_024;
/** Larger pieces are sent without copying. */
const UNCOPIED_CHUNK_BYTES = 8 * 1_024;

export interface EncodedList {
  readonly runs: readonly ByteRange[];
  readonly length: number;
  readonly packed: readonly Buffer[];
  readonly packedLength: number;
}

export function encodeList(
  { blocks, checksum }: CompressedSegments,
  runs: readonly ByteRange[],
): EncodedList {
  const whole = joinChecksums(joinChecksums(compressedHead, checksum), compressedTail) satisfies Checksum;
  const packed = [
    Buffer.concat([gzipHeader, compressedHead.bytes]),
    ...blocks,
    Buffer.concat([compressedTail.bytes, gzipTrailer(whole)]),
  ];
  const packedLength = packed.reduce((sum, { length }) => sum + length, 0);
  return { runs, length: whole.length, packed, packedLength };
}

export function listResponse(snapshot: EncodedList, isPacked: boolean): ReplyBytes {
  return Readable.from(isPacked ? snapshot.packed : chunksOf(snapshot.runs, TAIL), { objectMode: false });
}

const gzipAtOnce = promisify(gzip);

/** Reused input buffers of the compression. */
const wholeBuffers = new BufferPool(BUFFERED_BYTES_MAX, 4);
const chunkBuffers = new BufferPool(CHUNK_BYTES, 16);

/** Limits concurrent streamed responses, because each keeps its unsent data for as long as its reader takes. */
export class LargeResponses {
  readonly #most: number;
  #underWay = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Occupies a slot until the stream is closed. */
  begin(make: () => Readable): Readable {
    if (this.#underWay >= this.#most) {
      throw new Fault('SERVICE_UNAVAILABLE', {
        message: 'Too many long lists are being sent right now.',
        suggestion:
          'Request pages with a limit, or the whole list without filters, or try again after Retry-After.',
        retryAfterSeconds: LARGE_RETRY_SECONDS,
      });
    }
    const stream = make();
    this.#underWay += 1;
    stream.once('close', () => (this.#underWay -= 1));
    return stream;
  }
}

const LARGE_RETRY_SECONDS = 5;

export async function selectionResponse(
  selection: Selection,
  isPacked: boolean,
  longResponses: LargeResponses,
): Promise<ReplyBytes> {
  const { runs, nextCursor } = selection;
  const tail =
    nextCursor === undefined ? TAIL : Buffer.from(`],"next_cursor":${JSON.stringify(nextCursor)}}`);
  const length = runs.reduce((sum, { from, until }) => sum + until - from, HEAD.length + tail.length);
  if (length <= BUFFERED_BYTES_MAX) {
    if (!isPacked) return Buffer.concat([...chunksOf(runs, tail)]);
    const buffer = wholeBuffers.take();
    const [whole = HEAD] = fillings(runs, tail, buffer);
    const packed = await gzipAtOnce(whole, { level: LEVEL });
    wholeBuffers.giveBack(buffer);
    return packed;
  }
  return longResponses.begin(() =>
    isPacked ? compressStream(runs, tail) : Readable.from(chunksOf(runs, tail), { objectMode: false }),
  );
}

function compressStream(runs: readonly ByteRange[], tail: Buffer): Readable {
  const packer = createGzip({ level: LEVEL });
  void writeRanges(packer, runs, tail);
  return packer;
}

async function writeRanges(packer: Gzip, runs: readonly ByteRange[], tail: Buffer): Promise<void> {
  const buffer = chunkBuffers.take();
  for (const filling of fillings(runs, tail, buffer)) if (!(await isWritten(packer, filling))) return;
  packer.end();
  chunkBuffers.giveBack(buffer);
}

/** Waits until the bytes are compressed, which applies backpressure. False if the reader has left. */
function isWritten(packer: Gzip, bytes: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    // A stream that is closed during compression never calls back.
    const left = (): void => resolve(false);
    packer.once('close', left);
    packer.write(bytes, (error) => {
      packer.off('close', left);
      resolve(error == null);
    });
  });
}

/** Yields the JSON in fillings of `into`. The consumer must finish with one filling before it takes the next. */
function* fillings(runs: readonly ByteRange[], tail: Buffer, into: Buffer): Generator<Buffer> {
  let at = HEAD.copy(into);
  const end = { bytes: tail, from: 0, until: tail.length };
  for (let index = 0; index <= runs.length; index += 1) {
    const { bytes, from, until } = runs[index] ?? end;
    const isFirst = index === 0 && runs.length > 0;
    for (let next = isFirst ? from + 1 : from; next < until;) {
      const copied = bytes.copy(into, at, next, until);
      next += copied;
      at += copied;
      if (at < into.length) continue;
      yield into;
      at = 0;
    }
  }
  if (at > 0) yield into.subarray(0, at);
}

/** Yields the JSON in chunks, without the first machine's comma. */
function* chunksOf(runs: readonly ByteRange[], tail: Buffer): Generator<Buffer> {
  let pieces: Buffer[] = [HEAD];
  let length = HEAD.length;
  for (const [index, { bytes, from, until }] of runs.entries()) {
    const piece = bytes.subarray(index === 0 ? from + 1 : from, until);
    pieces.push(piece);
    length += piece.length;
    if (length < CHUNK_BYTES && piece.length < UNCOPIED_CHUNK_BYTES) continue;
    if (piece.length >= UNCOPIED_CHUNK_BYTES) pieces.pop();
    if (pieces.length > 0) yield Buffer.concat(pieces);
    if (piece.length >= UNCOPIED_CHUNK_BYTES) yield piece;
    pieces = [];
    length = 0;
  }
  yield Buffer.concat([...pieces, tail]);
}

/** Evaluates `Accept-Encoding` (RFC 9110, 12.5.3). */
export function acceptsGzip(header: string | undefined): boolean {
  const weights = new Map(
    (header ?? '').split(',').map((each) => {
      const [name = '', ...params] = each.split(';').map((text) => text.trim().toLowerCase());
      const weight = params.find((param) => param.startsWith('q='))?.slice(2);
      return [name, weight === undefined ? 1 : Number(weight)] as const;
    }),
  );
  const weight = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0;
  return weight > 0;
}
