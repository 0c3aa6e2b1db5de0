import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig, restateConfig, type Environment } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-restate-config-'));
afterAll(() => rmSync(folder, { recursive: true }));
const pem = join(folder, 'any.pem');
writeFileSync(pem, 'text');

const needed = {
  MILLRACE_RESTATE_INGRESS_URL: 'http://127.0.0.1:8080',
  MILLRACE_RESTATE_ADMIN_URL: 'http://127.0.0.1:9070',
  MILLRACE_RESTATE_IDENTITY_KEYS: 'publickeyv1_abc',
};
const remote = {
  MILLRACE_RESTATE_INGRESS_URL: 'https://restate.example.com:8443',
  MILLRACE_RESTATE_ADMIN_URL: 'https://restate.example.com:9443',
};
const client = { MILLRACE_RESTATE_CLIENT_CERT_FILE: pem, MILLRACE_RESTATE_CLIENT_KEY_FILE: pem };
const endpointTls = {
  MILLRACE_RESTATE_ENDPOINT_TLS_CERT_FILE: pem,
  MILLRACE_RESTATE_ENDPOINT_TLS_KEY_FILE: pem,
};
const otherHost = { MILLRACE_RESTATE_ENDPOINT_HOST: '10.0.0.5' };

function report(env: Environment): string {
  try {
    loadConfig([restateConfig], { ...needed, ...env });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('restateConfig', () => {
  it.each([
    [{}],
    [remote],
    [{ ...remote, ...client }],
    [{ ...otherHost, ...endpointTls }],
    [{ MILLRACE_RESTATE_ENDPOINT_URL: 'https://workers.internal:9080' }],
    [{ ...otherHost, MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true' }],
    [
      {
        MILLRACE_RESTATE_INGRESS_URL: 'http://restate.example.com',
        MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true',
      },
    ],
  ])('accepts %j', (env) => {
    expect(report(env)).toBe('accepted');
  });

  it.each<[Environment, RegExp]>([
    [
      { MILLRACE_RESTATE_INGRESS_URL: 'http://restate.example.com' },
      /MILLRACE_RESTATE_INGRESS_URL names another machine without TLS/,
    ],
    [
      { MILLRACE_RESTATE_ADMIN_URL: 'http://restate.example.com' },
      /MILLRACE_RESTATE_ADMIN_URL names another machine without TLS/,
    ],
    [client, /MILLRACE_RESTATE_INGRESS_URL must begin with https:\/\//],
    [
      { ...remote, MILLRACE_RESTATE_CLIENT_CERT_FILE: pem },
      /MILLRACE_RESTATE_CLIENT_KEY_FILE is not set; set both/,
    ],
    [
      { MILLRACE_RESTATE_ENDPOINT_TLS_KEY_FILE: pem },
      /MILLRACE_RESTATE_ENDPOINT_TLS_CERT_FILE is not set; set both/,
    ],
    [otherHost, /MILLRACE_RESTATE_ENDPOINT_HOST is beyond loopback without TLS/],
    [
      { ...otherHost, MILLRACE_RESTATE_ENDPOINT_URL: 'https://workers.internal:9080' },
      /MILLRACE_RESTATE_ENDPOINT_HOST is beyond loopback without TLS/,
    ],
    [
      { MILLRACE_RESTATE_ENDPOINT_URL: 'http://10.0.0.21:9080' },
      /MILLRACE_RESTATE_ENDPOINT_URL names another machine without TLS/,
    ],
    [
      { ...endpointTls, MILLRACE_RESTATE_ENDPOINT_URL: 'http://workers.internal:9080' },
      /MILLRACE_RESTATE_ENDPOINT_URL must begin with https:\/\//,
    ],
    [
      { MILLRACE_RESTATE_ENDPOINT_HOST: '0.0.0.0', ...endpointTls },
      /MILLRACE_RESTATE_ENDPOINT_URL is not set/,
    ],
  ])('refuses %j', (env, problem) => {
    expect(report(env)).toMatch(problem);
  });
});
