import { nkeys } from '@nats-io/transport-node';

export interface NatsKey {
  /** Secret: proves the key to a server. */
  readonly seed: string;
  /** Names the user in the configuration of a server. */
  readonly publicKey: string;
}

/** A new key pair for a user of a NATS server. */
export function createNatsKey(): NatsKey {
  const pair = nkeys.createUser();
  return { seed: new TextDecoder().decode(pair.getSeed()), publicKey: pair.getPublicKey() };
}

/** The public key of a seed, or of the seed in a `.creds` file; null if the text has none. */
export function natsPublicKey(credentials: string): string | null {
  const [seed] = /\bSU[A-Z2-7]{56}\b/.exec(credentials) ?? [];
  return seed === undefined ? null : nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey();
}

/** Whether the text is the public key of a user: `U…`, with a correct checksum. */
export function isNatsPublicKey(text: string): boolean {
  if (!/^U[A-Z2-7]{55}$/.test(text)) return false;
  try {
    nkeys.fromPublic(text);
    return true;
  } catch {
    return false;
  }
}
