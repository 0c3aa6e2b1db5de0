import { describe, expect, it } from 'vitest';
import { fingerprintOf, knownHostName, knownHostsLine, sshArguments } from './pinned-host.ts';

// A key and its fingerprint from ssh-keygen.
const key = 'AAAAC3NzaC1lZDI1NTE5AAAAIHXkHNLBwc42bdJCKfqhgXX7LzFcUitet9crBu0b+iDO';
const fingerprint = 'SHA256:fj5xcWkjtacHZsvWw6B8j0JMwWWaI8iOmGpimrWfHcs';
const other = 'AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
const target = { host: '10.0.0.7', port: 30_022, user: 'ubuntu' };

describe('knownHostsLine', () => {
  it('has the fingerprint of ssh-keygen', () => {
    expect(fingerprintOf(key)).toBe(fingerprint);
  });

  it('contains the scanned key only if its fingerprint matches', () => {
    const scanned = `# 10.0.0.7:30022 SSH-2.0-OpenSSH\n[10.0.0.7]:30022 ssh-rsa ${other}\n[10.0.0.7]:30022 ssh-ed25519 ${key}\n`;
    expect(knownHostsLine(scanned, target, fingerprint)).toBe(`[10.0.0.7]:30022 ssh-ed25519 ${key}`);
    expect(knownHostsLine(`10.0.0.7 ssh-ed25519 ${other}\n`, target, fingerprint)).toBeNull();
    expect(knownHostsLine('', target, fingerprint)).toBeNull();
  });

  it('contains the expected host, whatever name the scan has', () => {
    expect(knownHostsLine(`*,!x ssh-ed25519 ${key}`, target, fingerprint)).toBe(
      `[10.0.0.7]:30022 ssh-ed25519 ${key}`,
    );
    expect(knownHostName({ host: 'a.example.com', port: 22 })).toBe('a.example.com');
  });
});

describe('sshArguments', () => {
  it('accept only the pinned key', () => {
    const args = sshArguments({
      target,
      knownHostsFile: '/tmp/pin',
      identityFile: undefined,
      forwards: ['8888:localhost:8888'],
      command: ['nvidia-smi', '-L'],
    });
    expect(args).toContain('StrictHostKeyChecking=yes');
    expect(args).toContain('UserKnownHostsFile="/tmp/pin"');
    expect(args.slice(-6)).toEqual([
      '-L',
      '8888:localhost:8888',
      '--',
      'ubuntu@10.0.0.7',
      'nvidia-smi',
      '-L',
    ]);
  });

  it('do not treat a host as a flag', () => {
    const hostile = { host: '-oProxyCommand=x', port: 22, user: '' };
    const args = sshArguments({
      target: hostile,
      knownHostsFile: null,
      identityFile: '/home/me/key',
      forwards: [],
      command: [],
    });
    expect(args.slice(0, -1)).toEqual(['-p', '22', '-i', '/home/me/key', '-o', 'IdentitiesOnly=yes', '--']);
  });
});
