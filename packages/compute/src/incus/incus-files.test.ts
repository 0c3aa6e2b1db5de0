import fc from 'fast-check';
import { expect, it } from 'vitest';
import { accountIn } from './incus-files.ts';

const passwd = [
  'root:x:0:0:root:/root:/bin/sh',
  'broken',
  'ubuntu:x:1000:1000:Ubuntu,,,:/home/ubuntu/:/bin/bash',
  '',
].join('\n');

it('accountIn finds the account of a user by name', () => {
  expect(accountIn(passwd, 'ubuntu')).toEqual({ uid: 1_000, gid: 1_000, home: '/home/ubuntu' });
  expect(accountIn(passwd, 'nobody')).toBeNull();
});

it('accountIn ignores invalid lines that a tenant wrote', () => {
  for (const line of [
    'u:x:a:b::/home/u:',
    'u:x:-1:0::/home/u:',
    'u:x:5000000000:0::/h:',
    'u:x:1:1::home:',
    'u',
  ]) {
    expect(accountIn(line, 'u'), line).toBeNull();
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const account = accountIn(text, 'u');
      if (account !== null) expect(account.home.startsWith('/') || account.home === '').toBe(true);
    }),
  );
});
