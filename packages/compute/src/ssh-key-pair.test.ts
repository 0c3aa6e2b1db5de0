import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { newSshKeyPair } from './ssh-key-pair.ts';

it('newSshKeyPair returns key pairs that can be parsed and belong together', () => {
  for (let made = 0; made < 1_000; made += 1) {
    const pair = newSshKeyPair('test');
    const [secret, open] = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
    if (secret instanceof Error || open instanceof Error) return expect.fail('The key cannot be parsed.');
    expect(secret.getPublicSSH().equals(open.getPublicSSH())).toBe(true);
  }
});
