import { isUnixSocket, parsePostgresUrl } from '../db/server-url.ts';
import { checkEngineTls, engineTls } from './engine-tls.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { values } from './values.ts';

const variables = {
  ...engineTls,
  url: {
    env: 'MILLRACE_POSTGRES_URL',
    schema: values.text.refine(
      (value) => /^postgres(ql)?:\/\//.test(value),
      'it must start with postgres:// or postgresql://',
    ),
    expected: 'the URL of the PostgreSQL database',
    example: 'postgres://millrace:password@127.0.0.1:5432/millrace',
    secret: true,
  },
  poolSize: {
    env: 'MILLRACE_POSTGRES_POOL_SIZE',
    schema: values.wholeNumber(1, 500).default(10),
    expected: 'the maximum of connections of this process, 1 to 500',
    example: '10',
  },
  statementTimeoutMs: {
    env: 'MILLRACE_POSTGRES_STATEMENT_TIMEOUT_MS',
    schema: values.wholeNumber(100, 600_000).default(15_000),
    expected: 'the maximum duration of a statement, in milliseconds, 100 to 600000',
    example: '15000',
  },
} as const;

function checkPostgres(settings: {
  readonly url: string;
  readonly allowPlaintext: boolean;
}): readonly ConfigProblem[] {
  const { env, example } = variables.url;
  try {
    const { servers, requiresTls: encrypted } = parsePostgresUrl(settings.url);
    const remote = servers.filter((server) => !isUnixSocket(server));
    const addresses = remote.map(({ host }) => ({ host, encrypted }));
    const withTls = {
      env,
      example: 'postgres://millrace:password@db.example.com:5432/millrace?sslmode=verify-full',
    };
    return checkEngineTls(withTls, addresses, settings.allowPlaintext);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return [{ env, problem: `is not valid: ${problem}`, example }];
  }
}

export const postgresConfig = fragment('postgres', variables, checkPostgres);
