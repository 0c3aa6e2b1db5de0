import { decodeBase64 } from './ssh-wire.ts';

export interface SshKeyError {
  /** Stable error code for programs. */
  readonly code: string;
  /** The problem, for the user. Never quotes the input, which may contain a private key. */
  readonly why: string;
  readonly suggestion?: string;
}

/** The format of a pasted text, before the key inside it is checked. */
export type ParsedKeyText =
  | { readonly kind: 'blob'; readonly algorithm: string; readonly blob: Buffer }
  | { readonly kind: 'pem'; readonly pem: string }
  | { readonly kind: 'private'; readonly publicBlob: Buffer | null }
  | { readonly kind: 'refused'; readonly error: SshKeyError };

const TEXT_LENGTH_MAX = 16_384;
/** All private key formats in use: PEM, OpenSSH, ssh.com, PuTTY, and OpenSSH's magic without its frame. */
const PRIVATE_KEY_MARKERS = [
  /BEGIN[A-Z0-9 ]{0,64} PRIVATE KEY/,
  /b3BlbnNzaC1rZXktdjE/,
  /^[^\S\n\r\u2028\u2029]*Private-key-format:/m,
];
const ALGORITHM = /^(ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]{1,60}$/;

export function parseKeyText(text: string): ParsedKeyText {
  if (text.length > TEXT_LENGTH_MAX) {
    return refuse('too_long', `the text is longer than ${String(TEXT_LENGTH_MAX)} characters`);
  }
  const lines = text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const first = lines[0];
  if (first === undefined) return refuse('empty', 'the text is empty');
  if (PRIVATE_KEY_MARKERS.some((mark) => mark.test(text))) return { kind: 'private', publicBlob: null };
  // Control characters are never part of a key, and could hide one line inside another.
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text))
    return refuse('damaged', 'the text contains control characters');
  if (/^PuTTY-User-Key-File-/i.test(first)) return parsePuttyFile(lines);
  if (/^---- BEGIN SSH2 PUBLIC KEY ----$/.test(first)) return parseRfc4716(lines);
  if (first.startsWith('-----BEGIN')) return parsePem(lines);
  return parseOpensshLine(lines);
}

/** One line of an authorized_keys file, without options before the key. */
function parseOpensshLine(lines: readonly string[]): ParsedKeyText {
  const [line = ''] = lines;
  if (lines.length > 1) return refuse('several_keys', 'the text has several lines; send one key at a time');
  const [algorithm = '', base64 = ''] = line.split(/[ \t]+/);
  if (ALGORITHM.test(algorithm)) return blobOf(algorithm, base64);
  if (/(^|[\s,"])(ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+[ \t]+AAAA/.test(line)) {
    return refuse(
      'options',
      'options before the key, such as command= or from=, are not allowed',
      'Send the line starting at the algorithm (ssh-ed25519, ssh-rsa, …).',
    );
  }
  return refuse('unrecognised', 'the text is not a public key in OpenSSH, PEM, RFC 4716 or PuTTY format');
}

/** PuTTY key file, versions 2 and 3: named headers, the public part in base64, and usually the private part. */
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
      'only versions 2 and 3 of the PuTTY key file are supported',
      'Save the key again with a current PuTTYgen.',
    );
  }
  if (lines.length > countLine + 1 + count)
    return refuse('damaged', 'the PuTTY file has more text after its public part');
  return blob === null
    ? refuse('damaged', 'the public part of the PuTTY file is damaged or incomplete')
    : { kind: 'blob', algorithm, blob };
}

/** RFC 4716: headers `Name: value`, a trailing backslash continues a line, then base64. */
function parseRfc4716(lines: readonly string[]): ParsedKeyText {
  const end = lines.indexOf('---- END SSH2 PUBLIC KEY ----');
  if (end < 0) return refuse('damaged', 'the last line, ---- END SSH2 PUBLIC KEY ----, is missing');
  if (end !== lines.length - 1)
    return refuse('several_keys', 'the text continues after the key; send one key at a time');
  const body: string[] = [];
  let inHeader = false;
  for (const line of lines.slice(1, end)) {
    const startsHeader = body.length === 0 && /^[^:\s]{1,64}:/.test(line);
    if (!inHeader && !startsHeader) body.push(line);
    inHeader = (inHeader || startsHeader) && line.endsWith('\\');
  }
  const blob = decodeBase64(body.join(''));
  if (blob === null || blob.length < 4)
    return refuse('damaged', 'the base64 text of the key is damaged or incomplete');
  // This format has the algorithm only inside the key.
  return { kind: 'blob', algorithm: blob.subarray(4, 4 + blob.readUInt32BE(0)).toString('latin1'), blob };
}

function parsePem(lines: readonly string[]): ParsedKeyText {
  const label = /^-----BEGIN ([A-Z0-9 ]+)-----$/.exec(lines[0] ?? '')?.[1];
  if (label !== 'PUBLIC KEY' && label !== 'RSA PUBLIC KEY') {
    return refuse('unsupported', 'only PUBLIC KEY and RSA PUBLIC KEY are supported in PEM format');
  }
  const end = lines.indexOf(`-----END ${label}-----`);
  if (end < 0) return refuse('damaged', `the last line, -----END ${label}-----, is missing`);
  if (end !== lines.length - 1)
    return refuse('several_keys', 'the text continues after the key; send one key at a time');
  if (decodeBase64(lines.slice(1, end).join('')) === null) {
    return refuse('damaged', 'the base64 text of the key is damaged or incomplete');
  }
  return { kind: 'pem', pem: `${lines.join('\n')}\n` };
}

function blobOf(algorithm: string, base64: string): ParsedKeyText {
  const blob = decodeBase64(base64);
  return blob === null
    ? refuse('damaged', 'the base64 text of the key is damaged or incomplete')
    : { kind: 'blob', algorithm, blob };
}

function refuse(code: string, why: string, suggestion?: string): ParsedKeyText {
  return { kind: 'refused', error: { code, why, ...(suggestion === undefined ? {} : { suggestion }) } };
}
