import ssh2 from 'ssh2';

export interface SshKeyPair {
  /** OpenSSH format without a passphrase. */
  readonly private: string;
  readonly public: string;
}

/** Retries, because ssh2 drops a leading zero byte in one of 256 keys, which nothing can parse. */
export function newSshKeyPair(comment: string): SshKeyPair {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment });
    const halves = [pair.private, pair.public].map((half) => ssh2.utils.parseKey(half));
    if (halves.every((half) => !(half instanceof Error))) {
      return { private: pair.private, public: pair.public.trim() };
    }
  }
}
