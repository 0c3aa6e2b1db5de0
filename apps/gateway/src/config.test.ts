import { ConfigError } from '@millrace/platform/config';
import { describe, expect, test } from 'vitest';
import { loadGatewayConfig } from './config.ts';

const needed = {
  MILLRACE_POT_VALKEY_URL: 'redis://127.0.0.1:6379',
  MILLRACE_NATS_URLS: 'nats://127.0.0.1:4222',
};

const originsOf = (text: string): readonly string[] =>
  loadGatewayConfig({ ...needed, MILLRACE_CONSOLE_ORIGINS: text }).gateway.consoleOrigins;

describe('whose pages may call a gateway', () => {
  test('nobody, unless it is said', () => {
    expect(loadGatewayConfig(needed).gateway.consoleOrigins).toEqual([]);
  });

  test('those named, as browsers name them', () => {
    expect(originsOf('https://console.example.com, http://127.0.0.1:8080')).toEqual([
      'https://console.example.com',
      'http://127.0.0.1:8080',
    ]);
  });

  // Each of these would never equal what a browser sends, or mean more than one thinks.
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
  ])('%s is refused', (text) => {
    expect(() => originsOf(text)).toThrow(ConfigError);
  });
});
