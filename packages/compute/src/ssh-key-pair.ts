import ssh2 from 'ssh2';

export interface SshKeyPair {
  /** OpenSSH's own form, without a passphrase. */
  readonly private: string;
  /** A line of `authorized_keys`. */
  readonly public: string;
}

/** A key that everybody can read: of 256 that ssh2 makes, one begins with a zero, which it drops. */
export function newSshKeyPair(comment: string): SshKeyPair {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment });
    const halves = [pair.private, pair.public].map((half) => ssh2.utils.parseKey(half));
    if (halves.every((half) => !(half instanceof Error))) {
      return { private: pair.private, public: pair.public.trim() };
    }
  }
}
