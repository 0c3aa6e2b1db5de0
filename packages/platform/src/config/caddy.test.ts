import { expect, test } from 'vitest';
import { loadConfig } from './load.ts';
import { caddyAddress, caddyConfig, namesConfig } from './caddy.ts';

const load = (env: Readonly<Record<string, string>>) => loadConfig([namesConfig, caddyConfig], env);

test('caddyConfig and namesConfig have defaults for every setting', () => {
  expect(load({})).toEqual({
    names: { domain: null },
    caddy: { admin: null, listen: ':443', certificateFile: null, keyFile: null },
  });
});

test.each(['run.example.com', 'a.b', 'xn--4gbrim.example'])('namesConfig accepts the domain %s', (domain) => {
  expect(load({ MILLRACE_MARKETPLACE_DOMAIN: domain }).names.domain).toBe(domain);
});

test.each(['example', 'Run.example.com', '*.example.com', 'a..b', '-a.b', 'a.b/', 'a b.c'])(
  'namesConfig rejects the domain %j',
  (domain) => {
    expect(() => load({ MILLRACE_MARKETPLACE_DOMAIN: domain })).toThrow(/MILLRACE_MARKETPLACE_DOMAIN/);
  },
);

test.each([
  ['127.0.0.1:2019', { host: '127.0.0.1', port: 2019 }],
  ['[::1]:2019', { host: '::1', port: 2019 }],
  ['unix//run/caddy/admin.sock', { socketPath: '/run/caddy/admin.sock' }],
  ['unix//run/caddy/admin.sock|0660', { socketPath: '/run/caddy/admin.sock' }],
])('caddyAddress parses %s', (text, address) => {
  expect(caddyAddress(text)).toEqual(address);
});

test.each([
  ':2019',
  '0.0.0.0:2019',
  '10.0.0.1:2019',
  'caddy.internal:2019',
  'unix/relative.sock',
  '127.0.0.1',
])('caddyConfig rejects the admin address %s because it is not local or not complete', (admin) => {
  expect(() => load({ MILLRACE_CADDY_ADMIN: admin })).toThrow(/MILLRACE_CADDY_ADMIN/);
});

test('caddyConfig requires a certificate and a key', () => {
  const env = { MILLRACE_CADDY_ADMIN: '127.0.0.1:2019', MILLRACE_CADDY_KEY_FILE: '/k.pem' };
  expect(() => load(env)).toThrow(/MILLRACE_CADDY_CERTIFICATE_FILE/);
  expect(load({ ...env, MILLRACE_CADDY_CERTIFICATE_FILE: '/c.pem' }).caddy.certificateFile).toBe('/c.pem');
});
