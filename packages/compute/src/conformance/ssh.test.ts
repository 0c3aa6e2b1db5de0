import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { newKeyPair } from './ssh.ts';

it('newKeyPair returns only keys that ssh2 can parse', () => {
  for (let made = 0; made < 500; made += 1) {
    const pair = newKeyPair();
    for (const half of [pair.private, pair.public])
      expect(ssh2.utils.parseKey(half)).not.toBeInstanceOf(Error);
  }
});
