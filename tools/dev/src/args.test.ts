import { describe, expect, it } from 'vitest';
import { readArgs } from './args.ts';

describe('readArgs', () => {
  it('defaults to loopback without a port, and accepts --port, --once and --no-console', () => {
    expect(readArgs([], false)).toEqual({
      host: '127.0.0.1',
      port: undefined,
      llama: undefined,
      logs: false,
      once: false,
      watch: false,
      console: true,
      key: undefined,
      url: undefined,
      help: false,
    });
    expect(readArgs(['--port', '9000', '--once', '--no-console'], false)).toMatchObject({
      port: 9000,
      once: true,
      console: false,
    });
  });

  it('starts a llama-server if it is installed, unless --no-llama is given', () => {
    expect(readArgs(['--llama'], false).llama).toBe(true);
    expect(readArgs(['--no-llama'], false).llama).toBe(false);
  });

  it.each(['0.0.0.0', '::', '192.0.2.1', 'example.com'])('refuses to listen on %s without TLS', (host) => {
    expect(() => readArgs(['--host', host], false)).toThrow('unencrypted');
  });

  it('accepts a host beyond loopback if TLS is configured', () => {
    expect(readArgs(['--host', '0.0.0.0'], true).host).toBe('0.0.0.0');
  });

  it('accepts --key live and test only', () => {
    expect(readArgs(['--key', 'test'], false).key).toBe('test');
    expect(() => readArgs(['--key', 'both'], false)).toThrow('use live or test');
  });

  it('accepts --url api and inference only', () => {
    expect(readArgs(['--url', 'inference'], false).url).toBe('inference');
    expect(() => readArgs(['--url', 'worker'], false)).toThrow('use api or inference');
  });

  it.each([[['--port', 'x']], [['--port', '0']], [['--port', '64536']], [['--fast']]])(
    'refuses %s with a message',
    (words) => {
      expect(() => readArgs(words, false)).toThrow(/port|fast/);
    },
  );
});
