import { describe, expect, it } from 'vitest';
import { fakeApi, HOME, runCli, type RunOptions } from '../fixture.ts';

const key = 'AAAAC3NzaC1lZDI1NTE5AAAAIHXkHNLBwc42bdJCKfqhgXX7LzFcUitet9crBu0b+iDO';
const hostKeyFingerprint = 'SHA256:fj5xcWkjtacHZsvWw6B8j0JMwWWaI8iOmGpimrWfHcs';
const endpoint = { host: '10.0.0.7', port: 30_022, user: 'ubuntu', command: '', hostKeyFingerprint };

function login(options: RunOptions, ssh: readonly unknown[] = [endpoint], args: readonly string[] = []) {
  const rental = {
    id: 7,
    name: 'train',
    status: 'Running',
    power: 'on',
    gpuHeld: true,
    statusReason: null,
    ssh,
  };
  const { fetch } = fakeApi({ 'GET /v2/on-demand/rentals/7': rental });
  return runCli(['ssh', '7', ...args], { fetch, ...options });
}

const shown = (line: string) => () =>
  Promise.resolve({ code: 0, stdout: `[10.0.0.7]:30022 ${line}\n`, stderr: '' });

describe('millrace ssh', () => {
  it('accepts only the host key that the platform saw, and deletes its temporary file', async () => {
    let pinned: string | undefined;
    const result = await login({
      capture: shown(`ssh-ed25519 ${key}`),
      spawn: (_program, args) => {
        pinned = args.find((each) => each.startsWith('UserKnownHostsFile='));
        return Promise.resolve(0);
      },
    });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.spawned[0]?.args).toContain('StrictHostKeyChecking=yes');
    expect(pinned).toContain(`${HOME}/.config/millrace/known-hosts/`);
    const [path] = Object.keys(result.modes);
    expect(result.modes[path ?? '']).toBe(0o600);
    expect(result.files).toEqual({});
  });

  it('does not log in if the host key differs', async () => {
    const other = key.replace('HXk', 'HXl');
    const result = await login({ capture: shown(`ssh-ed25519 ${other}`) });
    expect(result).toMatchObject({ code: 1, spawned: [] });
    expect(result.stderr).toContain('This is not the machine that you rented.');
  });

  it('exits with the code of the remote command', async () => {
    const run = (code: number) =>
      login({ capture: shown(`ssh-ed25519 ${key}`), spawn: () => Promise.resolve(code) }, undefined, [
        '--',
        'make',
        'test',
      ]);
    const failed = await run(42);
    expect(failed).toMatchObject({ code: 42, stderr: '' });
    expect(failed.spawned[0]?.args.slice(-2)).toEqual(['make', 'test']);
  });

  it('says what is missing without ssh, and if the machine does not respond', async () => {
    const absent = () => Promise.reject(Object.assign(new Error('spawn ENOENT'), { code: 'ENOENT' }));
    expect((await login({ capture: absent })).stderr).toContain('ssh-keyscan is not installed here.');
    const silent = () => Promise.resolve({ code: 1, stdout: '', stderr: '' });
    expect((await login({ capture: silent })).stderr).toContain('The machine does not respond.');
  });

  it('leaves the decision to the user if the host key is unknown', async () => {
    const result = await login({}, [{ ...endpoint, hostKeyFingerprint: null }]);
    expect(result).toMatchObject({ code: 0 });
    expect(result.stderr).toContain('ssh asks you');
    expect(result.spawned[0]?.args).not.toContain('StrictHostKeyChecking=yes');
  });

  it('chooses one of several nodes', async () => {
    const second = { ...endpoint, host: '10.0.0.8', hostKeyFingerprint: null };
    const result = await login({}, [endpoint, second], ['--node', '2']);
    expect(result.spawned[0]?.args).toContain('ubuntu@10.0.0.8');
    expect(await login({}, [endpoint], ['--node', '3'])).toMatchObject({ code: 3 });
  });
});
