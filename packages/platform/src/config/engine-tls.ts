import { isLoopback } from '../net/loopback.ts';
import type { ConfigProblem, Variable } from './fragment.ts';
import { values } from './values.ts';

/** Part of the fragment of each engine, so that its check can compare them with the engine's address. */
export const engineTls = {
  ca: {
    env: 'MILLRACE_ENGINE_CA_FILE',
    schema: values.certificatesText.nullable().default(null),
    expected:
      'the path of a PEM file with the CA certificates of the engines; used for NATS, PostgreSQL, Valkey and Restate',
    example: '/etc/millrace/ca.pem',
  },
  allowPlaintext: {
    env: 'MILLRACE_ALLOW_PLAINTEXT_ENGINES',
    schema: values.boolean.default(false),
    expected: 'true to connect to engines on other machines without TLS, or false',
    example: 'true',
  },
} as const;

/** Connections that leave the machine need TLS. The address is not printed, because it may contain a password. */
export function checkEngineTls(
  variable: Pick<Variable, 'env' | 'example'>,
  addresses: readonly { readonly host: string; readonly encrypted: boolean }[],
  allowPlaintext: boolean,
): readonly ConfigProblem[] {
  if (allowPlaintext || addresses.every(({ host, encrypted }) => encrypted || isLoopback(host))) return [];
  const { env, example } = variable;
  const problem = `names another machine without TLS; use TLS, or set ${engineTls.allowPlaintext.env}=true if no other machine can read that network`;
  return [{ env, problem, example }];
}
