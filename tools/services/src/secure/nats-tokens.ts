import { randomBytes } from 'node:crypto';

import { createAccount, createOperator, createUser, fromSeed, type KeyPair } from '@nats-io/nkeys';

import type { Site } from '../site.ts';
import { siteSecret } from './site-secrets.ts';

/**
 * Users of a secure NATS server. They are signed tokens with permissions, because tests need users for their own subjects while
 * the server runs. Installations list the public keys of their users in the configuration instead.
 */

/** The subjects that a user may use. */
export interface NatsUserPermissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  readonly mayRespond: boolean;
}

export interface NatsAuthorities {
  readonly operator: KeyPair;
  readonly account: KeyPair;
  readonly system: KeyPair;
}

/** Created once per state folder. */
export function natsAuthorities(site: Site): NatsAuthorities {
  const stored = (name: string, create: () => KeyPair): KeyPair =>
    fromSeed(Buffer.from(siteSecret(site, `nats-${name}`, () => text(create().getSeed()))));
  return {
    operator: stored('operator', createOperator),
    account: stored('account', createAccount),
    system: stored('system', createAccount),
  };
}

/** The lines of a nats-server configuration that accept only users of the account. */
export function renderNatsAuthorities({ operator, account, system }: NatsAuthorities): readonly string[] {
  const systemKey = system.getPublicKey();
  const operatorClaims = { type: 'operator', version: 2, system_account: systemKey };
  const token = sign(operator, operator.getPublicKey(), 'millrace', operatorClaims);
  const tokens = [account, system].map((each, index) => {
    const claims = accountClaims(index === 0);
    const name = index === 0 ? 'millrace' : 'system';
    return `  ${each.getPublicKey()}: ${sign(operator, each.getPublicKey(), name, claims)}`;
  });
  return [
    `operator: ${token}`,
    `system_account: ${systemKey}`,
    'resolver: MEMORY',
    'resolver_preload: {',
    ...tokens,
    '}',
  ];
}

function accountClaims(hasJetStream: boolean) {
  const storage = hasJetStream ? -1 : 0;
  const limits = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
  };
  const streams = { mem_storage: storage, disk_storage: storage, streams: storage, consumer: storage };
  return { type: 'account', version: 2, limits: { ...limits, ...streams } };
}

/** The text of a .creds file for a new user. Null: all subjects. */
export function issueNatsCredentials(
  accountSeed: string,
  name: string,
  permissions: NatsUserPermissions | null,
): string {
  const user = createUser();
  const allowed =
    permissions === null
      ? { pub: {}, sub: {} }
      : {
          pub: { allow: permissions.publish },
          sub: { allow: permissions.subscribe },
          ...(permissions.mayRespond ? { resp: { max: 1, ttl: 60_000_000_000 } } : {}),
        };
  const claims = { type: 'user', version: 2, subs: -1, data: -1, payload: -1, ...allowed };
  const token = sign(fromSeed(Buffer.from(accountSeed)), user.getPublicKey(), name, claims);
  return [
    '-----BEGIN NATS USER JWT-----',
    token,
    '------END NATS USER JWT------',
    '',
    '-----BEGIN USER NKEY SEED-----',
    text(user.getSeed()),
    '------END USER NKEY SEED------',
    '',
  ].join('\n');
}

/** A JSON web token in the form that nats-server expects. */
function sign(issuer: KeyPair, subject: string, name: string, nats: object): string {
  const claims = {
    jti: randomBytes(16).toString('hex'),
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    name,
    sub: subject,
    nats,
  };
  const signed = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode(claims)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}
