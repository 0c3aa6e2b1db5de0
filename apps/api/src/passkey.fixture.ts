import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { fixturePublicUrl } from './users.fixture.ts';

/** A WebAuthn passkey: ES256, no attestation. */
export interface Passkey {
  /** The browser's response when a passkey is created. */
  register(options: { readonly challenge: string }, origin?: string): object;
  /** The browser's response when the passkey signs in. */
  authenticate(options: { readonly challenge: string }, origin?: string): object;
  /** From now on it does not verify its user. */
  disableUserVerification(): void;
}

const rpIdHash = createHash('sha256').update(new URL(fixturePublicUrl).hostname).digest();
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const WITH_CREDENTIAL = 0x40;

/** With `verifiesUser: false`, the security key does not verify its user by PIN, fingerprint or face. */
export function createPasskey({ verifiesUser = true } = {}): Passkey {
  let userFlags = USER_PRESENT | (verifiesUser ? USER_VERIFIED : 0);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const credentialId = randomBytes(32);
  const id = credentialId.toString('base64url');
  let counter = 0;

  const authData = (flags: number, rest = Buffer.alloc(0)): Buffer => {
    counter += 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    return Buffer.concat([rpIdHash, Buffer.from([flags]), count, rest]);
  };
  const clientData = (type: string, challenge: string, origin: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const credentialOf = (response: object) => ({
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    authenticatorAttachment: 'platform',
    response,
  });

  return {
    register({ challenge }, origin = fixturePublicUrl) {
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
      const coseKey = cborMap([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const credential = Buffer.concat([Buffer.alloc(16), length, credentialId, coseKey.encoded]);
      const attestation = cborMap([
        ['fmt', 'none'],
        ['attStmt', cborMap([])],
        ['authData', authData(userFlags | WITH_CREDENTIAL, credential)],
      ]);
      return credentialOf({
        clientDataJSON: clientData('webauthn.create', challenge, origin).toString('base64url'),
        attestationObject: attestation.encoded.toString('base64url'),
        transports: ['internal'],
      });
    },
    authenticate({ challenge }, origin = fixturePublicUrl) {
      const data = clientData('webauthn.get', challenge, origin);
      const authenticatorData = authData(userFlags);
      const signed = Buffer.concat([authenticatorData, createHash('sha256').update(data).digest()]);
      return credentialOf({
        clientDataJSON: data.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: createSign('SHA256').update(signed).sign(privateKey).toString('base64url'),
      });
    },
    disableUserVerification: () => {
      userFlags = USER_PRESENT;
    },
  };
}

/** Bytes that are already CBOR. */
interface Encoded {
  readonly encoded: Buffer;
}

type Value = number | string | Uint8Array | Encoded;

/** A minimal CBOR encoder. */
function cborMap(entries: readonly (readonly [number | string, Value])[]): Encoded {
  const items = entries.flatMap(([key, value]) => [cbor(key), cbor(value)]);
  return { encoded: Buffer.concat([head(5, entries.length), ...items]) };
}

function cbor(value: Value): Buffer {
  if (typeof value === 'object' && 'encoded' in value) return value.encoded;
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  const bytes = Buffer.from(value);
  return Buffer.concat([head(typeof value === 'string' ? 3 : 2, bytes.length), bytes]);
}

function head(major: number, count: number): Buffer {
  if (count < 24) return Buffer.from([(major << 5) | count]);
  if (count < 256) return Buffer.from([(major << 5) | 24, count]);
  return Buffer.from([(major << 5) | 25, count >> 8, count & 0xff]);
}
