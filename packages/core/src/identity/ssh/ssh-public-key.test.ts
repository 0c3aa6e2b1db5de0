import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { workGrowth } from '@millrace/testing/work-growth';
import { describe, expect, it } from 'vitest';
import { readSshPublicKey, type SshPublicKey } from './ssh-public-key.ts';

/** Made with ssh-keygen; the fingerprint is the output of `ssh-keygen -l`. */
const ED25519 = {
  line: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIF3mTj3gmXS2i/uaqOB3Iq2q2GXvWBAnTKbPpp0wdCl3 ada@example.com',
  fingerprint: 'SHA256:fvfplQhTYJFq7blEpOTuNcCVFvHCqV8zmUV2W4LpIDI',
};
const RSA_1024 =
  'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC1E85aFtDwNCgRB14v5ptQCy/nRoUbKRIZCTK/i15q8ut45pZBW+ZxgVjXaVw9UhH5xCmnRSYYSewcDyku7NBvZgqf5lbtCkifNKZ0IPhrheXf+9nXOFiTK4sp+z0AcP7YfL2fnPjMIPrNfkreSnc0qFjPZlwrsX84BXrou2CzHQ== old@example.com';
const DSA =
  'ssh-dss AAAAB3NzaC1kc3MAAACBAOH9KNXIps6ilSAFOs48D2WhoHOPQb9bzSXpjQynxWtntjkPS4u62q/EN5jnVVImgbT60cC5Z2Rp7ZH+VAay+eSfI8k1M76rXLVTnbjbvjbJ4zaQP5E419uIEdxn/5PXbbCAfkw2/Rzslu2TdJEGjvjGPQdz3yJFmzSSAnLXEN2bAAAAFQC2/mA1QTKEV4URPd35ZiqM6gygPwAAAIEAn3CxWWTx9WZRPp3Uw2FxuetPeJ0VNLJ1XpTJY6RxU1TuTrvXJmGEOPHdZwwu3XLCOOKtmaU77USdHJuRKmbDEhncsHVf186hygNZqMgq/A3prOZtp3vXemOMrLNAVac4VoBUs+Wt5vmQQ7B/Xaqm3/Q3vw3/a26xlYsAfpRZ+8UAAACBAN1l7oZVChxqXiwTXY74OSf9IWaAz8sQTw2ZZaoPodOBEliU9y7VlYNPe6X1XYmaFMxP03zu+xc8sJTLjNsiQ0Yuyxw7/7jkFcc1Mi01kuRkzYWcgLdGkmW4mlTUNAemGZlfZnD12/HC1JlqzC3Y1AJnkZqiNCrAzy1gezndo1Nz older@example.com';

const base64Of = (line: string) => line.split(' ')[1] ?? '';
const blobOf = (line: string) => Buffer.from(base64Of(line), 'base64');
const edBlob = blobOf(ED25519.line);

function read(text: string): SshPublicKey {
  const reading = readSshPublicKey(text);
  if (!reading.ok) throw new Error(`${reading.error.code}: ${reading.error.why}`);
  return reading.key;
}

function readError(text: string) {
  const reading = readSshPublicKey(text);
  if (reading.ok) throw new Error(`Accepted as ${reading.key.publicKey}`);
  return reading.error;
}

function wrap(base64: string, width = 64): string[] {
  return base64.match(new RegExp(`.{1,${String(width)}}`, 'g')) ?? [];
}

function putty(version: number, line: string, privatePart: readonly string[] = []): string {
  const body = wrap(base64Of(line));
  return [
    `PuTTY-User-Key-File-${String(version)}: ${line.split(' ')[0] ?? ''}`,
    'Encryption: none',
    'Comment: laptop',
    `Public-Lines: ${String(body.length)}`,
    ...body,
    ...privatePart,
  ].join('\r\n');
}

function rfc4716(line: string): string {
  return [
    '---- BEGIN SSH2 PUBLIC KEY ----',
    'Comment: "a comment that goes on \\',
    'over the end of its line"',
    'Subject: ada',
    ...wrap(base64Of(line), 70),
    '---- END SSH2 PUBLIC KEY ----',
  ].join('\n');
}

