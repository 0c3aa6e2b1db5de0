import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { newKeyPair } from './ssh.ts';

it('a key of a test can be read, also the one in 256 that ssh2 writes wrong', () => {
  for (let made = 0; made < 500; made += 1) {
    const pair = newKeyPair();
    for (const half of [pair.private, pair.public])
      expect(ssh2.utils.parseKey(half)).not.toBeInstanceOf(Error);
  }
});
