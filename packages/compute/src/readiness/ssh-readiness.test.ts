import { getEventListeners } from 'node:events';
import { freePort } from '@millrace/testing';
import ssh2, { type Algorithms } from 'ssh2';
import { afterEach, describe, expect, it } from 'vitest';
import {
  isKeyRejected,
  loginAndCountGpus,
  newReadinessKey,
  replaceKeysOverSsh,
  type SshTarget,
} from './index.ts';
import {
  newHostKey,
  writeEndlessly,
  serveSshd,
  serveTcp,
  shellOf,
  type SshBehaviour,
  type TestServer,
} from './servers.fixture.ts';

const { privateKey, publicKey } = newReadinessKey();
/** Long enough for a busy machine. */
const patientMs = 60_000;
const patient = (): AbortSignal => AbortSignal.timeout(patientMs);

let open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  const left = open;
  open = [];
  for (const one of left.toReversed()) await one.close();
});

async function track<T extends { close(): Promise<unknown> }>(one: Promise<T>): Promise<T> {
  const opened = await one;
  open.push(opened);
  return opened;
}

function targetAt({ host, port }: { host: string; port: number }, hostKey: string | null = null): SshTarget {
  return { host, port, user: 'ubuntu', privateKey, hostKey };
}

/** Runs the check and asserts that no listener or connection remains. */
async function lookAt(server: TestServer, target = targetAt(server), timeoutMs = patientMs) {
  const signal = AbortSignal.timeout(timeoutMs);
  const look = await loginAndCountGpus(target, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await expect.poll(() => server.open).toBe(0);
  return look;
}

const serving = (behaviour: SshBehaviour): Promise<TestServer> => track(serveSshd(behaviour));
const listing = (stdout: string): SshBehaviour => ({ run: shellOf({ 'nvidia-smi -L': [0, stdout] }) });

describe('readiness check against hostile servers', () => {
  const silent: Readonly<Record<string, () => Promise<TestServer>>> = {
    'sends nothing': () => serveTcp(() => undefined),
    'sends its version and then nothing': () =>
      serveTcp((socket) => void socket.write('SSH-2.0-OpenSSH_9.6\r\n')),
    'never answers the authentication': () => serveSshd({ onAuth: () => undefined }),
    'accepts the login and never runs a command': () => serveSshd({}),
    'starts a command and never ends it': () => serveSshd({ run: (channel) => channel.write('GPU 0: x\n') }),
    'sends its greeting one byte at a time': () =>
      serveTcp((socket) => {
        const drip = (): void => {
          if (!socket.destroyed) socket.write('a', () => setImmediate(drip));
        };
        drip();
      }),
  };
  for (const [what, serve] of Object.entries(silent)) {
    it(`ends with the caller's deadline if the server ${what}`, async () => {
      const server = await track(serve());
      expect(await lookAt(server, targetAt(server), 300)).toMatchObject({ outcome: 'not-yet' });
      const isLetIn = what.includes('command');
      const outcome = await isKeyRejected(targetAt(server), isLetIn ? patient() : AbortSignal.timeout(100));
      expect(outcome).toBe(isLetIn ? 'accepted' : 'unreachable');
    });
  }

  const endless: Readonly<Record<string, () => Promise<TestServer>>> = {
    'sends an endless greeting line': () => serveTcp((socket) => writeEndlessly(socket, 'a'.repeat(16_384))),
    'sends endless greeting lines': () =>
      serveTcp((socket) => writeEndlessly(socket, 'hello\r\n'.repeat(1_000))),
    'sends noise after its version': () =>
      serveTcp((socket) => {
        socket.write('SSH-2.0-OpenSSH_9.6\r\n');
        writeEndlessly(socket, '\0'.repeat(16_384));
      }),
    'has a banner of a megabyte and never answers the authentication': () =>
      serveSshd({ banner: 'a'.repeat(1_500_000), onAuth: () => undefined }),
    'writes endless output for a command': () =>
      serveSshd({ run: (channel) => writeEndlessly(channel, 'GPU 0: x\n'.repeat(2_000)) }),
    'writes endless errors for a command': () =>
      serveSshd({ run: (channel) => writeEndlessly(channel.stderr as typeof channel, 'no\n'.repeat(2_000)) }),
  };
  for (const [what, serve] of Object.entries(endless)) {
    it(`disconnects early, after a limited amount of data, if the server ${what}`, async () => {
      const server = await track(serve());
      expect(await lookAt(server)).toMatchObject({ outcome: 'not-yet' });
      expect(server.sent).toBeLessThan(16 * 1_048_576);
    });
  }

  it('returns not-yet at once if the server disconnects at any stage', async () => {
    const servers = [
      serveTcp((socket) => socket.destroy()),
      serveTcp((socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')),
      serveTcp((socket) => void socket.end('Not allowed at this time\r\n')),
      serveSshd({ onClient: (client) => client.once('handshake', () => client.end()) }),
      serveSshd({ onAuth: (_context, client) => client.end() }),
      serveSshd({ onClient: (client) => client.once('ready', () => client.end()) }),
      serveSshd({ run: (channel) => channel.close() }),
    ];
    for (const serve of servers) {
      const server = await track(serve);
      expect(await lookAt(server)).toMatchObject({ outcome: 'not-yet' });
    }
  });

  it('rejects servers that offer only expensive key exchanges or compression', async () => {
    const costly: Algorithms[] = [
      { kex: ['diffie-hellman-group18-sha512'] },
      { kex: ['diffie-hellman-group-exchange-sha256'] },
      { compress: ['zlib'] },
    ];
    for (const algorithms of costly) {
      const server = await serving({ ...listing(''), algorithms });
      expect(await lookAt(server)).toMatchObject({ outcome: 'not-yet' });
      expect(await isKeyRejected(targetAt(server), patient())).toBe('unreachable');
    }
  });

  it('isKeyRejected does not count a disconnect during authentication as a rejection', async () => {
    const server = await serving({ onAuth: (_context, client) => client.end() });
    expect(await isKeyRejected(targetAt(server), patient())).toBe('unreachable');
  });

  it('sends no password to a server that accepts only passwords', async () => {
    const methods: string[] = [];
    const server = await serving({
      onAuth: (context) => {
        methods.push(context.method);
        if (context.method === 'password') context.accept();
        else context.reject(['password', 'keyboard-interactive']);
      },
    });
    expect(await isKeyRejected(targetAt(server), patient())).toBe('refused');
    expect(await lookAt(server)).toMatchObject({ outcome: 'refused' });
    expect(new Set(methods)).toEqual(new Set(['publickey']));
  });

  it('counts a required second factor as an accepted key, and as no login yet', async () => {
    const server = await serving({ onAuth: (context) => context.reject(['password'], true) });
    expect(await isKeyRejected(targetAt(server), patient())).toBe('accepted');
    expect(await lookAt(server)).toMatchObject({ outcome: 'refused' });
  });

  it('isKeyRejected returns accepted for a server that accepts any key', async () => {
    const server = await serving({});
    expect(await isKeyRejected(targetAt(server), patient())).toBe('accepted');
  });

  it('does not send the key to a server with another host key than the pinned one', async () => {
    let tries = 0;
    const onAuth: SshBehaviour['onAuth'] = (context) => {
      tries += 1;
      context.accept();
    };
    const first = await serving({ onAuth, ...listing('') });
    const look = await lookAt(first);
    const second = await serving({ onAuth, hostKey: newHostKey() });
    tries = 0;
    const pinned = targetAt(second, look.outcome === 'in' ? look.hostKey : null);
    const result = await lookAt(second, pinned);
    expect(result).toMatchObject({ outcome: 'wrong-host-key', detail: expect.stringContaining('SHA256:') });
    expect(await isKeyRejected(pinned, patient())).toBe('unreachable');
    expect(tries).toBe(0);
  });

  it('keeps text of the machine out of the result', async () => {
    const text = 'drop table rentals';
    const servers = [
      serveTcp((socket) => void socket.end(`${text}\r\n`)),
      serveSshd({ banner: text, onAuth: (context) => context.reject(['publickey']) }),
      serveSshd({ run: shellOf({ 'nvidia-smi -L': [9, text], 'ls /dev': [1, text] }) }),
      serveSshd({
        onClient: (client) => client.on('session', (_accept, reject) => reject()),
      }),
    ];
    for (const serve of servers) {
      const server = await track(serve);
      expect(JSON.stringify(await lookAt(server, targetAt(server), 300))).not.toContain(text);
    }
  });

  it('returns not-yet for a closed port, and does not connect with an aborted signal', async () => {
    const target = targetAt({ host: '127.0.0.1', port: await freePort() });
    expect(await loginAndCountGpus(target, patient())).toEqual({
      outcome: 'not-yet',
      detail: 'The port is closed.',
    });
    let calls = 0;
    const server = await track(serveTcp(() => (calls += 1)));
    expect(await loginAndCountGpus(targetAt(server), AbortSignal.abort())).toMatchObject({
      outcome: 'not-yet',
    });
    expect(await isKeyRejected(targetAt(server), AbortSignal.abort())).toBe('unreachable');
    expect(calls).toBe(0);
  });
});

describe('countGpus', () => {
  const cards = (count: number): string =>
    Array.from({ length: count }, (_, index) => `GPU ${index}: NVIDIA H100 (UUID: GPU-${index})\n`).join('');
  const devices = (count: number): string =>
    [
      'console',
      'null',
      ...Array.from({ length: count }, (_, index) => `nvidia${index}`),
      'nvidiactl',
      '',
    ].join('\n');
  const rows: readonly [string, Parameters<typeof shellOf>[0], number | null][] = [
    ['counts the GPUs that the driver lists', { 'nvidia-smi -L': [0, cards(8)] }, 8],
    [
      'trusts the driver about a card that fell off the bus',
      { 'nvidia-smi -L': [0, cards(7)], 'ls /dev': [0, devices(8)] },
      7,
    ],
    [
      'does not count MIG instances',
      { 'nvidia-smi -L': [0, `${cards(1)}  MIG 1g.10gb Device 0: (UUID: MIG-1)\n`] },
      1,
    ],
    ['counts a repeated line once', { 'nvidia-smi -L': [0, cards(1) + cards(1)] }, 1],
    ['counts device files without nvidia-smi', { 'ls /dev': [0, devices(4)] }, 4],
    ['returns 0 without nvidia-smi and devices', { 'ls /dev': [0, devices(0)] }, 0],
    [
      'returns 0 if nvidia-smi fails and there are no devices',
      { 'nvidia-smi -L': [9, 'failed'], 'ls /dev': [0, devices(0)] },
      0,
    ],
    [
      'returns not-yet if nvidia-smi fails although there are devices',
      { 'nvidia-smi -L': [9, ''], 'ls /dev': [0, devices(8)] },
      null,
    ],
    ['returns not-yet if neither command works', {}, null],
  ];
  for (const [what, responses, gpuCount] of rows) {
    it(what, async () => {
      const server = await serving({ run: shellOf(responses) });
      const result = await lookAt(server);
      if (gpuCount === null) expect(result.outcome).toBe('not-yet');
      else expect(result).toMatchObject({ outcome: 'in', gpuCount });
    });
  }
});

describe('readiness keys', () => {
  it('are new for each attempt and readable by OpenSSH and drivers', () => {
    expect(publicKey).toMatch(/^ssh-ed25519 \S+ millrace-proof$/);
    expect(privateKey).toMatch(/^-----BEGIN OPENSSH PRIVATE KEY-----\n/);
    expect(newReadinessKey().publicKey).not.toBe(publicKey);
    const parsed = ssh2.utils.parseKey(privateKey);
    expect(Array.isArray(parsed) || parsed instanceof Error ? null : parsed.type).toBe('ssh-ed25519');
  });

  it('that cannot be parsed are a TypeError of the caller', async () => {
    const target = { ...targetAt({ host: '127.0.0.1', port: 1 }), privateKey: 'none' };
    await expect(loginAndCountGpus(target, patient())).rejects.toThrow(TypeError);
  });

  it('that are not single lines are refused before any connection', async () => {
    const target = targetAt({ host: '127.0.0.1', port: 1 });
    await expect(replaceKeysOverSsh(target, ['a\nb'], patient())).rejects.toMatchObject({ kind: 'refused' });
  });
});