function wire(...fields: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(
    fields.flatMap((part) => {
      const bytes = Buffer.from(part);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}

const line = (algorithm: string, blob: Buffer) => `${algorithm} ${blob.toString('base64')}`;
const pem = (key: KeyObject, type: 'spki' | 'pkcs1') => String(key.export({ type, format: 'pem' }));

describe('readSshPublicKey of equivalent formats', () => {
  it('returns the same line and the fingerprint that ssh-keygen prints', () => {
    const forms = [
      ED25519.line,
      `\uFEFF  ${ED25519.line}\r\n\r\n`,
      ED25519.line.replace(' ada', '\tada with several words'),
      putty(2, ED25519.line),
      putty(3, ED25519.line),
      rfc4716(ED25519.line),
      rfc4716(ED25519.line).replaceAll('\n', '\r\n'),
    ];
    for (const form of forms) {
      expect(read(form)).toEqual({
        algorithm: 'ssh-ed25519',
        bits: 256,
        publicKey: `ssh-ed25519 ${base64Of(ED25519.line)}`,
        fingerprint: ED25519.fingerprint,
      });
    }
  });

  it.each([
    ['rsa', () => generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey, 'ssh-rsa', 2048],
    ['ed25519', () => generateKeyPairSync('ed25519').publicKey, 'ssh-ed25519', 256],
    ['P-256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, 'ecdsa-sha2-nistp256', 256],
    ['P-384', () => generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, 'ecdsa-sha2-nistp384', 384],
    ['P-521', () => generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey, 'ecdsa-sha2-nistp521', 521],
  ])('reads %s from PEM and again from the resulting line', (_name, make, algorithm, bits) => {
    const key = make();
    const fromPem = read(pem(key, 'spki'));
    expect(fromPem).toMatchObject({ algorithm, bits });
    for (const form of [fromPem.publicKey, rfc4716(fromPem.publicKey), putty(3, fromPem.publicKey)]) {
      expect(read(form)).toEqual(fromPem);
    }
    if (algorithm === 'ssh-rsa') expect(read(pem(key, 'pkcs1'))).toEqual(fromPem);
  });

  it('reads hardware keys', () => {
    const ed = wire('sk-ssh-ed25519@openssh.com', edBlob.subarray(-32), 'ssh:');
    expect(read(line('sk-ssh-ed25519@openssh.com', ed)).bits).toBe(256);
    const point = Buffer.alloc(65, 7).fill(4, 0, 1);
    const ec = wire('sk-ecdsa-sha2-nistp256@openssh.com', 'nistp256', point, 'ssh:work');
    expect(read(line('sk-ecdsa-sha2-nistp256@openssh.com', ec)).algorithm).toBe(
      'sk-ecdsa-sha2-nistp256@openssh.com',
    );
    const cut = wire('sk-ssh-ed25519@openssh.com', edBlob.subarray(-31), 'ssh:');
    expect(readError(line('sk-ssh-ed25519@openssh.com', cut)).code).toBe('damaged');
    const evil = wire('sk-ssh-ed25519@openssh.com', edBlob.subarray(-32), 'https://elsewhere.example');
    expect(readError(line('sk-ssh-ed25519@openssh.com', evil)).code).toBe('damaged');
  });
});

describe('readSshPublicKey of a private key', () => {
  const secretMark = 'c2VjcmV0LXNlY3JldC1zZWNyZXQ';
  it.each([
    ['OpenSSH', `-----BEGIN OPENSSH PRIVATE KEY-----\n${secretMark}\n-----END OPENSSH PRIVATE KEY-----`],
    ['PKCS#8', `-----BEGIN PRIVATE KEY-----\n${secretMark}\n-----END PRIVATE KEY-----`],
    ['PKCS#1', `-----BEGIN RSA PRIVATE KEY-----\n${secretMark}\n-----END RSA PRIVATE KEY-----`],
    [
      'encrypted',
      `-----BEGIN ENCRYPTED PRIVATE KEY-----\n${secretMark}\n-----END ENCRYPTED PRIVATE KEY-----`,
    ],
    [
      'ssh.com',
      `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${secretMark}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----`,
    ],
    ['without its frame', `b3BlbnNzaC1rZXktdjEAAAAABG5vbmU${secretMark}`],
    ['after its public half', `${ED25519.line}\n-----BEGIN OPENSSH PRIVATE KEY-----\n${secretMark}`],
    ['PuTTY 2', putty(2, ED25519.line, ['Private-Lines: 1', secretMark, 'Private-MAC: 00'])],
    [
      'PuTTY 3',
      putty(3, ED25519.line, ['Key-Derivation: Argon2id', 'Private-Lines: 1', secretMark, 'Private-MAC: 0']),
    ],
    ['PuTTY, torn', putty(3, 'ssh-ed25519 AAAA', ['Private-Lines: 1', secretMark])],
  ])('rejects it with a warning that quotes none of it: %s', (_name, text) => {
    const error = readError(text);
    expect(error.code).toBe('private_key');
    expect(error.why).toContain('PRIVATE key');
    expect(JSON.stringify(error)).not.toContain(secretMark);
  });

  it('returns the public half if the file contains it', () => {
    const error = readError(putty(3, ED25519.line, ['Private-Lines: 1', secretMark, 'Private-MAC: 0']));
    expect(error.suggestion).toContain(`ssh-ed25519 ${base64Of(ED25519.line)}`);
  });
});

describe('readSshPublicKey of an unsafe text', () => {
  const other = `ssh-ed25519 ${wire('ssh-ed25519', Buffer.alloc(32, 9)).toString('base64')}`;
  const smallExponent = wire('ssh-rsa', Buffer.from([1]), Buffer.alloc(257, 0xff).fill(0, 0, 1));
  it.each([
    ['empty text', ' \n\t', 'empty'],
    ['prose', 'my key is on the other laptop', 'unrecognised'],
    ['RSA of 1024 bits', RSA_1024, 'weak'],
    ['DSA', DSA, 'weak'],
    ['RSA with exponent 1', line('ssh-rsa', smallExponent), 'damaged'],
    ['a command before the key', `command="rm -rf /" ${ED25519.line}`, 'options'],
    ['options before the key', `no-pty,from="10.0.0.0/8" ${ED25519.line}`, 'options'],
    ['two keys', `${ED25519.line}\n${other}`, 'several_keys'],
    ['two RFC 4716 keys', `${rfc4716(ED25519.line)}\n${rfc4716(other)}`, 'several_keys'],
    ['a second line by carriage return', `${ED25519.line}\r${other}`, 'several_keys'],
    ['a zero byte', `${ED25519.line}\0${other}`, 'damaged'],
    ['another algorithm outside than inside', ED25519.line.replace('ssh-ed25519', 'ssh-rsa'), 'damaged'],
    ['cut base64', ED25519.line.slice(0, 60), 'damaged'],
    ['no base64 at all', 'ssh-ed25519', 'damaged'],
    [
      'bytes after the key',
      line('ssh-ed25519', Buffer.concat([edBlob, Buffer.from([0, 0, 0, 0])])),
      'damaged',
    ],
    [
      'a point off its curve',
      line('ecdsa-sha2-nistp256', wire('ecdsa-sha2-nistp256', 'nistp256', Buffer.alloc(65, 4))),
      'damaged',
    ],
    [
      'a certificate',
      line('ssh-ed25519-cert-v01@openssh.com', wire('ssh-ed25519-cert-v01@openssh.com', 'x')),
      'certificate',
    ],
    ['an unknown kind', line('ssh-ed448', wire('ssh-ed448', Buffer.alloc(57))), 'unsupported'],
    ['an X.509 certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', 'unsupported'],
    ['PEM that is not a key', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', 'damaged'],
    ['PEM without its end', '-----BEGIN PUBLIC KEY-----\nAAAA', 'damaged'],
    [
      'a key for agreement, not signing',
      pem(createPublicKey(generateKeyPairSync('x25519').privateKey), 'spki'),
      'unsupported',
    ],
    ['a PuTTY file of another version', putty(1, ED25519.line), 'unsupported'],
    ['a PuTTY file cut short', putty(3, ED25519.line).slice(0, 120), 'damaged'],
    ['a very long text', `ssh-rsa ${'A'.repeat(20_000)}`, 'too_long'],
  ])('rejects %s with the reason', (_name, text, code) => {
    expect(readError(text).code).toBe(code);
  });

  it('never throws and never accepts a second line or an option, for any input', () => {
    const piece = fc.constantFrom(
      ...[
        ED25519.line,
        base64Of(ED25519.line),
        'ssh-rsa',
        'ssh-ed25519',
        ' ',
        '\n',
        '\r',
        '\t',
        'command="x"',
        ',',
      ],
      ...[
        '-----BEGIN PUBLIC KEY-----',
        '-----END PUBLIC KEY-----',
        'PuTTY-User-Key-File-3: ssh-ed25519',
        'Public-Lines: 2',
      ],
      ...[
        '---- BEGIN SSH2 PUBLIC KEY ----',
        '---- END SSH2 PUBLIC KEY ----',
        'Comment: \\',
        'AAAA',
        '\0',
        'é',
      ],
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 12 }), (pieces) => {
        const reading = readSshPublicKey(pieces.join(''));
        if (reading.ok) expect(reading.key.publicKey).toMatch(/^[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2}$/);
        else expect(reading.error.why.length).toBeGreaterThan(10);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('readSshPublicKey', () => {
  it('takes time in proportion to the length of the text', () => {
    for (const piece of ['\n', ' ', 'BEGIN', 'BEGIN ', '=', 'ssh-', '\n '] as const) {
      const growth = workGrowth(
        (length) => {
          const text = piece.repeat(length).slice(0, length);
          return () => readSshPublicKey(`${text}x`);
        },
        { length: 500, factor: 16 },
      );
      expect(growth, JSON.stringify(piece)).toBeLessThan(64);
    }
  });
});
