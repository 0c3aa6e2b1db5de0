import { describe, expect, it } from 'vitest';
import { suggestedName, inspectPastedKey } from './ssh-key.ts';

const body = 'AAAAC3NzaC1lZDI1NTE5AAAAIBQ0Zk7H0f1b5gYx2rJm3p1q0c7n8s9t0u1v2w3x4y5z';

describe('inspectPastedKey', () => {
  it('reads type and comment of an OpenSSH key, and suggests the comment as name', () => {
    const pasted = inspectPastedKey(`  ssh-ed25519 ${body} ada@laptop home \n`);
    expect(pasted).toEqual({
      kind: 'public',
      algorithm: 'ssh-ed25519',
      comment: 'ada@laptop home',
      problem: null,
    });
    expect(suggestedName(pasted)).toBe('ada@laptop home');
  });

  it.each([
    'ssh-rsa',
    'ecdsa-sha2-nistp256',
    'sk-ssh-ed25519@openssh.com',
    'sk-ecdsa-sha2-nistp256@openssh.com',
  ])('accepts type %s', (type) => {
    expect(inspectPastedKey(`${type} ${body}`)).toMatchObject({
      kind: 'public',
      algorithm: type,
      comment: null,
    });
  });

  it('suggests a name for a key without comment', () => {
    expect(suggestedName(inspectPastedKey(`ssh-ed25519 ${body}`))).toBe('My ed25519 key');
  });

  it('accepts other formats that the service reads', () => {
    expect(
      inspectPastedKey('---- BEGIN SSH2 PUBLIC KEY ----\nComment: "work"\nAAAA\n---- END'),
    ).toMatchObject({
      kind: 'public',
      comment: 'work',
    });
    expect(inspectPastedKey('-----BEGIN PUBLIC KEY-----\nMIIB').kind).toBe('public');
  });

  it.each([
    '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\n-----END OPENSSH PRIVATE KEY-----',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE',
    '-----BEGIN ENCRYPTED PRIVATE KEY-----',
    'PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 2\nPrivate-Lines: 1\nAAAA',
  ])('rejects private key format %#', (text) => {
    expect(inspectPastedKey(text)).toMatchObject({
      kind: 'private',
      problem: expect.stringContaining('private key'),
    });
  });

  it('explains why other text is rejected', () => {
    expect(inspectPastedKey('hello').problem).toContain('not an SSH public key');
    expect(inspectPastedKey(`ssh-ed25519 ${body} a\nssh-ed25519 ${body} b`).problem).toContain(
      'one key at a time',
    );
  });

  it('accepts empty input', () => {
    expect(inspectPastedKey(' \n')).toMatchObject({ kind: 'empty', problem: null });
  });
});
