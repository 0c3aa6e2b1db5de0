import { ConfigError } from '@millrace/platform/config';
import { describe, expect, test } from 'vitest';
import { loadGatewayConfig } from './config.ts';

const needed = {
  MILLRACE_POT_VALKEY_URL: 'redis://127.0.0.1:6379',
  MILLRACE_NATS_URLS: 'nats://127.0.0.1:4222',
  MILLRACE_KEY_FEED_KEYS: `feed:${Buffer.alloc(32, 8).toString('base64')}`,
};

const originsOf = (text: string): readonly string[] =>
  loadGatewayConfig({ ...needed, MILLRACE_CONSOLE_ORIGINS: text }).gateway.consoleOrigins;

describe('gateway console origins', () => {
  test('are empty by default', () => {
    expect(loadGatewayConfig(needed).gateway.consoleOrigins).toEqual([]);
  });

  test('are accepted as browsers send them', () => {
    expect(originsOf('https://console.example.com, http://127.0.0.1:8080')).toEqual([
      'https://console.example.com',
      'http://127.0.0.1:8080',
    ]);
  });

  // None of these could equal an Origin header, or they would allow more than intended.
  test.each([
    '*',
    'null',
    'console.example.com',
    'https://console.example.com/',
    'https://console.example.com/console',
    'https://console.example.com:443',
    'https://Console.example.com',
    'https://me:secret@console.example.com',
    'ftp://console.example.com',
  ])('refuse %s', (text) => {
    expect(() => originsOf(text)).toThrow(ConfigError);
  });
});
