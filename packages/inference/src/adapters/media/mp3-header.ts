/** Recognises MP3 data and reads its sample rate. */

export interface Mp3Header {
  readonly sampleRate: number;
}

/** Indexed by the bits of version and rate; version 1 is reserved. */
const sampleRates: readonly (readonly number[] | null)[] = [
  [11_025, 12_000, 8_000],
  null,
  [22_050, 24_000, 16_000],
  [44_100, 48_000, 32_000],
];

/** Reads the first frame after an optional ID3 tag; null without a frame. */
export function readMp3Header(bytes: Buffer): Mp3Header | null {
  const start = id3TagLength(bytes);
  if (bytes.length < start + 4) return null;
  const header = bytes.readUInt32BE(start);
  const isLayer3 = header >>> 21 === 0x7ff && ((header >>> 17) & 3) === 1;
  const bitrate = (header >>> 12) & 15;
  if (!isLayer3 || bitrate === 15) return null;
  const sampleRate = sampleRates[(header >>> 19) & 3]?.[(header >>> 10) & 3];
  return sampleRate === undefined ? null : { sampleRate };
}

/** An ID3v2 tag has its length in four bytes of seven bits. */
function id3TagLength(bytes: Buffer): number {
  if (bytes.length < 10 || bytes.toString('latin1', 0, 3) !== 'ID3') return 0;
  const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);
  return 10 + ((a & 127) << 21) + ((b & 127) << 14) + ((c & 127) << 7) + (d & 127);
}

/** An empty frame of MPEG-1 layer III, mono, 44.1 kHz, 32 kbit/s: 26 ms of silence. */
const frameLength = 104;
const frameHeader = 0xfffb10c4;

export function silentMp3(frames: number): Buffer {
  const bytes = Buffer.alloc(frameLength * frames);
  for (let frame = 0; frame < frames; frame += 1) bytes.writeUInt32BE(frameHeader, frame * frameLength);
  return bytes;
}
