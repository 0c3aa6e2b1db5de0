import { isUnixSocket, parsePostgresUrl } from '../db/servers/server-url.ts';
import { checkEngineTls, engineTls } from './engine-tls.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem, Variable } from './fragment.ts';
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

interface PostgresAddress {
  readonly url: string;
  readonly allowPlaintext: boolean;
}

function checkPostgres(
  settings: PostgresAddress,
  { env, example }: Pick<Variable, 'env' | 'example'> = variables.url,
): readonly ConfigProblem[] {
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

export const postgresConfig = fragment('postgres', variables, (settings) => checkPostgres(settings));

const ownerUrl = {
  env: 'MILLRACE_POSTGRES_OWNER_URL',
  schema: variables.url.schema.nullable().default(null),
  expected: 'the URL of the PostgreSQL database with the login of its owner',
  example: 'postgres://millrace_owner:password@127.0.0.1:5432/millrace',
  secret: true,
} as const;

/** The login that migrates the database and backs it up. Without it, these commands use MILLRACE_POSTGRES_URL. */
export const postgresOwnerConfig = fragment(
  'postgresOwner',
  { ...engineTls, url: ownerUrl },
  ({ url, allowPlaintext }) => (url === null ? [] : checkPostgres({ url, allowPlaintext }, ownerUrl)),
);

const administratorUrl = {
  env: 'MILLRACE_POSTGRES_ADMIN_URL',
  schema: variables.url.schema.nullable().default(null),
  expected: 'the URL of PostgreSQL with the login of an administrator',
  example: 'postgres://postgres:password@127.0.0.1:5432/postgres',
  secret: true,
} as const;

/** The login that creates roles and the database. */
export const postgresAdministratorConfig = fragment(
  'postgresAdministrator',
  { allowPlaintext: engineTls.allowPlaintext, url: administratorUrl },
  ({ url, allowPlaintext }) => (url === null ? [] : checkPostgres({ url, allowPlaintext }, administratorUrl)),
);
