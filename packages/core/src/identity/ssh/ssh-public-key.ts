import { createHash, createPublicKey } from 'node:crypto';
import { sshAlgorithms } from '@millrace/contract';
import sshpk from 'sshpk';
import { parseKeyText, type ParsedKeyText, type SshKeyError } from './ssh-key-formats.ts';
import { SshWireReader } from './ssh-wire.ts';

export type SshAlgorithm = (typeof sshAlgorithms)[number];

/** A public key as it is stored and installed: algorithm and blob, without options that could run a command. */
export interface SshPublicKey {
  readonly algorithm: SshAlgorithm;
  readonly bits: number;
  /** `algorithm base64`, without options and without the comment. */
  readonly publicKey: string;
  /** As `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

export type SshKeyResult =
  | { readonly ok: true; readonly key: SshPublicKey }
  | { readonly ok: false; readonly error: SshKeyError };

const RSA_BITS_MIN = 2048;
const RSA_BITS_MAX = 16_384;

/** Reads an OpenSSH line, PEM public key, RFC 4716 file or the public part of a PuTTY file, and normalises it. */
export function readSshPublicKey(text: string): SshKeyResult {
  const envelope = parseKeyText(text);
  if (envelope.kind === 'private') return refusedKey(privateKeyError(envelope));
  if (envelope.kind === 'refused') return refusedKey(envelope.error);
  const blob = envelope.kind === 'pem' ? blobOfPem(envelope.pem) : envelope.blob;
  if (blob === null)
    return refusedKey(damagedKeyError('the PEM text does not contain a readable public key'));
  const reading = readBlob(blob);
  if (reading.ok && envelope.kind === 'blob' && envelope.algorithm !== reading.key.algorithm) {
    return refusedKey(
      damagedKeyError(
        `the text names ${envelope.algorithm}, but the key is of type ${reading.key.algorithm}`,
      ),
    );
  }
  return reading;
}

function privateKeyError(envelope: Extract<ParsedKeyText, { kind: 'private' }>): SshKeyError {
  // The public half of a PuTTY file is readable without its passphrase, so the response can include it.
  const publicHalf = envelope.publicBlob === null ? null : readBlob(envelope.publicBlob);
  return {
    code: 'private_key',
    why: 'This is a PRIVATE key. We did not store or log it, but it has left your machine: treat it as compromised if anyone could have seen it.',
    suggestion:
      publicHalf?.ok === true
        ? `Send only the public half: ${publicHalf.key.publicKey}. To be safe, create a new pair with ssh-keygen -t ed25519.`
        : 'Send the public half, the file that ends in .pub. To be safe, create a new pair with ssh-keygen -t ed25519.',
  };
}

function readBlob(blob: Buffer): SshKeyResult {
  const name = new SshWireReader(blob).next()?.toString('latin1');
  if (name === undefined) return refusedKey(damagedKeyError('the key data is incomplete'));
  if (name === 'ssh-dss') {
    return refusedKey({
      code: 'weak',
      why: 'DSA keys are too weak, and current SSH servers reject them',
      ...useEd25519,
    });
  }
  if (/-cert-v[0-9]{2}@openssh\.com$/.test(name)) {
    return refusedKey({
      code: 'certificate',
      why: 'this is a certificate; send the public key that it certifies',
    });
  }
  const algorithm = sshAlgorithms.find((known) => known === name);
  if (algorithm === undefined) {
    return refusedKey({
      code: 'unsupported',
      why: 'this type of key is not supported',
      ...useEd25519,
    });
  }
  return algorithm.startsWith('sk-') ? readHardwareKey(algorithm, blob) : readPlainKey(algorithm, blob);
}

function readPlainKey(algorithm: SshAlgorithm, blob: Buffer): SshKeyResult {
  let bits: number;
  try {
    const key = sshpk.parseKey(blob, 'rfc4253');
    // Parsing is lenient about padding and trailing bytes, but only the canonical encoding is accepted.
    if (!key.toBuffer('rfc4253', {}).equals(blob))
      return refusedKey(damagedKeyError('the key is not in its canonical encoding'));
    // OpenSSL checks what the encoding cannot show: that a point is on its curve and that the numbers are valid.
    createPublicKey(key.toString('pkcs8'));
    bits = key.size;
  } catch {
    return refusedKey(damagedKeyError('the key data is damaged or incomplete'));
  }
  if (algorithm === 'ssh-rsa') {
    const error = checkRsa(blob, bits);
    if (error !== null) return refusedKey(error);
  }
  return acceptedKey(algorithm, bits, blob);
}

function checkRsa(blob: Buffer, bits: number): SshKeyError | null {
  if (bits < RSA_BITS_MIN) {
    return {
      code: 'weak',
      why: `an RSA key of ${String(bits)} bits is too weak; the minimum is ${String(RSA_BITS_MIN)}`,
      ...useEd25519,
    };
  }
  if (bits > RSA_BITS_MAX) {
    return {
      code: 'unsupported',
      why: `an RSA key of ${String(bits)} bits is larger than SSH servers accept`,
      ...useEd25519,
    };
  }
  const reader = new SshWireReader(blob);
  reader.next();
  const [exponent, modulus] = [reader.next(), reader.next()];
  const isOdd = (number: Buffer | null) => ((number?.at(-1) ?? 0) & 1) === 1;
  const isOne = exponent?.length === 1 && exponent[0] === 1;
  return isOdd(exponent) && isOdd(modulus) && !isOne
    ? null
    : damagedKeyError('the RSA numbers are not those of a valid key');
}

/** FIDO keys: a normal public key followed by the application that it was created for (OpenSSH PROTOCOL.u2f). */
function readHardwareKey(algorithm: SshAlgorithm, blob: Buffer): SshKeyResult {
  const reader = new SshWireReader(blob);
  reader.next();
  const isEcdsa = algorithm.startsWith('sk-ecdsa');
  const curveFits = !isEcdsa || reader.next()?.toString('latin1') === 'nistp256';
  const point = reader.next();
  const application = reader.next();
  const pointFits = isEcdsa ? point?.length === 65 && point[0] === 4 : point?.length === 32;
  const applicationFits =
    application !== null && /^ssh:[\x20-\x7e]{0,250}$/.test(application.toString('latin1'));
  if (!curveFits || !pointFits || !applicationFits || !reader.atEnd) {
    return refusedKey(damagedKeyError('the key data is damaged or incomplete'));
  }
  return acceptedKey(algorithm, 256, blob);
}

function blobOfPem(pem: string): Buffer | null {
  try {
    return sshpk.parseKey(pem, 'pem').toBuffer('rfc4253', {});
  } catch {
    return null;
  }
}

function acceptedKey(algorithm: SshAlgorithm, bits: number, blob: Buffer): SshKeyResult {
  const digest = createHash('sha256')
    .update(blob)
    .digest('base64')
    .replace(/(?<!=)=+$/, '');
  const publicKey = `${algorithm} ${blob.toString('base64')}`;
  return { ok: true, key: { algorithm, bits, publicKey, fingerprint: `SHA256:${digest}` } };
}

const useEd25519 = { suggestion: 'Create a new pair with ssh-keygen -t ed25519 and send the .pub file.' };

function damagedKeyError(why: string): SshKeyError {
  return {
    code: 'damaged',
    why,
    suggestion: 'Copy the whole .pub file again, from its first character to its last.',
  };
}

function refusedKey(error: SshKeyError): SshKeyResult {
  return { ok: false, error };
}
