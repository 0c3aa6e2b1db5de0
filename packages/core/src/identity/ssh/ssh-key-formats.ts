import { decodeBase64 } from './ssh-wire.ts';

export interface SshKeyError {
  /** Stable, for programs: what kind of refusal this is. */
  readonly code: string;
  /** What is wrong, for people. Never quotes the input: it may hold a private key. */
  readonly why: string;
  readonly suggestion?: string;
}

/** What a pasted text turned out to be, before the key inside it is judged. */
export type ParsedKeyText =
  | { readonly kind: 'blob'; readonly algorithm: string; readonly blob: Buffer }
  | { readonly kind: 'pem'; readonly pem: string }
  | { readonly kind: 'private'; readonly publicBlob: Buffer | null }
  | { readonly kind: 'refused'; readonly error: SshKeyError };

const TEXT_LENGTH_MAX = 16_384;
/** Every private form in use: PEM of all kinds, OpenSSH's own, ssh.com's, and OpenSSH's magic without its frame. */
const PRIVATE_KEY_MARKERS = [
  /BEGIN[A-Z0-9 ]{0,64} PRIVATE KEY/,
  /b3BlbnNzaC1rZXktdjE/,
  /^[^\S\n\r\u2028\u2029]*Private-key-format:/m,
];
const ALGORITHM = /^(ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]{1,60}$/;

export function parseKeyText(text: string): ParsedKeyText {
  if (text.length > TEXT_LENGTH_MAX) {
    return refuse(
      'too_long',
      `the text is longer than any public key (${String(TEXT_LENGTH_MAX)} characters)`,
    );
  }
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const first = lines[0];
  if (first === undefined) return refuse('empty', 'the text is empty');
  if (PRIVATE_KEY_MARKERS.some((mark) => mark.test(text))) return { kind: 'private', publicBlob: null };
  // A byte that is not text is never part of a key, and could hide one line inside another.
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text))
    return refuse('damaged', 'the text holds control characters');
  if (/^PuTTY-User-Key-File-/i.test(first)) return parsePuttyFile(lines);
  if (/^---- BEGIN SSH2 PUBLIC KEY ----$/.test(first)) return parseRfc4716(lines);
  if (first.startsWith('-----BEGIN')) return parsePem(lines);
  return parseOpensshLine(lines);
}

/** One line of an authorized_keys file, without the options that may precede the key there. */
function parseOpensshLine(lines: readonly string[]): ParsedKeyText {
  const [line = ''] = lines;
  if (lines.length > 1) return refuse('several_keys', 'the text has several lines; send one key at a time');
  const [algorithm = '', base64 = ''] = line.split(/[ \t]+/);
  if (ALGORITHM.test(algorithm)) return blobOf(algorithm, base64);
  if (/(^|[\s,"])(ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+[ \t]+AAAA/.test(line)) {
    return refuse(
      'options',
      'there is something before the key: options such as command= or from= are not taken',
      'Send the line from the algorithm (ssh-ed25519, ssh-rsa, …) on.',
    );
  }
  return refuse('unrecognised', 'this is neither an OpenSSH, PEM, RFC 4716 nor PuTTY public key');
}

/** PuTTY's file, versions 2 and 3: named headers, the public part in base64, and normally the private part. */
function parsePuttyFile(lines: readonly string[]): ParsedKeyText {
  const version = /^PuTTY-User-Key-File-([0-9]+): *(\S+)$/i.exec(lines[0] ?? '');
  const algorithm = version?.[2];
  const countLine = lines.findIndex((line) => /^Public-Lines: *[0-9]{1,4}$/i.test(line));
  const count = Number(/(?<![0-9])[0-9]+$/.exec(lines[countLine] ?? '')?.[0] ?? 0);
  const body = lines.slice(countLine + 1, countLine + 1 + count);
  const blob = countLine < 0 || body.length !== count ? null : decodeBase64(body.join(''));
  if (lines.some((line) => /^Private-(Lines|MAC|Hash):/i.test(line)))
    return { kind: 'private', publicBlob: blob };
  if (version === null || algorithm === undefined || !['2', '3'].includes(version[1] ?? '')) {
    return refuse(
      'unsupported',
      'only versions 2 and 3 of the PuTTY key file are read',
      'Save it again with a current PuTTYgen.',
    );
  }
  if (lines.length > countLine + 1 + count)
    return refuse('damaged', 'there is more text after the public part of the PuTTY file');
  return blob === null
    ? refuse('damaged', 'the public part of the PuTTY file is damaged or cut short')
    : { kind: 'blob', algorithm, blob };
}

/** RFC 4716: headers `Name: value`, a trailing backslash continues a line, then base64. */
function parseRfc4716(lines: readonly string[]): ParsedKeyText {
  const end = lines.indexOf('---- END SSH2 PUBLIC KEY ----');
  if (end < 0) return refuse('damaged', 'the last line, ---- END SSH2 PUBLIC KEY ----, is missing');
  if (end !== lines.length - 1)
    return refuse('several_keys', 'there is more text after the key; send one key at a time');
  const body: string[] = [];
  let inHeader = false;
  for (const line of lines.slice(1, end)) {
    const startsHeader = body.length === 0 && /^[^:\s]{1,64}:/.test(line);
    if (!inHeader && !startsHeader) body.push(line);
    inHeader = (inHeader || startsHeader) && line.endsWith('\\');
  }
  const blob = decodeBase64(body.join(''));
  if (blob === null || blob.length < 4)
    return refuse('damaged', 'the base64 text of the key is damaged or cut short');
  // This form names the algorithm inside the key only.
  return { kind: 'blob', algorithm: blob.subarray(4, 4 + blob.readUInt32BE(0)).toString('latin1'), blob };
}

function parsePem(lines: readonly string[]): ParsedKeyText {
  const label = /^-----BEGIN ([A-Z0-9 ]+)-----$/.exec(lines[0] ?? '')?.[1];
  if (label !== 'PUBLIC KEY' && label !== 'RSA PUBLIC KEY') {
    return refuse('unsupported', 'of PEM texts, only PUBLIC KEY and RSA PUBLIC KEY are read');
  }
  const end = lines.indexOf(`-----END ${label}-----`);
  if (end < 0) return refuse('damaged', `the last line, -----END ${label}-----, is missing`);
  if (end !== lines.length - 1)
    return refuse('several_keys', 'there is more text after the key; send one key at a time');
  if (decodeBase64(lines.slice(1, end).join('')) === null) {
    return refuse('damaged', 'the base64 text of the key is damaged or cut short');
  }
  return { kind: 'pem', pem: `${lines.join('\n')}\n` };
}

function blobOf(algorithm: string, base64: string): ParsedKeyText {
  const blob = decodeBase64(base64);
  return blob === null
    ? refuse('damaged', 'the base64 text of the key is damaged or cut short')
    : { kind: 'blob', algorithm, blob };
}

function refuse(code: string, why: string, suggestion?: string): ParsedKeyText {
  return { kind: 'refused', error: { code, why, ...(suggestion === undefined ? {} : { suggestion }) } };
}
