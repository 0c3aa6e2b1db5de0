import { describe, expect, it } from 'vitest';
import { ConfigError, keyFeedConfig, loadConfig, natsConfig, type Environment } from './index.ts';

const seed = `SU${'A'.repeat(56)}`;

function report(env: Environment): string {
  try {
    loadConfig([natsConfig], env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('natsConfig', () => {
  it.each([
    ['nats://127.0.0.1:4222', {}],
    ['nats://[::1]:4222,nats://localhost:4223', {}],
    ['tls://nats.example.com:4222', {}],
    ['nats://nats.example.com:4222', { MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true' }],
    ['nats://u:p@127.0.0.1:4222, nats://u:p@127.0.0.1:4223', {}],
    ['tls://nats.example.com', { MILLRACE_NATS_CREDENTIALS: ` ${seed}\n` }],
  ])('accepts %s with %j', (urls, more) => {
    expect(report({ MILLRACE_NATS_URLS: urls, ...more })).toBe('accepted');
  });

  it.each([
    ['nats://nats.example.com:4222', /MILLRACE_NATS_URLS names another machine without TLS/],
    ['nats://127.0.0.1:4222,nats://10.0.0.1:4222', /names another machine without TLS/],
    ['tls://10.0.0.1:4222,nats://127.0.0.1:4222', /mixes tls:\/\/ and nats:\/\//],
    ['tls://u:hunter2@10.0.0.1,tls://u:hunter3@10.0.0.2', /different users or passwords/],
    ['tls://u:hunter2@10.0.0.1,tls://10.0.0.2', /different users or passwords/],
  ])('refuses %s without printing a password', (urls, problem) => {
    const text = report({ MILLRACE_NATS_URLS: urls });
    expect(text).toMatch(problem);
    expect(text).not.toContain('hunter');
  });

  it('refuses a user in the address beside credentials', () => {
    const both = { MILLRACE_NATS_URLS: 'tls://u:hunter2@10.0.0.1', MILLRACE_NATS_CREDENTIALS: seed };
    expect(report(both)).toMatch(/contains a user, but MILLRACE_NATS_CREDENTIALS is also set/);
  });

  it.each(['hunter2', `${seed}A`, 'SUshort', 'UABC'])(
    'refuses %s as credentials without printing it',
    (text) => {
      const wrong = report({ MILLRACE_NATS_URLS: 'tls://10.0.0.1', MILLRACE_NATS_CREDENTIALS: text });
      expect(wrong).toMatch(/MILLRACE_NATS_CREDENTIALS is set but wrong; expected the seed of an nkey/);
      expect(wrong.replaceAll('SU…', '')).not.toContain(text);
    },
  );
});

it('keyFeedConfig reads several keys in their order and refuses an id twice', () => {
  const key = Buffer.alloc(32, 1).toString('base64');
  const read = (text: string) =>
    loadConfig([keyFeedConfig], { MILLRACE_KEY_FEED_KEYS: text }).keyFeed.sealingKeys.map(({ id }) => id);
  expect(read(`new:${key}, old:${key}`)).toEqual(['new', 'old']);
  expect(() => read(`same:${key},same:${key}`)).toThrow(/MILLRACE_KEY_FEED_KEYS names the same id twice/);
});
