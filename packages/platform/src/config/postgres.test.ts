import { describe, expect, it } from 'vitest';
import { ConfigError, loadConfig, postgresConfig, type Environment } from './index.ts';

function report(env: Environment): string {
  try {
    loadConfig([postgresConfig], env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('postgresConfig', () => {
  it.each([
    ['postgres://u:p@127.0.0.1:5432/d', {}],
    ['postgresql://u@[::1]/d', {}],
    ['postgres://u@%2Frun%2Fpostgresql/d', {}],
    ['postgres://u:p@db1.example.com,db2.example.com:5433/d?sslmode=verify-full', {}],
    ['postgres://u:p@db1,db2/d?sslmode=verify-full&target_session_attrs=read-write&sslrootcert=/ca.pem', {}],
    ['postgres://u:p@db.example.com/d', { MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true' }],
    ['postgres://u:p@db.example.com/d?sslmode=disable', { MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true' }],
  ])('accepts %s with %j', (url, more) => {
    expect(report({ MILLRACE_POSTGRES_URL: url, ...more })).toBe('accepted');
  });

  const weak = /its sslmode does not verify the server; use sslmode=verify-full/;
  it.each([
    ['postgres://u:hunter2@db.example.com/d', /MILLRACE_POSTGRES_URL names another machine without TLS/],
    ['postgres://u:hunter2@127.0.0.1,10.0.0.1/d', /names another machine without TLS/],
    ['postgres://u:hunter2@10.0.0.1/d?sslmode=disable', /names another machine without TLS/],
    ['postgres://u:hunter2@db/d?sslmode=require', weak],
    ['postgres://u:hunter2@db/d?sslmode=verify-ca', weak],
    ['postgres://u:hunter2@db/d?sslmode=no-verify', weak],
    ['postgres://u:hunter2@db/d?sslmode=prefer', weak],
    [
      'postgres://u:hunter2@db/d?sslmode=verify-full&uselibpqcompat=true',
      /parameter uselibpqcompat is not supported/,
    ],
    ['postgres://u:hunter2@db/d?ssl=true', /parameter ssl is not supported/],
    ['postgres://u:hunter2@127.0.0.1/d?host=db', /parameter host is not supported/],
    ['postgres://u:hunter2@127.0.0.1/d?hunter2-%40', /parameter \(unknown\) is not supported/],
    ['postgres://u:hunter2@/d', /it must name a host/],
    ['postgres://u:hunter2@db:5432,db2:x/d', /it must name a host/],
    ['postgres://u:hunter2%@127.0.0.1/d', /contains a % that is not an escape/],
  ])('refuses %s without printing the password', (url, problem) => {
    const text = report({ MILLRACE_POSTGRES_URL: url });
    expect(text).toMatch(problem);
    expect(text).not.toContain('hunter2');
  });
});
