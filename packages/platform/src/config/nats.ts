import { z } from 'zod';
import { parseNatsServers } from '../nats/servers.ts';
import { hostOf } from '../net/loopback.ts';
import { checkEngineTls, engineTls } from './engine-tls.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { sealingKey } from './sealing-key.ts';
import { values } from './values.ts';

const seed = /^SU[A-Z2-7]{56}$/;
const headersOfCredentials = ['BEGIN NATS USER JWT', 'BEGIN USER NKEY SEED'];

function isCredentials(text: string): boolean {
  return seed.test(text) || headersOfCredentials.every((part) => text.includes(part));
}

const variables = {
  ...engineTls,
  urls: {
    env: 'MILLRACE_NATS_URLS',
    schema: values.listOf(values.url('nats', 'tls')),
    expected: 'a comma-separated list of NATS servers; tls:// requires TLS',
    example: 'tls://nats.example.com:4222',
    secret: true,
  },
  credentials: {
    env: 'MILLRACE_NATS_CREDENTIALS',
    schema: values.text
      .refine(isCredentials, 'it is neither a seed nor a .creds file')
      .nullable()
      .default(null),
    expected: 'the seed of an nkey (SU…), or the text of a .creds file',
    example: 'SU<56 letters and digits>',
    secret: true,
  },
  prefix: {
    env: 'MILLRACE_NATS_PREFIX',
    schema: z
      .string()
      .regex(/^[a-z0-9]{1,32}$/)
      .default(''),
    expected:
      'up to 32 lowercase letters and digits that separate installations on one server; empty by default',
    example: 'staging',
  },
  replicas: {
    env: 'MILLRACE_NATS_REPLICAS',
    schema: z.enum(['1', '3']).transform(Number).default(1),
    expected: 'the number of NATS servers that store each message, 1 or 3',
    example: '3',
  },
} as const;

interface NatsValues {
  readonly urls: readonly string[];
  readonly credentials: string | null;
  readonly allowPlaintext: boolean;
}

function checkNats({ urls, credentials, allowPlaintext }: NatsValues): readonly ConfigProblem[] {
  const { env, example } = variables.urls;
  try {
    const { requiresTls: encrypted, login } = parseNatsServers(urls);
    const addresses = urls.map((url) => ({ host: hostOf(new URL(url)), encrypted }));
    const twice: ConfigProblem = {
      env,
      problem: `contains a user, but ${variables.credentials.env} is also set; use one of them`,
      example,
    };
    return [
      ...checkEngineTls(variables.urls, addresses, allowPlaintext),
      ...(login !== null && credentials !== null ? [twice] : []),
    ];
  } catch (error) {
    return [{ env, problem: error instanceof Error ? error.message : String(error), example }];
  }
}

export const natsConfig = fragment('nats', variables, checkNats);

/** The names on NATS, for commands that do not connect. */
export const natsNamesConfig = fragment('natsNames', { prefix: variables.prefix });

/** Shared by api, worker and gateway. It is not one of MILLRACE_SEALING_KEYS, which gateways must not know. */
export const keyFeedConfig = fragment(
  'keyFeed',
  {
    sealingKeys: {
      env: 'MILLRACE_KEY_FEED_KEYS',
      schema: values.listOf(sealingKey),
      expected:
        'a comma-separated list of id:key, each key 32 random bytes in base64; the first one seals, all of them open',
      example: '2026-11:<output of openssl rand -base64 32>',
      secret: true,
    },
  },
  ({ sealingKeys }) =>
    new Set(sealingKeys.map(({ id }) => id)).size === sealingKeys.length
      ? []
      : [{ env: 'MILLRACE_KEY_FEED_KEYS', problem: 'names the same id twice' }],
);
