import { hostOf } from '../net/loopback.ts';
import { checkEngineTls, engineTls } from './engine-tls.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem, Variable } from './fragment.ts';
import { values } from './values.ts';

const url = {
  env: 'MILLRACE_VALKEY_URL',
  schema: values.url('redis', 'rediss'),
  expected: 'the URL of Valkey; rediss:// requires TLS',
  example: 'redis://127.0.0.1:6379',
  secret: true,
} as const;

const leaseUrl = {
  env: 'MILLRACE_POT_VALKEY_URL',
  schema: url.schema,
  expected: 'the URL of the Valkey with the credit leases, without persistence and replicas',
  example: url.example,
  secret: true,
} as const;

function checkValkey(variable: Pick<Variable, 'env'>) {
  return (settings: {
    readonly url: string | null;
    readonly allowPlaintext: boolean;
  }): readonly ConfigProblem[] => {
    if (settings.url === null) return [];
    const parsed = new URL(settings.url);
    const address = { host: hostOf(parsed), encrypted: parsed.protocol === 'rediss:' };
    const withTls = { env: variable.env, example: 'rediss://user:password@valkey.example.com:6379' };
    return checkEngineTls(withTls, [address], settings.allowPlaintext);
  };
}

export const valkeyConfig = fragment('valkey', { ...engineTls, url }, checkValkey(url));

/** The Valkey with the credit leases. */
export const leaseValkeyConfig = fragment(
  'leaseValkey',
  { ...engineTls, url: leaseUrl },
  checkValkey(leaseUrl),
);

/** For workers, which grant no credit leases without it. */
export const optionalLeaseValkeyConfig = fragment(
  'leaseValkey',
  { ...engineTls, url: { ...leaseUrl, schema: leaseUrl.schema.nullable().default(null) } },
  checkValkey(leaseUrl),
);
