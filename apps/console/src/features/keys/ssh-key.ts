/** Checks a pasted SSH key before it is sent, because a private key must not leave the page. */

export interface PastedKey {
  readonly kind: 'empty' | 'public' | 'private' | 'other';
  readonly algorithm: string | null;
  readonly comment: string | null;
  readonly problem: string | null;
}

const openSsh =
  /^(?<algorithm>(?:sk-)?(?:ssh|ecdsa)-[\w@.-]+)\s+(?<body>[A-Za-z0-9+/]+={0,3})(?:\s+(?<comment>\S.*))?$/;
const otherPublicForms = /^-{4,5}\s?BEGIN (?:RSA |SSH2 )?PUBLIC KEY|^PuTTY-User-Key-File/m;

const nothing = { algorithm: null, comment: null } as const;

export function inspectPastedKey(text: string): PastedKey {
  const trimmed = text.trim();
  if (trimmed === '') return { kind: 'empty', ...nothing, problem: null };
  if (/PRIVATE KEY-{4,5}/.test(trimmed) || /^Private-Lines:/m.test(trimmed)) {
    return {
      kind: 'private',
      ...nothing,
      problem:
        'This is a private key. It was not sent. Paste the public key instead: the file that ends in .pub.',
    };
  }
  const lines = trimmed.split(/\r?\n/).filter((line) => line.trim() !== '');
  const match = openSsh.exec(lines[0]?.trim() ?? '');
  if (match?.groups !== undefined && lines.length > 1) {
    return { kind: 'other', ...nothing, problem: 'This is more than one line. Add one key at a time.' };
  }
  if (match?.groups !== undefined) {
    const { algorithm = null, comment } = match.groups;
    return { kind: 'public', algorithm, comment: comment?.trim() ?? null, problem: null };
  }
  if (otherPublicForms.test(trimmed)) {
    const comment = /^Comment:\s*"?([^"\r\n]+)"?/m.exec(trimmed)?.[1] ?? null;
    return { kind: 'public', algorithm: null, comment, problem: null };
  }
  return {
    kind: 'other',
    ...nothing,
    problem:
      'This is not an SSH public key. A public key is one line that starts with ssh-ed25519, ssh-rsa or ecdsa-.',
  };
}

const nameMax = 100;

/** Suggests the comment as name: it usually contains the computer's name. */
export function suggestedName({ comment, algorithm }: PastedKey): string {
  return (comment ?? (algorithm === null ? 'My key' : `My ${algorithm.replace(/^ssh-/, '')} key`)).slice(
    0,
    nameMax,
  );
}
