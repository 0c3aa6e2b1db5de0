/** Reads format and size from image bytes, because neither engines nor clients are trusted about them. */

export interface ImageHeader {
  readonly format: 'png' | 'jpeg' | 'webp';
  readonly width: number;
  readonly height: number;
}

/** Enough for PNG and WebP. In a JPEG the size can come after segments of any length. */
const headLength = 64;

export function readImageHeader(base64: string): ImageHeader | null {
  const head = Buffer.from(base64.slice(0, headLength), 'base64');
  return readPng(head) ?? readWebp(head) ?? readJpeg(head, base64);
}

function readPng(bytes: Buffer): ImageHeader | null {
  if (bytes.length < 24 || bytes.readUInt32BE(0) !== 0x89504e47 || bytes.readUInt32BE(4) !== 0x0d0a1a0a) {
    return null;
  }
  return sized('png', bytes.readUInt32BE(16), bytes.readUInt32BE(20));
}

function readWebp(bytes: Buffer): ImageHeader | null {
  if (bytes.length < 30 || !isText(bytes, 0, 'RIFF') || !isText(bytes, 8, 'WEBP')) return null;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return sized('webp', bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return sized('webp', (bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case 'VP8X':
      return sized('webp', bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
    default:
      return null;
  }
}

function readJpeg(head: Buffer, base64: string): ImageHeader | null {
  if (head.length < 4 || head.readUInt16BE(0) !== 0xffd8) return null;
  const bytes = Buffer.from(base64, 'base64');
  for (let at = 2; at + 9 < bytes.length;) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1] ?? 0;
    if (isFrameHeader(marker)) return sized('jpeg', bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5));
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}

/** SOF0 to SOF15, without the other markers in that range. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

function isText(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text;
}

function sized(format: ImageHeader['format'], width: number, height: number): ImageHeader | null {
  return width > 0 && height > 0 ? { format, width, height } : null;
}
