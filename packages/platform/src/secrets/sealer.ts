import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** A 256-bit key of the operator with an id that is not secret. */
export interface SealingKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** The row and column of a secret. A sealed text moved to another row or column does not open. */
export interface SealContext {
  readonly table: string;
  readonly column: string;
  readonly rowId: string;
}

export interface Sealer {
  /** Encrypts with the active key. The result differs each time, unless the sealer is repeatable. */
  seal(plain: string, context: SealContext): string;
  /** Decrypts with the key that sealed the text. Throws `SealedSecretError` without details. */
  open(sealed: string, context: SealContext): string;
  needsRotation(sealed: string): boolean;
  /** Seals the same secret with the active key. */
  reseal(sealed: string, context: SealContext): string;
}

/** One message for every failure, because an attacker must not learn its cause. */
export class SealedSecretError extends Error {
  override readonly name = 'SealedSecretError';
  constructor() {
    super('The sealed secret cannot be opened.');
  }
}

const algorithm = 'aes-256-gcm';
const version = 'v1';
const keyBytes = 32;
// Of four billion secrets, two share a random 96-bit nonce with a chance of one in four billion. Rotate earlier.
const nonceBytes = 12;
const tagBytes = 16;
const keyIdPattern = /^[A-Za-z0-9_-]{1,32}$/;
const sealedPattern = /^v1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+)$/;

/** JSON quoting makes the encoding unambiguous, so no two contexts give the same bytes. */
function additionalData(keyId: string, context: SealContext): Buffer {
  return Buffer.from(JSON.stringify([version, keyId, context.table, context.column, context.rowId]));
}

/** Another text or place gives another nonce, as with random ones. A key of its own keeps the hash apart from the cipher. */
function derivedNonce(key: Uint8Array, about: Buffer, plain: string): Buffer {
  const ownKey = createHmac('sha256', key).update('nonce of a sealed secret').digest();
  return createHmac('sha256', ownKey)
    .update(`${about.length}:`)
    .update(about)
    .update(plain, 'utf8')
    .digest()
    .subarray(0, nonceBytes);
}

function checkKeys(keys: readonly SealingKey[], activeId: string): ReadonlyMap<string, Uint8Array> {
  const byId = new Map<string, Uint8Array>();
  for (const { id, key } of keys) {
    if (!keyIdPattern.test(id)) throw new TypeError(`Not a key id: ${JSON.stringify(id)}.`);
    if (key.byteLength !== keyBytes) throw new TypeError(`Key ${id} must have ${keyBytes} bytes.`);
    if (byId.has(id)) throw new TypeError(`Two keys have the id ${id}.`);
    byId.set(id, key);
  }
  if (!byId.has(activeId)) throw new TypeError(`The active key ${activeId} is not among the keys.`);
  return byId;
}

/** Seals secrets for storage with AES-256-GCM, as `v1.<key id>.<base64url of nonce, ciphertext and tag>`. */
export function createSealer(options: {
  readonly keys: readonly SealingKey[];
  readonly activeId: string;
  /** The same text in the same place gives the same result, which shows only that it is unchanged. */
  readonly isRepeatable?: boolean;
}): Sealer {
  const { activeId, isRepeatable = false } = options;
  const keys = checkKeys(options.keys, activeId);

  function keyOf(id: string): Uint8Array {
    const key = keys.get(id);
    if (key === undefined) throw new SealedSecretError();
    return key;
  }

  function seal(plain: string, context: SealContext): string {
    const about = additionalData(activeId, context);
    const nonce = isRepeatable ? derivedNonce(keyOf(activeId), about, plain) : randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, keyOf(activeId), nonce, { authTagLength: tagBytes });
    cipher.setAAD(about);
    const pieces = [nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `${version}.${activeId}.${Buffer.concat(pieces).toString('base64url')}`;
  }

  function open(sealed: string, context: SealContext): string {
    const [, keyId, body] = sealedPattern.exec(sealed) ?? [];
    if (keyId === undefined || body === undefined) throw new SealedSecretError();
    const bytes = Buffer.from(body, 'base64url');
    if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== body) {
      throw new SealedSecretError();
    }
    const nonce = bytes.subarray(0, nonceBytes);
    const decipher = createDecipheriv(algorithm, keyOf(keyId), nonce, { authTagLength: tagBytes });
    decipher.setAAD(additionalData(keyId, context));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      return Buffer.concat([
        decipher.update(bytes.subarray(nonceBytes, -tagBytes)),
        decipher.final(),
      ]).toString('utf8');
    } catch {
      throw new SealedSecretError();
    }
  }

  return {
    seal,
    open,
    needsRotation: (sealed) => sealedPattern.exec(sealed)?.[1] !== activeId,
    reseal: (sealed, context) => seal(open(sealed, context), context),
  };
}
